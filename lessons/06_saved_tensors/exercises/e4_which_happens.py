"""Exercise 06.4: which happens?"""

import math

from coursekit.judge.exercise import Mistake
from coursekit.judge.table import WhichHappens, happens
from lessons.shared import flat, leaf, near

PROGRAMS = {
    "A": "y = (x + 1).sum(); y.backward(); x.grad = None; y.backward()",
    "B": "y = (x * x).sum(); y.backward(); x.grad = None; y.backward()",
    "C": "y = (x * x).sum(); y.backward(retain_graph=True); y.backward()",
    "D": "p = x * x; y = p.sum(); y.backward(); print(p.grad_fn._saved_self)",
    "E": "h = x.exp(); z = h.sum(); y = (h * 3).sum(); z.backward(); x.grad = None; y.backward()",
    "F": "h = x + 1; z = h.sum(); y = (h * h).sum(); z.backward(); x.grad = None; y.backward()",
}
SLOPES = {  # what the author of each program wants in x.grad
    "A": lambda v: 1.0,
    "B": lambda v: 2 * v,
    "C": lambda v: 2 * v,
    "D": lambda v: 2 * v,
    "E": lambda v: 3 * math.exp(v),
    "F": lambda v: 2 * (v + 1),
}


def what_happens(program, slope, torch):
    """Run a program one statement at a time and say which of the four outcomes it has."""
    values = [1.0, 2.0]
    space = {"torch": torch, "x": leaf(torch, values)}
    slopes = [slope(v) for v in values]
    return happens(program.split("; "), space, lambda space: near(flat(space["x"].grad), slopes))


EXERCISE = WhichHappens(
    id="06.4", title="Which happens?", minutes=8, difficulty=2, puzzles=(1, 5, 6),
    question="Six programs: fine, raises now, raises at backward, or silently wrong?\n\n"
    + "\n".join(f"- {letter}: `{program}`" for letter, program in PROGRAMS.items()),
    hints=(
        "For each program mark the nodes that save a tensor. Then follow the first pass: which of them did it run?",
        "A pass without an error is not yet a right gradient: what did the pass before it leave in x.grad?",
    ),
    why="A and F share only nodes that saved nothing with the first pass. B and E need a freed tensor. C adds the "
    "same gradient twice. D reads an emptied slot without any backward.",
    right={"A": "fine", "B": "raises at backward", "C": "silently wrong", "D": "raises now",
           "E": "raises at backward", "F": "fine"},
    measure=lambda torch, letter: what_happens(PROGRAMS[letter], SLOPES[letter], torch),
    shown="you can tell, before running it, whether a second pass has what it needs.",
    mistakes=(
        Mistake("every second pass fails", "A: you expect every second pass to fail. A pass fails when it misses a "
                "saved tensor, and neither addition nor sum had one.", {"A": "raises at backward"}),
        Mistake("nothing is released", "B: the product saved x, and the first pass freed it. Setting x.grad to "
                "None empties the gradient; it does not fill the slot again.", {"B": "fine"}),
        Mistake("a backward is a backward", "It does raise, and in a call of backward. “Raises now” stands for any "
                "other line.", {"B": "raises now", "E": "raises now"}),
        Mistake("the second pass replaces", "C: both passes run, and the second one adds. x.grad ends up at twice "
                "the gradient, and nothing says so.", {"C": "fine"}),
        Mistake("retain does nothing", "C: the first pass was told to retain, so nothing is missing in the second. "
                "Look at what that second pass does to x.grad.", {"C": "raises at backward"}),
        Mistake("reading is free", "D: the slot was emptied, so there is nothing to read. Node and slot are still "
                "there; the tensor is not.", {"D": ("fine", "silently wrong")}),
        Mistake("D is not a backward", "D: the only backward in it is the first one, and that one finds everything. "
                "The error comes from another line.", {"D": "raises at backward"}),
        Mistake("two results, two graphs", "E: y and z have nodes of their own, but both stand on exp's node. z's "
                "pass has run that node and freed its result.", {"E": "fine"}),
        Mistake("sharing is enough", "F: the shared node is an addition, which saved nothing. The product that saves "
                "h was not run by z's pass.", {"F": "raises at backward"}),
        Mistake("the first pass still counts", "A and F: x.grad was set to None between the passes, so the second "
                "pass adds to nothing, and its own gradient is all that x.grad holds.",
                {"F": "silently wrong", "A": "silently wrong"}),
        Mistake("it goes on without", "B and E: a node that finds its slot empty does not go on with another number. "
                "It raises.", {"E": "silently wrong", "B": "silently wrong"}),
    ),
)  # fmt: skip
