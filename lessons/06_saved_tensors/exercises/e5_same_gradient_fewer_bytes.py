"""Exercise 06.5: same gradient, fewer bytes."""

import math

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons.shared import flat, near, nodes_behind, numbers

from .shared import saved_tensors_of


def check(answer, torch):
    for shape in ((5,), (2, 3), (), (2, 1, 2)):
        size = math.prod(shape)
        values = numbers(size, -2.0, 2.0)
        given = [numbers(size, -2.0, 2.0), numbers(size, -2.0, 2.0), numbers(size)]
        x = torch.tensor(values).reshape(shape).requires_grad_()
        loss = answer(torch, x, *(torch.tensor(one).reshape(shape) for one in given))
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            return not_yet("The function should return a tensor with one element, the loss.")
        if not near(flat(x), values):
            return not_yet("x has other values afterwards; it belongs to the caller.")
        factors = [m * w / s for m, w, s in zip(*given, strict=True)]
        if not near(flat(loss), [sum(math.sin(v * f) for v, f in zip(values, factors, strict=True))]):
            return not_yet(f"The loss has another value than that of the starter, for tensors of shape {list(shape)}.")
        if loss.grad_fn is None:
            return almost("cut")
        slots = [tensor for node in nodes_behind(loss) for tensor in saved_tensors_of(node, torch)]
        storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in slots}
        memories = int(sum(storages.values()) / (4 * size) + 0.4)  # of the size of x; a number or two are no memory
        written = any(tensor._version for tensor in slots)
        loss.backward()
        slopes = [f * math.cos(v * f) for v, f in zip(values, factors, strict=True)]
        if x.grad is None or not near(flat(x.grad), slopes):
            return almost("another gradient")
        if memories > 3 and size > 1:
            if all(tensor.numel() == 1 for tensor in slots):
                return almost("one by one")
            return almost("in place" if written else "names")
        if memories > 2 and size > 1:
            return almost("half way")
    return correct("plain factors are multiplied first, without a node, and only their product is saved.")


STARTER_5 = """\
def loss_of(torch, x, mask, weight, scale):
    h = x * mask
    h = h * weight
    h = h / scale
    return h.sin().sum()"""


def loss_source(*lines):
    """The source of a loss_of with this body."""
    body = "".join(f"    {line}\n" for line in lines)
    return "def loss_of(torch, x, mask, weight, scale):\n" + body


EXERCISE = Exercise(
    id="06.5", kind="reorder", title="Same gradient, fewer bytes", minutes=6, difficulty=2,
    question="The nodes of the result save four memories. Rewrite `loss_of` so that they save two, with the same "
    "value and the same gradient.",
    name="loss_of", starter=STARTER_5,
    hints=(
        "Which four? Three of them are plain: each stands in the slope of one product or quotient.",
        "An operation whose operands are all plain leaves no node, so it saves nothing. Which parentheses make most "
        "operations plain?",
    ),
    solution=loss_source("h = x * (mask * weight / scale)", "return h.sin().sum()"),
    why="mask * weight / scale is plain arithmetic and leaves no node. One product remains; it saves one factor, and "
    "sin saves h.",
    alternatives=(
        loss_source("factor = mask.clone()", "factor.mul_(weight).div_(scale)", "return (factor * x).sin().sum()"),
        loss_source("h = x * (mask * weight / scale)", "return h.sin().mean() * h.numel()"),
        loss_source("with torch.no_grad():", "    factor = mask / scale", "    factor *= weight",
                    "return torch.sin(x * factor).sum()"),
    ),
    mistakes=(
        Mistake("names", "Value and gradient are right, and the same tensors are saved as before. Names are not what "
                "saves them: with each step on x a node saves its factor.",
                loss_source("return (((x * mask) * weight) / scale).sin().sum()")),
        Mistake("one by one", "Element by element, every factor is saved all the same: a slot with one element of "
                "`mask` holds all of its memory.",
                loss_source("parts = zip(x, mask, weight, scale)",
                            "return torch.stack([(a * m * w / s).sin() for a, m, w, s in parts]).sum()")),
        Mistake("in place", "In-place operations are recorded too, and save their factors like the others. You saved "
                "intermediates that no node had saved anyway.",
                loss_source("h = x * mask", "h.mul_(weight).div_(scale)", "return h.sin().sum()")),
        Mistake("half way", "Three memories are left, and two will do. Which step on x still saves a tensor of its "
                "own?", loss_source("h = x * (mask * weight)", "h = h / scale", "return h.sin().sum()")),
        Mistake("cut", "Nothing is saved any more, because nothing leads to x any more: the loss has no way back.",
                loss_source("with torch.no_grad():", "    h = x * mask * weight / scale", "return h.sin().sum()")),
        Mistake("another gradient", "The value is right and the gradient is not: a part of the computation is hidden "
                "from backward.",
                loss_source("h = x + ((x * mask * weight / scale) - x).detach()", "return h.sin().sum()")),
        Mistake("guard: changed a .grad", "Backward is the caller's to call.",
                loss_source("loss = (x * (mask * weight / scale)).sin().sum()", "loss.backward()", "return loss")),
        Mistake("guard: changed a flag", "",
                loss_source("x.requires_grad_(False)", "return (x * (mask * weight / scale)).sin().sum()")),
        Mistake("guard: wrote into an argument, by out=", "",
                loss_source("torch.mul(mask, weight, out=mask)", "return (x * (mask / scale)).sin().sum()")),
        Mistake("guard: wrote into an argument", "The next call will get other factors.",
                loss_source("mask.mul_(weight).div_(scale)", "return (x * mask).sin().sum()")),
    ),
    check=check,
)  # fmt: skip
