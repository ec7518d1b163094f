"""Exercise 07.3: which happens?"""

import math

from coursekit.judge.exercise import Mistake
from coursekit.judge.table import WhichHappens, happens
from lessons.shared import flat, leaf, near

PROGRAMS = {
    "A": "y = x.exp(); y.add_(1)",
    "B": "h = x * 1; y = h.exp(); h.add_(1)",
    "C": "y = x.sigmoid(); y.add_(1); y.sub_(1)",
    "D": "y = x * 2; x.add_(1)",
    "E": "h = x * 1; y = h * h; h.data.mul_(10)",
    "F": "y = x * x; x.detach().add_(1)",
    "G": "y = x * 2; x.data[0] = 999.0",
    "H": "h = x * 1; h.add_(1); y = h * h",
}
SLOPES = {  # of the formula that computed y, at the x it was computed with
    "A": math.exp,
    "B": math.exp,
    "C": lambda v: math.exp(-v) / (1 + math.exp(-v)) ** 2,
    "D": lambda v: 2.0,
    "E": lambda v: 2 * v,
    "F": lambda v: 2 * v,
    "G": lambda v: 2.0,
    "H": lambda v: 2 * (v + 1),
}


def what_happens(program, slope, torch):
    """Run a program, then backward, and say which of the four outcomes it has."""
    values = [1.0, 2.0]
    x = leaf(torch, values)
    wanted = [slope(v) for v in values]
    steps = program, "y.sum().backward()"
    return happens(steps, {"torch": torch, "x": x}, lambda space: near(flat(x.grad), wanted))


EXERCISE = WhichHappens(
    id="07.3", title="Which happens?", minutes=8, difficulty=2, puzzles=(1, 2, 3, 15),
    question="Each program, then `y.sum().backward()`: fine, raises now, raises at backward, or silently "
    "wrong?\n\n"
    + "\n".join(f"- {letter}: `{program}`" for letter, program in PROGRAMS.items()),
    hints=(
        "Three questions for each: what was saved? Was that memory written to afterwards? Did the write count?",
        "Saved and written and counted: raises. Saved and written, not counted: wrong. Otherwise fine. And one "
        "program writes where no write is allowed.",
    ),
    why="A and C overwrite a saved result, F a saved input through detach, which shares the counter. D writes to a "
    "leaf. E writes to a saved tensor without counting. B, G and H write to memory that no node saved, or before the "
    "save.",
    right={"A": "raises at backward", "B": "fine", "C": "raises at backward", "D": "raises now",
           "E": "silently wrong", "F": "raises at backward", "G": "fine", "H": "fine"},
    measure=lambda torch, letter: what_happens(PROGRAMS[letter], SLOPES[letter], torch),
    shown="you can tell an edit that raises from one that is safe, and both from one that lies.",
    mistakes=(
        Mistake("adding is harmless", "A: adding has slope 1, true, but it wrote over the result that exp saved, and "
                "exp's slope is that result.", {"A": "fine"}),
        Mistake("nobody looks", "A and C write over the result that backward will read, and such a write is counted. "
                "The check finds it, so there is an error and no wrong number.",
                {"A": "silently wrong", "C": "silently wrong"}),
        Mistake("all at once", "A, B, C and H write to a computed tensor. Such a write goes through; what matters is "
                "what backward finds.", {"B": "raises now", "A": "raises now", "C": "raises now", "H": "raises now"}),
        Mistake("data is refused", "E and G write through .data. What .data gives does not require grad, so nothing "
                "refuses the write.", {"G": "raises now", "E": "raises now"}),
        Mistake("detached is refused", "F: x.detach() does not require grad, so the write is not refused, although "
                "it reaches the memory of a leaf that does.", {"F": "raises now"}),
        Mistake("any operand", "B: exp saves its result, not h. Whoever overwrites h afterwards takes nothing from "
                "it.", {"B": ("raises at backward", "silently wrong")}),
        Mistake("undone", "C: the values are about what they were, the version is not. The check compares counters, "
                "because comparing values would need a copy.", {"C": "fine"}),
        Mistake("a leaf waits", "D: x is a leaf that requires grad, with grad mode on. That write is refused on the "
                "spot, before any backward.", {"D": ("raises at backward", "silently wrong", "fine")}),
        Mistake("no error, no harm", "E: no error indeed, but h * h saved h, and its memory now holds ten times the "
                "numbers. The gradient is ten times too large.", {"E": "fine"}),
        Mistake("data counts", "E: the write goes through .data, which has a counter of its own. The saved tensor's "
                "version has not moved, so nothing is noticed.", {"E": "raises at backward"}),
        Mistake("detached is separate", "F: x.detach() is cut from the graph, not from the memory, and it shares x's "
                "counter. The product saved x, and the write is noticed.", {"F": ("fine", "silently wrong")}),
        Mistake("data always harms", "G: x * 2 saved the 2. Nobody will read x again, so writing over it changes no "
                "gradient.", {"G": ("silently wrong", "raises at backward")}),
        Mistake("before or after", "H: the write comes before h is saved. The product notes the version that it "
                "finds, and that one stays.", {"H": ("raises at backward", "silently wrong")}),
    ),
)  # fmt: skip
