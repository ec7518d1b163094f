"""Exercise 15.3: another model."""

import re

from coursekit.judge.exercise import Mistake
from lessons.words import CHANGED, Words

CHOICES = ("first", "second", "may stay")


def complaint(torch, in_place):
    """Return what backward complains of when only these lines of the model write in place; "" without an error."""
    torch.manual_seed(0)
    enter, gate, leave = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)
    h = enter(torch.randn(3, 4))
    h = h.mul_(0.5) if "A" in in_place else h * 0.5
    g = torch.sigmoid(gate(h))
    mean = h.mean(1, keepdim=True)
    h = h.sub_(mean) if "B" in in_place else h - mean
    g = g.add_(0.1) if "C" in in_place else g + 0.1
    out = leave(torch.tanh(h * g))
    out = out.mul_(10) if "D" in in_place else out * 10
    try:
        out.sum().backward()
    except RuntimeError as error:
        if CHANGED not in str(error):
            raise
        return re.search(r"output 0 of \w+", str(error))[0]  # versions count harmless writes, too
    return ""


def truth(torch):
    """The line whose cure changes the first complaint, the one whose cure then ends it; the others may stay."""
    lines = "ABCD"
    words = dict.fromkeys(lines, "may stay")
    left = lines
    for word in ("first", "second"):
        now = complaint(torch, left)
        line = next(line for line in left if complaint(torch, left.replace(line, "")) != now)
        words[line], left = word, left.replace(line, "")
    return words


EXERCISE = Words(
    id="15.3", kind="diagnose", title="Another model", minutes=8, difficulty=2, puzzles=(1, 2),
    question="Backward of this model raises, and when the fault is cured, it raises once more. Which of the writes A "
    "to D is the first error about, which the second, and which may stay?",
    name="writes",
    hints=(
        "watch shows which write made which version of which tensor; explain says what was saved, and at which "
        "version. Run them on the model.",
        "Cure the line that you have found, in a copy of the class, and run the tools again.",
        "A write does harm if some node has saved the tensor before. What does a sigmoid save, and what a linear "
        "layer?",
    ),
    right={"A": "may stay", "B": "second", "C": "first", "D": "may stay"},
    why="The sigmoid has saved its result, which C overwrites; it comes first in the backward pass. The layer gate has "
    "saved h at version 1, and B makes version 2. A wrote before any node had saved h, and no node has saved what D "
    "writes to.",
    choices=CHOICES, truth=truth, ask='"first", "second" or "may stay"',
    shown="the same four tools, on a model that you had not seen.",
    mistakes=(
        Mistake("in the order of forward", "That is their order in forward. Backward begins at the "
                "end: of the two nodes that have saved something stale, it comes to the newer one first.",
                {"C": "second", "B": "first"}),
        Mistake("in time", "Line A made version 1 of h. The layer gate saved h after that, at version 1, and that is "
                "the version which the message expects.", {"A": ("second", "first")}),
        Mistake("nobody has saved it", "Line D writes into the result of a linear layer. No node has saved that: addmm "
                "saves its operands.", {"D": ("first", "second")}),
        Mistake("a write into an operand", "A subtraction saves nothing. But line B writes into h. Which node has "
                "saved h before?", {"B": "may stay"}),
        Mistake("a write into a result", "Adding 0.1 saves nothing. But g is the result of a sigmoid. What does a "
                "sigmoid save?", {"C": "may stay"}),
    ),
)  # fmt: skip
