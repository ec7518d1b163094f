"""Exercise 13.4: which happens?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.table import WhichHappens, happens
from lessons import shared
from lessons.shared import flat, leaf

from .shared import quiet

GRAD = "(g,) = torch.autograd.grad(y, x, {}=True); "
PROGRAMS = {
    "A": GRAD.format("retain_graph") + "p = (g * g).sum()",
    "B": GRAD.format("retain_graph") + "p = (g * g).sum() + y",
    "C": "y.backward(create_graph=True); g = x.grad; p = (g * g).sum()",
    "D": "y.backward(create_graph=True); g = x.grad; x.grad = None; p = (g * g).sum()",
    "E": GRAD.format("create_graph") + "x.detach().mul_(0.5); p = (g * g).sum()",
    "F": GRAD.format("create_graph") + "x -= 0.1 * g; p = (x * x).sum()",
    "G": "y = torch.relu(x).sum(); " + GRAD.format("create_graph") + "p = (g * g).sum()",
    "H": "y = (3 * x).sum(); " + GRAD.format("create_graph") + "p = (g * g).sum()",
}
SLOPES = {  # of p, with g = 3 x² and its own slope in it
    **{letter: lambda v: 36 * v**3 for letter in "ACDE"},
    "B": lambda v: 36 * v**3 + 3 * v * v,
    "F": lambda v: 2 * (v - 0.3 * v * v) * (1 - 0.6 * v),
    "G": lambda v: 0.0,
    "H": lambda v: 0.0,
}


def what_happens(torch, letter):
    """Run a program of 13.4, then its last backward, and say which of the four outcomes it has."""
    values = [1.0, 2.0]
    x, wanted = leaf(torch, values), [SLOPES[letter](value) for value in values]
    steps = ("y = (x**3).sum()", *PROGRAMS[letter].split("; "), "p.backward()")
    with quiet():
        found = happens(steps, {"torch": torch, "x": x}, lambda space: shared.near(flat(x.grad), wanted))
    x.grad = None  # opens the ring that C may leave
    return found


EXERCISE = WhichHappens(
    id="13.4", title="Which happens?", minutes=7, difficulty=2, puzzles=(18,),
    question="Between `y = (x**3).sum()` and `p.backward()`: fine, raises now, raises at backward, or silently wrong?"
    "\n\n" + "\n".join(f"- {letter}: `{program}`" for letter, program in PROGRAMS.items()),
    hints=(
        "Ask first: has g a history? Then: has p one, if g has none?",
        "C and D: what is in x.grad before p.backward() adds to it?",
        "E and F: what has the graph of g saved, and which of the two writes is refused on the spot?",
        "G and H: the lesson has shown three kinds of zero, where calculus says zero.",
    ),
    why="A and B have a plain g: alone it raises, beside y it is a constant and nobody notices. In C the first "
    "gradient is already in x.grad; D clears it, and g keeps its history. E writes over the x that the graph of g "
    "saved, F into a leaf. relu's slope leads back to x with zeros (G), the 3 leads nowhere (H).",
    right={"A": "raises at backward", "B": "silently wrong", "C": "silently wrong", "D": "fine",
           "E": "raises at backward", "F": "raises now", "G": "fine", "H": "raises at backward"},
    measure=what_happens,
    shown="you know when a gradient has a history, and what backward does besides.",
    mistakes=(
        Mistake("retaining records", "A: retain_graph keeps the graph of y. g is computed without recording and has "
                "no history, so p has none.", {"A": "fine"}),
        Mistake("alone", "A: p is made of g alone, and g has no history. backward has nowhere to start, and says so.",
                {"A": ("silently wrong", "raises now")}),
        Mistake("the rest hides it", "B: y gives p a history, so backward runs. g is a constant in it, and its part "
                "of the gradient is missing.", {"B": ("fine", "raises at backward")}),
        Mistake("plain is allowed", "B: a sum may have an operand without a history; no line refuses it.",
                {"B": "raises now"}),
        Mistake("None is allowed", "D: .grad may be set to None at any time.", {"D": "raises now"}),
        Mistake("the write is allowed", "E: x.detach() requires no grad, so it may be written to. Who has saved what "
                "was written over?", {"E": "raises now"}),
        Mistake("ones are fine", "G: the gradient of the sum of relu(x) is made of ones, and nothing forbids to ask "
                "for it.", {"G": "raises now"}),
        Mistake("nobody asks yet", "H: g and p are computed like any numbers. A history is asked for in p.backward() "
                "only.", {"H": "raises now"}),
        Mistake("already in .grad", "C: the history is there and p.backward() runs. But x.grad is g itself: the "
                "gradient of y is in it, and the new one is added to it. Even g is another number now.", {"C": "fine"}),
        Mistake("only a warning", "C: PyTorch warns of the ring; it is no error. Look at what is in x.grad at the "
                "end.", {"C": ("raises at backward", "raises now")}),
        Mistake("the name is enough", "D: x.grad = None only takes the tensor out of that place. g is a name for it, "
                "and its history is still there.", {"D": ("raises at backward", "silently wrong")}),
        Mistake("written in between", "E: the gradient is 3x², and its graph has saved x in order to be "
                "differentiated. x is at another version now.", {"E": "fine"}),
        Mistake("not counted", "E: detach() shares the counter of x (it is .data that does not). The write is "
                "noticed.", {"E": "silently wrong"}),
        Mistake("the leaf", "F: x is a leaf that requires grad, and recording is on: the write itself is refused.",
                {"F": ("fine", "raises at backward", "silently wrong")}),
        Mistake("zeros are a gradient", "G: relu's backward reads its result, which depends on x. So g has a "
                "history, and zeros come along it. That is the right answer, too.",
                {"G": ("raises at backward", "silently wrong")}),
        Mistake("three is a number", "H: the gradient of 3 * x is 3, made of nothing that requires grad. It has no "
                "history even with create_graph=True, and neither has p.", {"H": ("fine", "silently wrong")}),
    ),
)  # fmt: skip
