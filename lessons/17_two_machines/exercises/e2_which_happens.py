"""Exercise 17.2: which happens?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.table import WhichHappens, happens
from lessons.shared import near

PROGRAMS = {
    "A": ("y = w * s", "s.copy_(k)"),
    "B": ("y = w * s", "s.data.copy_(k)"),
    "C": ("y = w * s.clone()", "s.copy_(k)"),
    "D": ("y = w + s", "s.copy_(k)"),
    "E": ("y = w * s", "s = k"),
    "F": ("y = w * s", "w.copy_(k)"),
    "G": ("y = w * w", "with torch.no_grad(): w.copy_(k)"),
}
SLOPES = {"A": 2.0, "B": 2.0, "C": 2.0, "D": 1.0, "E": 2.0, "F": 2.0, "G": 6.0}


def what_happens(torch, letter):
    """Run a program and say which of the four outcomes it has."""
    w = torch.tensor(3.0, requires_grad=True)
    space = {"torch": torch, "w": w, "s": torch.tensor(2.0), "k": torch.tensor(7.0)}
    return happens((*PROGRAMS[letter], "y.backward()"), space, lambda _: near([w.grad.item()], [SLOPES[letter]]))


EXERCISE = WhichHappens(
    id="17.2", title="Which happens?", minutes=6, difficulty=2, puzzles=(22, 23),
    question="w is 3, the buffer s is 2. Each program is followed by `y.backward()`: fine, raises now, raises at "
    "backward, or silently wrong?\n\n"
    + "\n".join(f"- {letter}: `{'; '.join(program)}`" for letter, program in PROGRAMS.items()),
    hints=(
        "For each program: what does the node save, and does the write reach that tensor?",
        "Is each write counted? Is it a write at all? Is it allowed here?",
    ),
    why="A is the counted broadcast, B the hidden one, C has a copy. D saves nothing. E gives the name to "
    "another tensor. "
    "F writes into a leaf while operations are recorded, G into a saved weight.",
    right={"A": "raises at backward", "B": "silently wrong", "C": "fine", "D": "fine", "E": "fine", "F": "raises now",
           "G": "raises at backward"},
    measure=what_happens,
    shown="you can say which writes from elsewhere harm a backward pass.",
    mistakes=(
        Mistake("a constant", "A: s needs no gradient, but the slope of w is s, so s is saved.", {"A": "fine"}),
        Mistake("not noticed", "A: copy_ is counted, and the version of s is compared.", {"A": "silently wrong"}),
        Mistake("buffers are free", "A: a buffer requires no gradient, so writing is allowed. The trouble comes later.",
                {"A": "raises now"}),
        Mistake("data is counted", "B: a write through .data is not counted.", {"B": "raises at backward"}),
        Mistake("data is a copy", "B: .data has the same memory. Backward reads k.", {"B": "fine"}),
        Mistake("copy is enough", "C: the node holds the copy, which nobody wrote to.",
                {"C": ("raises at backward", "silently wrong")}),
        Mistake("sums save nothing", "D: the slope of a sum is 1 and needs no number of s.",
                {"D": ("raises at backward", "silently wrong")}),
        Mistake("a name", "E: nothing is written to. The name s belongs to another tensor now, and the node still has "
                "the old one.", {"E": ("raises at backward", "silently wrong")}),
        Mistake("a leaf", "F: w is a leaf that requires grad, and operations are recorded. The write is refused.",
                {"F": ("fine", "raises at backward", "silently wrong")}),
        Mistake("allowed, not harmless", "G: no_grad allows the write. It is counted, and both operands were saved.",
                {"G": ("fine", "silently wrong")}),
        Mistake("allowed", "G: under no_grad a leaf may be written to.", {"G": "raises now"}),
    ),
)  # fmt: skip
