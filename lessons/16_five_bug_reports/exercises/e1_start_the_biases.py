"""Exercise 16.1: start the biases."""

import math
import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import flat, near, numbers

LEAF_VIEW = "a view of a leaf Variable"
NO_GRAD_VIEW = "was created in no_grad mode"
CLASS = math.log(0.5 / 1.5)


def check(answer, torch):
    """Heads of several sizes, whose optimizer exists already; afterwards one step."""
    for anchors, outputs, there in ((3, 7, 0.02), (1, 6, 0.1), (2, 8, random.uniform(0.01, 0.3))):
        verdict = judged_head(answer, torch, anchors, outputs, there)
        if verdict:
            return verdict
    return correct("the model's bias begins where it should, it is the one that the optimizer holds, and it learns.")


def judged_head(answer, torch, anchors, outputs, there):
    """The verdict about one head, or None."""
    head = torch.nn.Linear(2, anchors * outputs)
    with torch.no_grad():
        head.bias.copy_(torch.tensor(numbers(anchors * outputs, -0.5, 0.5)))
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    bias, start, version = head.bias, flat(head.bias), head.bias._version
    try:
        answer(torch, head, anchors, there)
    except RuntimeError as error:
        if NO_GRAD_VIEW in str(error):
            return almost("half inside")
        if LEAF_VIEW in str(error):
            return almost("still recorded")
        raise
    prior = math.log(there / (1 - there))
    found, wanted = flat(head.bias), raised(start, outputs, prior, CLASS)
    if near(found, start):
        return almost("nothing happened")
    if near(found, wanted) and head.bias is not bias:
        return almost("a new parameter")
    if not near(found, wanted):
        if near(flat(bias), raised(start, outputs, prior, 0.0)):
            return almost("only the objects")
        shown = [prior if i % outputs == 4 else CLASS if i % outputs > 4 else x for i, x in enumerate(start)]
        if near(flat(bias), shown):
            return almost("set, not raised")
        if near(flat(bias), [x + (prior if i == 4 else CLASS if i > 4 else 0.0) for i, x in enumerate(start)]):
            return almost("one long row")
        if near(found, raised(start, outputs, there, CLASS)):
            return almost("the probability itself")
        return first_difference(head.bias, found, wanted, f"anchors={anchors} and rows of {outputs}")
    if not bias.requires_grad:
        return almost("frozen")
    if bias._version == version:
        return almost("uncounted")
    if head.weight.grad is not None or bias.grad is not None:
        return not_yet("A gradient has been stored. Only numbers were to be written.")
    (head(torch.ones(3, 2)) ** 2).sum().backward()
    optimizer.step()
    if near(flat(head.bias), found):
        return not_yet("One step of the optimizer later, the bias is where it began: it does not learn.")
    return None


def raised(start, outputs, prior, of_class):
    """The bias with number 4 of each row raised by prior, and the numbers after it by of_class."""
    plus = {place: 0.0 if place < 4 else prior if place == 4 else of_class for place in range(outputs)}
    return [value + plus[place % outputs] for place, value in enumerate(start)]


def first_difference(bias, found, wanted, case):
    """Find where the bias differs first from what it should be."""
    if len(found) != len(wanted):
        return not_yet(f"With {case} the bias has shape {tuple(bias.shape)} afterwards; it had {len(wanted)} numbers "
                       "in one row.")  # fmt: skip
    place = next(i for i, (a, b) in enumerate(zip(found, wanted, strict=True)) if not near([a], [b]))
    return not_yet(f"With {case}, number {place} of the bias is {found[place]:.2f} afterwards; "
                   f"{wanted[place]:.2f} is wanted.")  # fmt: skip


STARTER = """\
def start_again(torch, head, anchors, there):
    b = head.bias.view(anchors, -1)
    b[:, 4] += math.log(there / (1 - there))
    b[:, 5:] += math.log(0.5 / 1.5)
"""
IMPORT = "import math\n\n\n"
DEF = IMPORT + "def start_again(torch, head, anchors, there):\n"
INSIDE = "    with torch.no_grad():\n        b = head.bias.view(anchors, -1)\n"
REST = "        b[:, 4] += math.log(there / (1 - there))\n        b[:, 5:] += math.log(0.5 / 1.5)\n"
OUTSIDE = REST.replace("        ", "    ")
SOLVED = DEF + "    b = head.bias.detach().view(anchors, -1)\n" + OUTSIDE

EXERCISE = Exercise(
    id="16.1", kind="repair", title="Start the biases", minutes=8, difficulty=1, puzzles=(3, 4),
    question="Raise number 4 of each row of head.bias by the log-odds of `there`, the numbers after it by those of the "
    "classes. The optimizer exists already, and training goes on with it.",
    name="start_again", starter=STARTER,
    hints=(
        "Who has to see the new numbers? The model, and the optimizer that was made before. Is there a tensor that "
        "both hold?",
        "The message has two parts: it is a view of a leaf, and it is recorded. You cannot do without the first.",
    ),
    solution=SOLVED,
    why="Through detach(), or under no_grad, the write goes to the memory of the one parameter that model and "
    "optimizer share, it is counted, "
    "and nothing is recorded.",
    alternatives=(
        DEF + INSIDE + REST,
        DEF + "    b = head.bias.detach().clone().view(anchors, -1)\n" + OUTSIDE
        + "    with torch.no_grad():\n        head.bias.copy_(b.view(-1))\n",
        DEF + "    head.bias.requires_grad_(False)\n    b = head.bias.view(anchors, -1)\n" + OUTSIDE
        + "    head.bias.requires_grad_(True)\n",
    ),
    mistakes=(
        Mistake("nothing happened", "It runs, and the bias is exactly what it was. Either an error was swallowed, or "
                "the write went into memory of another tensor, as with a copy.", edit("detach()", "clone()")),
        Mistake("a new parameter", "The numbers are right, in a parameter that is new. The optimizer was made before "
                "and steps the old one, so this one will never learn.",
                DEF + "    b = head.bias.detach().clone().view(anchors, -1)\n" + OUTSIDE
                + "    head.bias = torch.nn.Parameter(b.view(-1))\n"),
        Mistake("half inside", "The view was made under no_grad, and the write is outside. Is the write to be recorded "
                "or not? Two places, two answers, so it is refused.", DEF + INSIDE + OUTSIDE),
        Mistake("still recorded", "It is the same write, in another spelling: still to a view of a leaf, still with "
                "recording on.", DEF + "    b = head.bias.view(anchors, -1)\n"
                "    b[:, 4].add_(math.log(there / (1 - there)))\n    b[:, 5:].add_(math.log(0.5 / 1.5))\n"),
        Mistake("uncounted", "The numbers are right, and the version of the bias is what it was: the write was not "
                "counted. Between a forward and a backward pass, nobody would notice it.",
                edit("bias.detach()", "bias.data")),
        Mistake("frozen", "The numbers are right, but the bias does not require a gradient any more. The "
                "error is gone, "
                "and so is the learning.", edit("    b = head.bias.detach()", "    head.bias.requires_grad_(False)\n"
                                                "    b = head.bias")),
        Mistake("only the objects", "Number 4 of each row is right. The classes, from number 5 on, have not moved.",
                edit("    b[:, 5:] += math.log(0.5 / 1.5)\n", "")),
        Mistake("set, not raised", "The numbers were to be *raised* by that much, from where they are. You have set "
                "them.", edit("4] +=", "4] =", "5:] +=", "5:] =")),
        Mistake("one long row", "You take the bias as one long row, and so only the first anchor is started rightly.",
                edit("view(anchors, -1)", "view(1, -1)")),
        Mistake("the probability itself", "The bias goes through a sigmoid before it is a probability. So it has to "
                "rise by the log-odds, and not by the probability.", edit("math.log(there / (1 - there))", "there")),
        Mistake("guard: left a setting", "", edit("    b = head.bias.detach()", "    torch.set_grad_enabled(False)\n"
                                                  "    b = head.bias")),
    ),
    may_change=("head",),
    check=check,
)  # fmt: skip
