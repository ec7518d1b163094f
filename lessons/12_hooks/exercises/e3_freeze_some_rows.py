"""Exercise 12.3: freeze some rows."""

import math
import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons.hooks import hooks_in_words, leaf_like, mixed, tensor_hooks
from lessons.shared import flat, near

TABLES = (((5, 3), 2, False), ((4, 2), 2, True), ((6, 1), 3, True), ((3, 4), 1, True), ((2, 3), 2, True))


@hooks_in_words
def check(answer, torch):
    for shape, count, with_grad in TABLES:
        rows, weight, c = random.sample(range(shape[0]), count), leaf_like(torch, *shape), mixed(torch, shape)
        rows.sort(reverse=with_grad)
        if with_grad:
            weight.grad = leaf_like(torch, *shape).detach()
        verdict = one_table(answer, torch, weight, rows, c)
        if verdict is not None:
            return verdict
    return correct("exactly 0 for the frozen rows, and not a number changed anywhere else.")


def one_table(answer, torch, weight, rows, c):
    """The verdict on one table with some rows to be frozen, or None when all is well."""
    before = torch.zeros_like(c) if weight.grad is None else weight.grad.clone()
    values = flat(weight)
    handle = answer(torch, weight, list(rows))
    (weight * c).sum().backward()
    named = judge_frozen(torch, weight, rows, c, before, values)
    if named:
        return named
    if isinstance(handle, (list, tuple)):
        return not_yet("The rows are frozen. But what you return is not one handle: the caller wants to say "
                       "handle.remove() once.")  # fmt: skip
    if not hasattr(handle, "remove"):
        return almost("no handle")
    before = weight.grad.clone()
    (weight * c).sum().backward()
    if judge_frozen(torch, weight, rows, c, before, values):
        return almost("one pass only")
    named = frozen_neighbours(torch, weight, c) or (rows and frozen_infinite(torch, weight, rows, c))
    if named:
        return named
    if named := history_of_the_others(torch, weight, c, rows):
        return named
    handle.remove()
    weight.grad = None
    (weight * c).sum().backward()
    if not near(flat(weight.grad), flat(c)):
        return not_yet("After handle.remove() the gradient is not what it was without your hook.")
    if tensor_hooks(weight):
        return not_yet("After handle.remove() a hook of yours is still on the table: the handle takes away one of "
                       "several.")
    return None


def judge_frozen(torch, weight, rows, c, before, values):
    """A verdict when .grad after a pass is wrong, otherwise None."""
    if not near(flat(weight), values):
        return not_yet("The table itself holds other numbers after a pass.")
    if weight.grad is None:
        return not_yet("No gradient has arrived in weight.grad.")
    keep = torch.ones_like(c)
    keep[rows] = 0
    brought = weight.grad - before
    if near(flat(brought), flat(c * keep)):
        return None if not any(flat(brought[rows])) else almost("nearly 0")
    if near(flat(brought), flat(c)):
        return almost("nothing frozen")
    if near(flat(brought), flat(c * (1 - keep))):
        return almost("the others frozen")
    if near(flat(weight.grad), flat((c + before) * keep)):
        return almost("earlier passes lost")
    if near(flat(weight.grad), flat(c * keep)):
        return not_yet("What was in weight.grad before the pass is gone.")
    for row in range(len(c)):
        if not near(flat(brought[row]), flat(c[row] * keep[row])):
            said = "is to be frozen" if row in rows else "is not to be frozen"
            had, got = (", ".join(f"{value:.3g}" for value in flat(each[row])) for each in (c, brought))
            return not_yet(f"With rows = {rows}: row {row} {said}, its gradient is [{had}], and what the pass brings "
                           f"to .grad there is [{got}].")  # fmt: skip
    return None


def frozen_neighbours(torch, weight, c):
    """A verdict when another tensor's gradient is changed: a sum sends one tensor to both."""
    for turn in (False, True):
        weight.grad, other = None, leaf_like(torch, *weight.shape)
        total = weight + other if turn else other + weight
        (total * c).sum().backward()
        if not near(flat(other.grad), flat(c)):
            return not_yet("The table's gradient is right. But another tensor, to which an addition had sent the same "
                           "gradient, gets other numbers: something is changed in place.")  # fmt: skip
    return None


def frozen_infinite(torch, weight, rows, c):
    """A verdict when a gradient that is not finite gets through in the frozen rows, or is hidden in the others."""
    others = [row for row in range(len(weight)) if row not in rows]
    for bad in (math.inf, -math.inf, math.nan):
        weight.grad, spoilt = None, c.clone()
        spoilt[rows[0]] = bad
        (weight * spoilt).sum().backward()
        frozen = flat(weight.grad[rows])
        if any(map(math.isnan, frozen)):
            return almost("nan times zero")
        if any(frozen):
            return not_yet(f"When the gradient of a frozen row is {bad}, what arrives there is not 0.")
        if not near(flat(weight.grad[others]), flat(c[others])):
            return not_yet("Where a frozen row's gradient is not finite, other rows come out wrong.")
        if not others:
            continue
        weight.grad, spoilt = None, c.clone()
        spoilt[others[0]] = bad
        (weight * spoilt).sum().backward()
        if any(math.isfinite(value) for value in flat(weight.grad[others[0]])):
            return almost("hidden")
    return None


def history_of_the_others(torch, weight, c, rows):
    """A verdict when a recorded pass brings a constant to rows that are not frozen."""
    factor = torch.ones_like(c).requires_grad_()
    (found,) = torch.autograd.grad((weight * factor * c).sum(), weight, create_graph=True)
    others = [row for row in range(len(c)) if row not in rows]
    if not others:
        return None
    if not found.requires_grad:
        return almost("history cut")
    (second,) = torch.autograd.grad(found.sum(), factor, allow_unused=True)
    if second is None or not near(flat(second[others]), flat(c[others])):
        return almost("history cut")
    return None


STARTER_5 = """\
def freeze_rows(torch, weight, rows):
    def hook(grad):
        grad[rows] = 0
        return grad

    return weight.register_hook(hook)"""


def freezing(*lines, after=("return weight.register_hook(hook)",)):
    body = ["def hook(grad):", *(f"    {line}" for line in lines), *after]
    return "def freeze_rows(torch, weight, rows):\n" + "".join(f"    {line}\n" for line in body)


MASKED = ("keep = torch.ones_like(grad)", "keep[rows] = 0", "return grad * keep")

EXERCISE = Exercise(
    id="12.3", kind="repair", title="Freeze some rows", minutes=8, difficulty=2,
    question="A hook that brings exactly 0 to some rows of a table and changes nothing else; return the handle.",
    name="freeze_rows", starter=STARTER_5,
    hints=(
        "Into whose memory does grad[rows] = 0 write, and who else may have been sent it?",
        "What is 0 times infinity? Overwriting is not multiplying.",
    ),
    solution=freezing("grad = grad.clone()", "grad[rows] = 0", "return grad"),
    why="The clone is the hook's own, so it may be written to. Writing 0 into it also removes inf and NaN, which a "
    "product with a mask would leave.",
    alternatives=(
        freezing("keep = torch.ones_like(grad, dtype=torch.bool)", "keep[rows] = False",
                 "return torch.where(keep, grad, torch.zeros_like(grad))"),
        freezing("frozen = set(rows)",
                 "return torch.stack([g * 1 if i not in frozen else torch.zeros_like(g) for i, g in enumerate(grad)])"),
    ),
    mistakes=(
        Mistake("guard: wrote into the gradient", "Here an addition may have sent this very tensor to others as "
                "well: their rows would be 0, too.", freezing("grad[rows] = 0")),
        Mistake("guard: changed a .grad", "What earlier passes brought should stay, also that of the frozen rows. "
                "Change only what a pass brings.",
                freezing("grad = grad.clone()", "grad[rows] = 0", "return grad",
                         after=("weight.grad = None", "return weight.register_hook(hook)"))),
        Mistake("guard: changed a container", "",
                freezing("grad = grad.clone()", "while rows:", "    grad[rows.pop()] = 0", "return grad",
                         after=("rows.reverse()", "return weight.register_hook(hook)"))),
        Mistake("one pass only", "The first pass is right. What the second pass brings is not: does the hook change, "
                "or what it reads?",
                freezing("handle.remove()", "grad = grad.clone()", "grad[rows] = 0", "return grad",
                         after=("handle = weight.register_hook(hook)", "return handle"))),
        Mistake("hidden", "A row that is not frozen had a gradient that was not finite, and now it is finite: what "
                "others should notice is hidden.",
                freezing("keep = torch.ones_like(grad)", "keep[rows] = 0", "return torch.nan_to_num(grad) * keep")),
        Mistake("nearly 0", "In the frozen rows a little arrives in .grad. Asked is exactly 0: a little moves the "
                "rows, too.", freezing("grad = grad.clone()", "grad[rows] *= 1e-9", "return grad")),
        Mistake("nan times zero", "A gradient of infinity or NaN in a frozen row leaves NaN there. (0 times infinity "
                "is NaN, and so is infinity minus infinity.)", freezing(*MASKED)),
        Mistake("nothing frozen", "The frozen rows get their gradient as ever. A hook that returns nothing leaves "
                "the gradient as it is, and one on weight[rows] stands on a tensor that nobody uses.",
                freezing("grad = grad.clone()", "grad[rows] = 0")),
        Mistake("the others frozen", "The other way round: you let through only the rows that are to stay.",
                freezing("keep = torch.zeros_like(grad)", "keep[rows] = grad[rows]", "return keep")),
        Mistake("earlier passes lost", "In the frozen rows, what earlier passes brought to .grad is gone, too. "
                "Change the gradient before it is added, and not .grad.",
                freezing("weight.grad[rows] = 0", after=("return weight.register_post_accumulate_grad_hook(hook)",))),
        Mistake("history cut", "The numbers are right. But in a pass with create_graph=True the gradient of the other "
                "rows is a constant: the hook has cut its history.",
                freezing("grad = grad.detach().clone()", "grad[rows] = 0", "return grad")),
        Mistake("no handle", "The rows are frozen. But what you return has no remove(), so the caller cannot end it.",
                freezing("grad = grad.clone()", "grad[rows] = 0", "return grad",
                         after=("weight.register_hook(hook)",))),
    ),
    may_change=("weight.hooks",),
    check=check,
)  # fmt: skip
