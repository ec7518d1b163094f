"""Exercise 08.3: the detector's biases."""

import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import called, flat, leaf, near, numbers

from .shared import LEAF_VIEW, NO_GRAD_VIEW


def check(answer, torch):
    for anchors, outputs, sign in ((3, 6, -1), (2, 5, 1), (1, 7, -1)):
        start, prior = numbers(anchors * outputs, -1.0, 1.0), sign * random.uniform(2.0, 3.0)
        b = leaf(torch, start)
        version = b._version
        start = flat(b)
        try:
            answer(torch, b, anchors, prior)
        except RuntimeError as error:
            if LEAF_VIEW in str(error):
                return almost("still recorded")
            if NO_GRAD_VIEW in str(error):
                return almost("half inside")
            if "a leaf Variable that requires grad" in str(error):
                return almost("the leaf itself")
            raise
        found = flat(b)
        if near(found, start):
            return almost("a copy" if called(answer, "clone", "contiguous") else "another tensor")
        if not near(found, raised(start, outputs, prior)):
            return wrong_numbers(found, start, outputs, prior)
        if not b.requires_grad:
            return almost("frozen")
        if b._version == version:
            return almost("uncounted")
        if b.grad is not None:
            return not_yet("b.grad holds something now. Only the numbers of b are asked for.")
        with torch.enable_grad():
            (b * b).sum().backward()
        if b.grad is None or not near(b.grad.tolist(), [2 * value for value in found]):
            return not_yet("Training with the new b does not store the right gradient in b.grad.")
    done = "the optimizer's own tensor holds the new numbers, and it is still a leaf."
    if called(answer, "no_grad"):
        return correct(done)
    if called(answer, "detach"):
        done += " A write through `detach()` is counted, but not recorded. Here that is what you want, and "
        done += "`no_grad` says so more plainly."
    if called(answer, "requires_grad_"):
        done += " You have to switch the flag on again yourself, also after an error; `with torch.no_grad():` does it."
    return correct(done)


def raised(start, outputs, prior, which=4):
    """The numbers of b with one number of each group raised."""
    return [value + prior * (place % outputs == which) for place, value in enumerate(start)]


def wrong_numbers(found, start, outputs, prior):
    """b has changed, but not as it should have."""
    if near(found, raised(start, outputs, prior, 3)):
        return almost("one off")
    if near(found, raised(start, len(start), prior)):
        return almost("first group")
    if near(found, [prior if place % outputs == 4 else value for place, value in enumerate(start)]):
        return almost("set")
    return not_yet("b has changed, but not by prior in number 4 of each group and nowhere else.")


STARTER_4 = """\
def start_biases(torch, b, anchors, prior):
    rows = b.view(anchors, -1)
    rows[:, 4] += prior"""
INSIDE = """\
def start_biases(torch, b, anchors, prior):
    with torch.no_grad():
        rows = b.view(anchors, -1)
        rows[:, 4] += prior
"""

EXERCISE = Exercise(
    id="08.3", kind="repair", title="The detector's biases", minutes=4, difficulty=1, puzzles=(3, 4),
    question="Add prior to number 4 of each group of b; b stays the same leaf, and the write is counted.",
    name="start_biases", starter=STARTER_4,
    hints=(
        "The message says what is wrong: a view of a leaf is written to while the engine records. Which of the two "
        "can you change, the leaf or the recording?",
        "Whoever makes the view and whoever writes through it should agree on whether it is recorded.",
    ),
    solution=STARTER_4.split("    rows")[0] + "    with torch.no_grad():\n        b.view(anchors, -1)[:, 4] += prior\n",
    why="Giving a parameter its first numbers is no part of the computation that is differentiated. Under no_grad the "
    "write goes to b's own memory and is counted, and b stays the leaf that the optimizer holds.",
    alternatives=(
        INSIDE,
        edit("with torch.no_grad():\n        b", "rows = b.detach()", "[", "\n    rows["),
        edit("with torch.no_grad():\n        ", "rows = ", "[", "\n    with torch.no_grad():\n        rows["),
        STARTER_4.replace("    rows =", "    b.requires_grad_(False)\n    rows =") + "\n    b.requires_grad_(True)\n",
        STARTER_4.split("    rows")[0] + "    with torch.no_grad():\n        b[4 :: len(b) // anchors] += prior\n",
        STARTER_4.split("    rows")[0] + "    rows = b.detach().clone().view(anchors, -1)\n    rows[:, 4] += prior\n"
        "    with torch.no_grad():\n        b.copy_(rows.view(-1))\n",
        edit("b.view(anchors, -1)[:,", "for k in range(anchors):\n            b[k * len(b) // anchors +"),
    ),
    mistakes=(
        Mistake("still recorded", "It is still a recorded write to a view of the leaf, only spelt in another way. "
                "Every slice and every item is a view.",
                STARTER_4.replace("rows[:, 4] += prior", "rows[:, 4].add_(prior)")),
        Mistake("half inside", "The view was made under no_grad and written to outside. The two places say different "
                "things about whether the write is to be recorded, so it is refused. Put both inside.",
                edit("b.", "rows = b.", "[", "\n    rows[")),
        Mistake("the leaf itself", "Now the leaf itself is written to, with the engine recording. The message has "
                "one word less, the reason is the same.",
                STARTER_4.split("    rows")[0] + "    step = b.numel() // anchors\n"
                "    b[torch.arange(anchors) * step + 4] += prior\n"),
        Mistake("a copy", "No error, and b is as it was. What clone() gives has memory of its own: a write to it "
                "never reaches b.", STARTER_4.replace("-1)", "-1).clone()")),
        Mistake("another tensor", "b is as it was. If a tensor was changed, it was another one, with memory of its "
                "own; the optimizer holds b.",
                STARTER_4.split("    rows")[0] + "    extra = torch.zeros(anchors, b.numel() // anchors)\n"
                "    extra[:, 4] = prior\n    b = b + extra.view(-1)\n"),
        Mistake("uncounted", "The numbers are right, but b is at the same version as before: the write was not "
                "counted, as with .data or a NumPy array. Had a node saved b before, backward would be wrong and "
                "say nothing.", STARTER_4.replace("b.view", "b.data.view")),
        Mistake("set", "Number 4 of each group is prior now. It was to start prior *higher* than it was.",
                INSIDE.replace("+=", "=")),
        Mistake("first group", "Only the first group was raised. There are `anchors` of them, one after another.",
                STARTER_4.split("    rows")[0] + "    with torch.no_grad():\n        b[4] += prior\n"),
        Mistake("one off", "Number 3 of each group was raised. Numbers are counted from 0, as indices are.",
                edit("b.", "rows = b.", "[:, 4", "\n        rows[:, 3")),
        Mistake("guard: left a setting", "",
                STARTER_4.replace("    rows =", "    torch.set_grad_enabled(False)\n    rows =")),
        Mistake("frozen", "The numbers are right, but b does not require grad any more: it will never be trained.",
                STARTER_4.replace("    rows =", "    b.requires_grad_(False)\n    rows =")),
    ),
    may_change=("b",),
    check=check,
)  # fmt: skip
