"""Exercise 04.3: which happens?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.table import WhichHappens, happens

from .shared import near

PROGRAMS = {
    "A": "h = x * x\nlog = h.exp()\ny = h * 3",
    "B": "y = x\nfor _ in range(5000): y = y + x",
    "C": "y = x\nfor _ in range(60): y = (y + y) * 0.5",
    "D": "h = x * x\ny = h * h.item()",
    "E": "limits = torch.tensor([1.0, 3.0])\ny = x * 3 if x > limits else x",
    "F": "h = x * x\ny = h + x\nh = h * 100",
    "G": "y = x * torch.tensor([1.0, 2.0])",
    "H": "h = x * x\nwhile h < 50: h = h * x\ny = h",
}
SLOPES = {"A": 12.0, "B": 5001.0, "C": 1.0, "D": 32.0, "E": 1.0, "F": 5.0, "G": 3.0, "H": 192.0}


def what_happens(program, slope, torch):
    """Run a program at x = 2, then backward, and say which of the four outcomes it has."""
    x = torch.tensor(2.0, requires_grad=True)
    return happens((program, "y.backward()"), {"torch": torch, "x": x}, lambda space: near(x.grad.item(), slope))


EXERCISE = WhichHappens(
    id="04.3", title="Which happens?", minutes=6, difficulty=2, puzzles=(25,),
    question="Each program at `x = torch.tensor(2.0, requires_grad=True)`, then `y.backward()`: fine, raises "
    "now, raises at backward, or silently wrong?\n\n"
    + "\n".join(f"- {letter}: `{'; '.join(program.splitlines())}`" for letter, program in PROGRAMS.items()),
    hints=(
        "Three questions: can the line itself run? Is y one element? Is every use of x on a path of arrows?",
        "Depth, paths and unused results trouble broken engines. Do they trouble one with counts?",
    ),
    why="D multiplies by a plain number, so half of the slope of x⁴ is not on any arrow. E asks an if for one answer "
    "and has two. G has two elements, and backward wants to start from one. The others are ordinary graphs: unused, "
    "deep, full of paths, or shaped by a loop.",
    right={"A": "fine", "B": "fine", "C": "fine", "D": "silently wrong", "E": "raises now", "F": "fine",
           "G": "raises at backward", "H": "fine"},
    measure=lambda torch, letter: what_happens(PROGRAMS[letter], SLOPES[letter], torch),
    shown="you know what the engine takes in its stride, and the one thing here that it cannot see.",
    mistakes=(
        Mistake("log starves", "A: log also uses h, but y does not come from log. The pass counts what is behind y, "
                "so h waits for one consumer.", {"A": ("raises at backward", "silently wrong")}),
        Mistake("recursion", "B: 5000 nodes in a row would be too deep for a function that calls itself. The engine "
                "is a loop over a queue.", {"B": "raises at backward"}),
        Mistake("every addition counts", "B: x is added 5000 times to itself, and 5001 gradients of 1 come back. "
                "Each is an arrow to one accumulator, which waits for them all.", {"B": "silently wrong"}),
        Mistake("long loops are fine", "B: the loop adds 5000 times, one ordinary line after the other. Nothing in "
                "it is deep.", {"B": "raises now"}),
        Mistake("item may be called", "D: .item() may be called on any tensor of one element. What it gives is the "
                "matter.", {"D": "raises now"}),
        Mistake("a comparison", "H: h has one element, so h < 50 is one answer, and while may ask for it.",
                {"H": "raises now"}),
        Mistake("paths", "C: there are 2 to the power of 60 paths, but only 120 nodes and one leaf. Nobody walks the "
                "paths.", {"C": ("raises at backward", "silently wrong")}),
        Mistake("item is recorded", "D: h.item() is a plain Python number; no arrow leads back from it. The "
                "product's slope for that factor is missing: 16 arrives where x⁴ has 32.", {"D": "fine"}),
        Mistake("item breaks", "D: something is left to differentiate, h times a constant. So nothing raises.",
                {"D": "raises at backward"}),
        Mistake("a list of answers", "E: the comparison has two elements, one true and one false. Which way should "
                "an if go?", {"E": ("fine", "silently wrong")}),
        Mistake("if waits", "E: an if is decided while the forward pass runs; nothing of it is left for backward. So "
                "the line itself must fail.", {"E": "raises at backward"}),
        Mistake("names", "F: the last line moves the name h to a new tensor. y's arrows lead to nodes, not to names, "
                "and still end where they did.", {"F": ("silently wrong", "raises at backward")}),
        Mistake("which of the two", "G: y has two elements, and backward without an argument starts from one.",
                {"G": ("fine", "silently wrong")}),
        Mistake("two may be computed", "G: a result of two elements is nothing special; this line runs. What cannot "
                "start from it comes later.", {"G": "raises now"}),
        Mistake("while", "H: the loop runs until h is 64, which leaves the nodes of x⁶. However a node came to be "
                "made, it is a node like any other.", {"H": ("silently wrong", "raises at backward")}),
    ),
)  # fmt: skip
