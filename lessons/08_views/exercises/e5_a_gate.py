"""Exercise 08.5: A gate."""

import math

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import flat, leaf, near, numbers

from .shared import NO_GRAD_VIEW

MANY_VIEWS = "returns multiple views"


def check(answer, torch):
    kept = True
    for height, half in ((2, 2), (3, 1), (1, 3)):
        values = [[-1.5, *numbers(2 * half - 1, -2.0, 2.0)] for _ in range(height)]
        x = leaf(torch, values, torch.float64)
        h = x * 1
        try:
            y = answer(torch, h)
        except RuntimeError as error:
            if NO_GRAD_VIEW in str(error):
                return almost("half inside")
            if MANY_VIEWS in str(error):
                return almost("unusable" if "its base or another view" in str(error) else "still split")
            raise
        if not isinstance(y, torch.Tensor) or y.numel() != 1:
            return not_yet("The function should return a tensor with one number.")
        a, b = [p for row in values for p in row[:half]], [q for row in values for q in row[half:]]
        pairs = list(zip(a, b, strict=True))
        if near(flat(y), [sum(p * q for p, q in pairs)]):
            return almost("dropped")
        if near(flat(y), [sum(squash(p) * squash(q) for p, q in pairs)]):
            return almost("both gated")
        if near(flat(y), [sum(squash(p) * q for p, q in pairs)]):
            return almost("wrong half")
        if not near(flat(y), [sum(p * squash(q) for p, q in pairs)]):
            return not_yet("The number that is returned is not the sum of a times sigmoid(b).")
        if not y.requires_grad:
            return almost("h cut")
        y.backward()
        if x.grad is None:
            return almost("h cut")
        found = x.grad.tolist()
        through, gate = [g for row in found for g in row[:half]], [g for row in found for g in row[half:]]
        if near(through, [squash(q) for q in b], 1e-6) and near(
            gate, [p * squash(q) * (1 - squash(q)) for p, q in pairs], 1e-6
        ):
            kept = kept and near(flat(h), [value for row in values for value in row], 1e-6)
            continue
        if not any(gate):
            return almost("cut")
        if near(gate, a, 1e-6):
            return almost("unrecorded")
        if not any(through):
            return almost("a cut")
        return not_yet("The number is right, its gradient is not.")
    if not kept:
        return correct(
            "a slice, from a call of its own, may be written to, and the slope is right. But h was overwritten: "
            "whoever else reads it now finds the sigmoid in its second half. Out of place is kinder."
        )
    return correct("nothing writes to one of several views, and the gate's own slope is in the gradient.")


def squash(value):
    return 1 / (1 + math.exp(-value))


STARTER_5 = """\
def gated(torch, h):
    a, b = h.chunk(2, dim=1)
    b.sigmoid_()
    return (a * b).sum()"""

EXERCISE = Exercise(
    id="08.5", kind="repair", title="A gate", minutes=4, difficulty=1, puzzles=(19,),
    question="Repair the function so that it returns the number it was meant to return, with the right gradient.",
    name="gated", starter=STARTER_5,
    hints=(
        "The message names the view and says why it may not be written to. It also says, in its last sentence, what "
        "to do.",
        "Is there any reason to do this in place? And if you insist, who makes the two views, one call or two?",
    ),
    solution=STARTER_5.replace("b.sigmoid_()", "b = b.sigmoid()") + "\n",
    why="Out of place there is no write, so no history has to be rewritten. Two slices, each from a call of its own, "
    "could be written to, at the price that the caller's h changes.",
    alternatives=(
        edit("sigmoid", "clone().sigmoid_"),
        STARTER_5.replace("    a, b = h.chunk(2, dim=1)",
                          "    half = h.shape[1] // 2\n    a, b = h[:, :half], h[:, half:]"),
        edit("b = b.sigmoid()\n    return (a * b).sum()\n", "return (a * torch.sigmoid(b)).sum()"),
        "def gated(torch, h):\n    return torch.nn.functional.glu(h, 1).sum()\n",
        STARTER_5.replace("    a, b = h.chunk(2, dim=1)",
                          "    h = h.clone()\n    half = h.shape[1] // 2\n    a, b = h[:, :half], h[:, half:].clone()"),
    ),
    mistakes=(
        Mistake("still split", "It is still one of several views from one call that is written to. A copy of h, or "
                "split in place of chunk, does not change that.", STARTER_5.replace("h.chunk", "h.clone().chunk")),
        Mistake("unusable", "The write goes through now. But it changed the memory of a and b behind their backs, "
                "and views made by one call cannot catch up: the next line that uses them is refused.",
                edit("b = b.sigmoid", "with torch.no_grad():\n        b.sigmoid_", "sum()\n", "sum()")),
        Mistake("half inside", "The views were made under no_grad, and one of them is written to. Nothing says whether "
                "that write is to be recorded for the others, so it is refused: the write itself, or the next line "
                "that uses them.",
                edit("a,", "with torch.no_grad():\n        a,", " = b.sigmoid", ".sigmoid_", "sum()\n", "sum()")),
        Mistake("unrecorded", "The number is right, the gradient is not: the sigmoid was not recorded, and its slope "
                "is missing. The error was there to protect you.",
                edit(" = b.sigmoid", ".data.sigmoid_", "sum()\n", "sum()")),
        Mistake("cut", "The number is right, but the gate gets no gradient at all: it was cut from the graph, and "
                "will never learn when to open.", edit("sigmoid", "detach().sigmoid", "sum()\n", "sum()")),
        Mistake("h cut", "The number is right, but no gradient reaches h: between h and the result the graph is cut.",
                edit("h.", "h.detach().requires_grad_().", "sum()\n", "sum()")),
        Mistake("a cut", "The number is right, but the first half of h gets no gradient: a was cut from the graph.",
                edit("b = b", "a, b = a.detach(), b", "sum()\n", "sum()")),
        Mistake("dropped", "The error went away with the sigmoid: the number that is returned is the sum of a times "
                "b, and the gate stands wide open.", edit(" = b", "", "sum()\n", "sum()")),
        Mistake("both gated", "Now both halves went through the sigmoid. Only b is the gate.",
                edit("chunk", "sigmoid().chunk", ")\n    b = b.sigmoid(", "", "sum()\n", "sum()")),
        Mistake("wrong half", "You put a through the sigmoid. The second half, b, is the gate.",
                edit("b = b", "a = a", "sum()\n", "sum()")),
    ),
    may_change=("h",),
    check=check,
)  # fmt: skip
