"""Exercise 00.5: which happens?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.table import WhichHappens, happens

PROGRAMS = {  # letter: (program, the number its author wants in x.grad)
    "A": ("y = p * x + p; y.backward()", 2.0),
    "B": ("y = p * p; print(y.grad_fn.name()); y = y * x; y.backward()", 4.0),
    "C": ("y = x * x; y = x * x; y.backward()", 6.0),
    "D": ("y = x + x; z = y * x; y.backward(); z.backward()", 12.0),
    "E": ("y = x * p; y = p * p if y > 5 else y; y.backward()", 2.0),
    "F": ("y = x * p if x > 1 else p * p; y.backward()", 2.0),
}


def what_happens(program, wanted, torch):
    """Run a program one statement at a time and say which of the four outcomes it has."""
    space = {"torch": torch, "x": torch.tensor(3.0, requires_grad=True), "p": torch.tensor(2.0)}

    def right(space):
        grad = space["x"].grad
        return grad is not None and grad.item() == wanted

    return happens(program.split("; "), space, right, (RuntimeError, AttributeError))


EXERCISE = WhichHappens(
    id="00.5", title="Which happens?", minutes=4, difficulty=2,
    question="Six programs: fine, raises now, raises at backward, or silently wrong?\n\n"
    + "\n".join(f"- {letter}: `{text}`, wanted {wanted:g}" for letter, (text, wanted) in PROGRAMS.items()),
    hints=(
        "For each line ask first: does one of its operands require grad? If none does, it leaves no node.",
        "Then count the backward passes: each of them adds what it finds to `x.grad`.",
    ),
    why="A graph is what ran (C, E, F), on operands one of which requires grad (A, B, E), and every pass adds to the "
    "gradient (D).",
    right={"A": "fine", "B": "raises now", "C": "fine", "D": "silently wrong", "E": "raises at backward", "F": "fine"},
    measure=lambda torch, letter: what_happens(*PROGRAMS[letter], torch),
    shown="you can tell what a line records, what it does not, and what each pass leaves in `.grad`.",
    mistakes=(
        Mistake("the plain summand", "A: `p` needs no gradient, so its arrows lead to nothing. That is no error; the "
                "path to `x` is there.", {"A": ("raises at backward", "raises now")}),
        Mistake("None has no name", "B: `p * p` left no node, so `grad_fn` is None, and None has no `name()`. That "
                "line raises.", {"B": ("fine", "silently wrong")}),
        Mistake("before the pass", "B: something raises, but which line? The program does not get as far as its "
                "backward.", {"B": "raises at backward"}),
        Mistake("computed twice", "C: the line ran twice and left two graphs, but backward went through one, that of "
                "the second `y`.", {"C": "silently wrong"}),
        Mistake("added up", "D: 12 is the slope of `z` alone. There were two passes, and the accumulator adds up what "
                "they bring.", {"D": "fine"}),
        Mistake("one pass for ever", "D: both passes run the node of `y`. What would be missing the second time? A sum "
                "has saved nothing.", {"D": ("raises at backward", "raises now")}),
        Mistake("the branch that ran", "E: `y` is 6 at first, so the branch with `p * p` ran, and `y` is its result. "
                "Does that have a node?", {"E": "fine"}),
        Mistake("the line itself", "E: computing with plain tensors is always allowed. Who finds out that `y` has no "
                "node, and when?", {"E": "raises now"}),
        Mistake("a name given away", "C: the second line gives the name `y` to a new result, with a graph of its "
                "own. It is whole.", {"C": ("raises at backward", "raises now")}),
        Mistake("nothing to start from", "E: `y` has no node at all, so the pass has nothing to start from, and "
                "backward says so.", {"E": "silently wrong"}),
        Mistake("a slope for p", "A: that `p` gets no gradient takes nothing from `x`: the slope for `x` is made of "
                "the value of `p`.", {"A": "silently wrong"}),
        Mistake("the other branch", "F: the branch with `p * p` would leave no node. It did not run.",
                {"F": ("raises at backward", "raises now", "silently wrong")}),
    ),
)  # fmt: skip
