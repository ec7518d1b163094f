"""Exercise 07.2: repair with one call."""

import math

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.shared import IN_PLACE, flat, near, nodes_behind, numbers

from .shared import stale_slots


def check(answer, torch):
    for shape in ((4,), (2, 3), (), (1, 2, 1)):
        size = math.prod(shape)
        values = [number * (-1) ** (place + 1) for place, number in enumerate(numbers(size))]  # both signs
        x = torch.tensor(values, dtype=torch.float64).reshape(shape).requires_grad_()
        y = answer(torch, x)
        if not isinstance(y, torch.Tensor) or y.numel() != 1:
            return not_yet("The function should return a tensor with one element.")
        sigmoid = [1 / (1 + math.exp(-v)) for v in values]
        if near(flat(y), [sum(s * s for s in sigmoid)]):
            return almost("not centred")
        if not near(flat(y), [sum((s - 0.5) ** 2 for s in sigmoid)]):
            return not_yet(f"The number that is returned is not the sum of (p - 0.5)², for x of shape {list(shape)}.")
        if not y.requires_grad:
            return almost("cut")
        rewritten = sigmoid_rewritten(y, sigmoid)
        stale = [type(node).__name__ for node, _ in stale_slots(y)]
        try:
            y.backward()
        except RuntimeError as error:
            if IN_PLACE not in str(error):
                raise
            if "SigmoidBackward0" not in stale:
                return not_yet("What sigmoid saved is as it was. But another node finds that what it saved was "
                               f"overwritten: {', '.join(stale)}.")  # fmt: skip
            return still_written(y)
        if x.grad is None:
            return almost("cut")
        if not near(flat(x.grad), [2 * (s - 0.5) * s * (1 - s) for s in sigmoid]):
            return almost("uncounted" if rewritten else "hidden from backward")
    return correct("sigmoid's result stands as it was saved, and the centring happens in other memory.")


def named_behind(y, name):
    """The nodes behind y that are called so."""
    return [node for node in nodes_behind(y) if type(node).__name__ == name]


def sigmoid_rewritten(y, sigmoid):
    """Does a sigmoid node behind y hold other numbers than sigmoid gave, without knowing it?"""
    for node in named_behind(y, "SigmoidBackward0"):
        try:
            if not near(flat(node._saved_result), sigmoid):
                return True
        except RuntimeError:
            pass
    return False


def still_written(y):
    """Backward found that sigmoid's result was overwritten: by what kind of repair was that not prevented?"""
    if named_behind(y, "CopySlices"):
        return almost("a view")
    sigmoids = set(named_behind(y, "SigmoidBackward0"))
    users = {
        type(node).__name__ for node in nodes_behind(y) if sigmoids & {after for after, _ in node.next_functions}
    }
    if users and users <= {"MulBackward0", "PowBackward0"}:  # the subtraction is not in the graph
        return almost("hidden write")
    if named_behind(y, "CloneBackward0"):
        return almost("late copy")
    return almost("still in place")


STARTER_3 = """\
def centred(torch, x):
    p = x.sigmoid()
    q = p
    q.sub_(0.5)
    return (q * q).sum()"""

EXERCISE = Exercise(
    id="07.2", kind="repair", title="Repair with one call", minutes=4, difficulty=1, puzzles=(1, 15),
    question="Change one place so that centred(torch, x).backward() runs. The function should return the same number "
    "as now, and x.grad should be the gradient of that number.",
    name="centred", starter=STARTER_3,
    hints=(
        "Which memory did sigmoid save, and which line writes into it? q = p copies nothing.",
        "Either q gets memory of its own before the write, or nothing is written at all.",
    ),
    solution=STARTER_3.replace("q = p\n", "q = p.clone()\n") + "\n",
    why="clone() gives q memory and a counter of its own, and is recorded, so the gradient still flows. Writing q = p "
    "- 0.5 instead of the two lines is as good.",
    alternatives=(
        edit(".clone()\n    q.sub_(0.5)", " - 0.5", "sum()\n", "sum()"),
        edit(".clone()\n    q.sub_", "\n    q = q.sub", "sum()\n", "sum()"),
        edit("p.clone(", "torch.empty_like(p).copy_(p", "sum()\n", "sum()"),
    ),
    mistakes=(
        Mistake("hidden write", "You hid the write from the graph, by no_grad or by detach(). It still goes to the "
                "memory that sigmoid saved, and the counter still sees it.",
                edit(".clone()\n    ", "\n    with torch.no_grad():\n        ", "sum()\n", "sum()")),
        Mistake("late copy", "You copied, but not between sigmoid and the write: what is written to is still the "
                "memory that sigmoid saved.",
                edit(".clone()\n    q.sub_(0.5", "\n    q = q.sub_(0.5).clone(", "sum()\n", "sum()")),
        Mistake("uncounted", "No error, and a wrong gradient: the write was not counted, so backward took sigmoid's "
                "slope from the centred numbers. This is what the error protects you from.",
                edit(".clone()\n    q", "\n    q.data", "sum()\n", "sum()")),
        Mistake("cut", "What you go on with is cut from the graph: nothing leads from the result back to x. The "
                "error is gone because the gradient is.", edit("clone", "detach().clone", "sum()\n", "sum()")),
        Mistake("not centred", "The error went away with the centring: the function now returns the sum of p², "
                "another number than before.", edit(".clone()\n    q.sub_", "\n    q.sub", "sum()\n", "sum()")),
        Mistake("still in place", "It still writes into the memory that sigmoid saved. `-=` and add_ write in place "
                "as sub_ does.", edit(".clone()\n    q.sub_(0.5)", "\n    q -= 0.5", "sum()\n", "sum()")),
        Mistake("a view", "A view has no memory of its own: the write still goes to what sigmoid saved.",
                edit("clone(", "view_as(p", "sum()\n", "sum()")),
        Mistake("hidden from backward", "The number is right, and what sigmoid saved is as it was. But a part of the "
                "computation is hidden from backward, and its share of the gradient is missing.",
                edit(").sum()\n", ".detach()).sum()")),
        Mistake("guard: changed a .grad", "The loss is all that was asked for: whoever asked calls backward.",
                edit("return", "loss =", "sum()\n", "sum()\n    loss.backward()\n    return loss")),
    ),
    check=check,
)  # fmt: skip
