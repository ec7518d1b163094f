"""Exercise 01.4: which happens?"""

import copy
import math

from coursekit.judge.exercise import Mistake
from coursekit.judge.table import WhichHappens, happens

HAPPENS = {  # letter: the program, and the formula whose slope is wanted
    "A": ("h = x * x; y = h * x; h = x.exp(); del h", lambda x: x**3),
    "B": ("y = x * x; y = y.item() * x", lambda x: x**3),
    "C": ("h = copy.deepcopy(x * x); y = h * x", lambda x: x**3),
    "D": ("y = x\nfor _ in range(3): y = y * y", lambda x: x**8),
    "E": ("y = x * x\nif y > 5: y = y * x", lambda x: x**3),
    "F": ("h = (x * x).item(); y = torch.tensor(h) * 2", lambda x: 2 * x**2),
    "G": ("y = (x * x).float() * x", lambda x: x**3),
}


def what_happens(torch, letter):
    """Run one program of exercise 01.4 and compare x.grad with a finite difference of its formula."""
    program, formula = HAPPENS[letter]
    x = torch.tensor(3.0, requires_grad=True)
    slope = (formula(3 + 1e-5) - formula(3 - 1e-5)) / 2e-5

    def right(space):
        return x.grad is not None and math.isclose(x.grad.item(), slope, rel_tol=1e-4)

    return happens((program, "y.backward()"), {"torch": torch, "copy": copy, "x": x}, right)


EXERCISE = WhichHappens(
    id="01.4", title="Which happens?", minutes=6, difficulty=2,
    question='Fine, raises now, raises at backward, or silently wrong? `x` is a fresh leaf, 3.0; `y.backward()` '
    "follows.\n\n" + "\n".join(f"- {letter}: `{program}`" for letter, (program, _) in HAPPENS.items()),
    hints=(
        "For each program, walk back from y. Do you reach x, and on every path that the formula has?",
        "Two programs take a number out. In one of them something else still leads back to x, in the other nothing "
        "does.",
        "When is something refused: when it cannot be done. When is nothing said: when it can be done, but means "
        "something else than you thought.",
    ),
    why="A and D move names, which the graph does not know. E records the branch that ran. G: float() of a float32 "
    "tensor is that tensor. B reaches x on one path of three, F on none, and C asks for a copy of a history.",
    right={"A": "fine", "B": "silently wrong", "C": "raises now", "D": "fine", "E": "fine",
           "F": "raises at backward", "G": "fine"},
    measure=what_happens,
    shown="you know what a graph remembers, and what it never sees.",
    mistakes=(
        Mistake("the name is the value", "A: giving h to another tensor changes nothing for y. Its node leads to the "
                "old tensor's node, not to a name.", {"A": ("silently wrong", "raises now")}),
        Mistake("a deleted name", "A: `del h` takes a name away, and the tensor it named last. What y was computed "
                "from is held by the graph.", {"A": "raises at backward"}),
        Mistake("one y", "D: the name is the same, the tensors are four: x and three results, each with a node of "
                "its own. The slopes of all three are multiplied.", {"D": "silently wrong"}),
        Mistake("a number has a history", "B: item() gives a plain number, 9.0. Backward sees 9 times x and says 9; "
                "the slope of x³ at 3 is 27.", {"B": "fine"}),
        Mistake("numbers refused", "B: multiplying by a number is an ordinary thing to do; nobody can know that this "
                "number came from x.", {"B": ("raises at backward", "raises now")}),
        Mistake("copies of results", "C: a deep copy of a result would need a copy of its whole history, so results "
                "refuse.", {"C": ("fine", "silently wrong")}),
        Mistake("copies late", "C: you are right that it raises. But who raises: backward, or the line that makes "
                "the copy?", {"C": "raises at backward"}),
        Mistake("a cycle", "D: y = y * y makes a new tensor each time; three passes leave three nodes in a row, and "
                "no circle.", {"D": ("raises at backward", "raises now")}),
        Mistake("an if in the way", "E: the condition reads a value and decides what runs. What ran is recorded as "
                "always, and at 3 it is x³.", {"E": ("silently wrong", "raises now", "raises at backward")}),
        Mistake("a tensor is enough", "F: putting a number back into a tensor does not bring its history back. There "
                "is no arrow behind this y at all.", {"F": "fine"}),
        Mistake("nothing to start from", "F: nothing of x is behind y, right. But then y has no node to start from, "
                "and backward says so.", {"F": "silently wrong"}),
        Mistake("plain is allowed", "F: computing with plain tensors is always allowed. Who will miss the history, "
                "and when?", {"F": "raises now"}),
        Mistake("float cuts", "G: x * x is float32 already, so float() hands back that very tensor, node and all.",
                {"G": ("silently wrong", "raises at backward", "raises now")}),
    ),
)  # fmt: skip
