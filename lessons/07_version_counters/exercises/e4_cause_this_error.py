"""Exercise 07.4: cause this error."""

import re

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons.shared import IN_PLACE, called

from .shared import VERSIONS, stale_slots


def raised_by_library(error, torch):
    """Was the error raised by the library, and not by a line of the learner's?"""
    step = error.__traceback__
    while step.tb_next is not None:
        step = step.tb_next
    return step.tb_frame.f_globals.get("__name__", "").partition(".")[0] == torch.__name__


def check(answer, torch):
    try:
        y = answer(torch)
    except RuntimeError as error:
        if "in-place operation" in str(error):
            return almost("too early")
        if IN_PLACE in str(error):
            return almost("raised inside")
        raise
    if not isinstance(y, torch.Tensor) or y.grad_fn is None:
        return not_yet("Return a tensor that was computed from x, so that it has a backward.")
    stale = {slot for _, slot in stale_slots(y)}
    try:
        y.sum().backward()
    except RuntimeError as error:
        found = VERSIONS.search(str(error))
        if not found:
            return not_yet("Backward raises, but another error than the one that is wanted.")
        if not raised_by_library(error, torch):
            return almost("by hand")
        seen, expected = (int(number) for number in found.groups())
        if (seen, expected) == (4, 2):
            if "which is output 0 of Neg," not in str(error):
                if "which is output" not in str(error):
                    return almost("no name")
                if stale == {"result"}:
                    return almost("a saved result")
                named = re.search(r"output 0 of (?:\w+::)*(\w+)", str(error))
                lead = f"The message names {named[1]}. " if named else ""
                if named and named[1] == "CopySlices":
                    lead = "The message names CopySlices, an assignment to a part. "
                return almost("unrecorded" if called(answer, "no_grad", "detach") else "another writer", lead)
            return correct("you can say which writes came before the save, which after, and who wrote last.")
        if called(answer, "data"):
            return almost("uncounted")
        if expected < 2:
            return almost("a result, too early" if stale == {"result"} else "saved too early")
        if expected > 2:
            return almost("saved too late")
        return almost("miscounted")
    return almost("uncounted" if called(answer, "data") else "nothing was saved")


STARTER_4 = """\
def cause(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    return y"""


def cause_source(*lines):
    """The source of an answer with these lines between x and return."""
    return STARTER_4.replace("    y = x * 1\n", "".join(f"    {line}\n" for line in lines))


WRITES = ("w = x * 3", "w.add_(1)", "w.mul_(2)", "y = w.log()", "w.add_(1)", "w.neg_()")

EXERCISE = Exercise(
    id="07.4", kind="cause this error", title="Cause this error", minutes=10, difficulty=2, puzzles=(1, 2),
    question="Return a y whose y.sum().backward() raises “… which is output 0 of Neg, is at version 4; expected "
    "version 2 instead”.",
    name="cause", starter=STARTER_4,
    hints=(
        "How many writes must there be before a tensor is saved, and how many after?",
        "You need an operation that saves a tensor which you may write to: not the leaf x, but something computed "
        "from it. Which operations save their input?",
        "For a saved input the message names the last recorded operation that made or changed it.",
    ),
    solution=cause_source(*WRITES) + "\n",
    why="Two writes, then log saves w and notes 2, then two more. w's present value was made by neg_, so the message "
    "says output 0 of Neg.",
    alternatives=(
        cause_source("h = x + 1", "h[0] += 1", "y = h * h", "h.zero_()", "h.neg_()"),
        cause_source("h = x + 1", "h.detach().add_(1).sub_(1)", "y = h.cos()", "h.mul_(3).neg_()"),
    ),
    mistakes=(
        Mistake("too early", "Your function itself raises: it writes to the leaf x, or to a view of it, with grad "
                "mode on, which is refused at once. Write to a tensor that was computed from x.",
                cause_source("x.neg_()", "y = x * x")),
        Mistake("nothing was saved", "Backward runs through: no tensor that a node saved was written to after the "
                "save. Look for an operation whose slope is made of a tensor, and overwrite that tensor afterwards.",
                cause_source("y = x * 3", "y.add_(1)", "y.mul_(2)", "y.add_(1)", "y.neg_()")),
        Mistake("uncounted", "A write through .data is not counted: the version that backward compares stays where "
                "it was.", cause_source(*WRITES[:4], "w.data.add_(1)", "w.data.neg_()")),
        Mistake("unrecorded", "Both numbers are right, but the message names the last *recorded* operation. A write "
                "under no_grad or through detach() is counted and not recorded.",
                cause_source(*WRITES[:4], "with torch.no_grad():", "    w.add_(1)", "    w.neg_()")),
        Mistake("saved too early", "The error is there, but it expected an earlier version: the tensor was saved "
                "before two writes had been made.",
                cause_source("w = x * 3", "y = w.log()", *WRITES[1:3], *WRITES[4:])),
        Mistake("a result, too early", "The error is there, but what is stale is a *result*, and a result is named "
                "after the node that saved it, never Neg. It was also saved before two writes had been made.",
                cause_source("y = x.exp()", "y.neg_().neg_()")),
        Mistake("saved too late", "The error is there, but it expected a later version: more than two writes came "
                "before the save.", cause_source(*WRITES[:3], "w.add_(1)", *WRITES[3:])),
        Mistake("miscounted", "The save is in the right place. The writes after it are not two: every name ending in "
                "_ counts one, and x[0] += 1 counts two.", cause_source(*WRITES[:4], "w.neg_()")),
        Mistake("another writer", "Both numbers are right, but the message names another operation: for a saved "
                "input, the last recorded one that wrote.", cause_source(*WRITES[:4], "w.neg_()", "w.add_(1)")),
        Mistake("a saved result", "Both numbers are right, but what is stale is a *result*, and a result is named "
                "after the node that saved it, whoever wrote last.",
                cause_source("w = x * 3", "w.add_(1)", "y = w.exp_()", "w.add_(1)", "w = w.neg_()")),
        Mistake("no name", "Both numbers are right, but the message names no operation: what was saved is a leaf or "
                "a plain tensor, and no recorded operation made it.",
                cause_source("w = torch.ones(2)", "w.add_(1).mul_(2)", "y = x * w", "w.add_(1).neg_()")),
        Mistake("raised inside", "Your function raises the error itself. Build y and return it: the check calls "
                "backward.", cause_source(*WRITES, "y.sum().backward()")),
        Mistake("by hand", "That message was raised by hand. Make the library say it.",
                cause_source("def hook(grad):", "    raise RuntimeError('which is output 0 of Neg, is at version 4; '",
                             "                       'expected version 2 instead')", "y = x * 1",
                             "y.register_hook(hook)")),
    ),
    check=check,
)  # fmt: skip
