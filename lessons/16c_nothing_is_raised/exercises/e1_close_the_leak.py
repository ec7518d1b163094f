"""Exercise 16c.1: close the leak."""

import weakref

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from lessons.reports import STALE, no_collector
from lessons.shared import flat, near, numbers


def right(x):
    """y, its slope and the slope of its slope."""
    return x / (1 + abs(x)), 1 / (1 + abs(x)) ** 2, -2 * (1 if x > 0 else -1) / (1 + abs(x)) ** 3


def given(torch, count):
    values = [sign * each for each, sign in zip(numbers(count), (1, -1, 1, -1, 1), strict=False)]
    return torch.tensor(values, dtype=torch.float64, requires_grad=True), [right(value) for value in values]


def check(answer, torch):
    """Check what is alive; the value and both derivatives; what a write does; what a slot holds."""
    counts = [alive(torch, answer, training) for training in (True, False)]
    if [1, 1] in counts:  # asked first: each call of the collector takes a tenth of a second
        return almost("collected by hand")
    for count in (3, 1):
        x, wanted = given(torch, count)
        y = answer.apply(x)
        if not near(flat(y), [each[0] for each in wanted]):
            return not_yet("The result is not x / (1 + |x|).")
        try:
            (slope,) = torch.autograd.grad((y * 1.0).sum(), x, create_graph=True)
        except (TypeError, AttributeError) as error:
            if "NoneType" in str(error) or "weakref" in str(error).lower():
                return almost("a weak reference")
            raise
        if not near(flat(slope), [each[1] for each in wanted]):
            place = next(i for i, each in enumerate(wanted) if not near([flat(slope)[i]], [each[1]]))
            return not_yet(f"At x = {flat(x)[place]:.2f} the gradient is {flat(slope)[place]:.4f}; the slope is "
                           f"{wanted[place][1]:.4f}.")  # fmt: skip
    if isinstance(counts[0], str) or isinstance(counts[1], str):
        return almost("a weak reference")
    if counts[0][-1] == 0 and counts[1][-1]:
        return almost("only in backward")
    if counts[0][-1] or counts[1][-1]:
        return almost("still a ring")
    x, wanted = given(torch, 3)
    y = answer.apply(x)
    twice = [torch.autograd.grad((y * 1.0).sum(), x, retain_graph=True) for _ in range(2)]
    if not near(flat(twice[1][0]), [each[1] for each in wanted]):
        return not_yet("A second pass through the same graph, which retain_graph=True allows, gives another gradient.")
    if not y.grad_fn.saved_tensors:
        return without_a_slot(answer, torch)
    x, wanted = given(torch, 3)
    y = answer.apply(x)
    y.detach().mul_(3)
    try:
        (slope,) = torch.autograd.grad((y * 1.0).sum(), x)
    except RuntimeError as error:
        if STALE not in str(error):
            raise
    else:
        if not near(flat(slope), [each[1] for each in wanted]):
            return almost("an alias in a slot")
    x, wanted = given(torch, 3)
    (slope,) = torch.autograd.grad((answer.apply(x) * 1.0).sum(), x, create_graph=True)
    if slope.grad_fn is None:
        return almost("no second derivative")
    (second,) = torch.autograd.grad(slope.sum(), x, allow_unused=True)
    if second is None or not near(flat(second), [each[2] for each in wanted]):
        return almost("no second derivative")
    return correct("no ring, a checked slot, and both derivatives right.")


def without_a_slot(answer, torch):
    """Nothing is in a slot: does a write to y, or to x, reach what the node holds?"""
    for which, mistake in (("y", "an alias"), ("x", "the input on ctx")):
        x, wanted = given(torch, 3)
        h = x * 1
        y = answer.apply(h)
        (y if which == "y" else h).detach().mul_(3)
        (slope,) = torch.autograd.grad((y * 1.0).sum(), x)
        if not near(flat(slope), [each[1] for each in wanted]):
            return almost(mistake)
    return almost("a copy")


def alive(torch, answer, training):
    """Count the results that are alive after each of two calls; a text where the pass found nothing."""
    x, references, counts = torch.ones(3, requires_grad=True), [], []
    with no_collector():
        for _ in range(2):
            y = answer.apply(x * 2)
            references.append(weakref.ref(y))
            total = (y * 1.0).sum()
            del y
            if training:
                try:
                    total.backward()
                except (TypeError, AttributeError):
                    return "nothing there"
            del total
            counts.append(sum(each() is not None for each in references))
    return counts


STARTER = """\
class Squashed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x / (1 + x.abs())
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * (1 - ctx.y.abs()) ** 2
"""
SOLVED = """\
class Squashed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x / (1 + x.abs())
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * (1 - y.abs()) ** 2
"""

EXERCISE = Exercise(
    id="16c.1", kind="write a Function", title="Close the leak", minutes=10, difficulty=2, puzzles=(17,),
    question="No result outlives its last name, with backward or without; both derivatives are right; a write into x "
    "or y between forward and backward never gives a wrong gradient without an error.",
    name="Squashed", starter=STARTER,
    hints=(
        "Draw the ring: who holds y, and whom does y hold? Which of the two references is yours?",
        "A node has places of its own for tensors. What is put there is checked, is let go after backward, and closes "
        "no ring.",
    ),
    solution=SOLVED,
    why="A slot holds a result without its history, so there is no ring; it has a version, and gives the result back "
    "with its history when somebody wants a second derivative.",
    alternatives=(
        edit("backward(y)", "backward(x)", "(y,)", "(x,)", "grad * (1 - y.abs()) ** 2", "grad / (1 + x.abs()) ** 2"),
        "class Squashed(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        y = x / (1 + x.abs())\n        ctx.save_for_backward(x, y)\n        return y\n\n    @staticmethod\n"
        "    def backward(ctx, grad):\n        x, y = ctx.saved_tensors\n"
        "        return grad * (1 - y.abs()) * (1 - y.abs())\n",
    ),
    mistakes=(
        Mistake("only in backward", "After a backward pass everything is let go. Without one the ring stays as it was, "
                "and in validation there is none.",
                STARTER.replace("        return grad * (1 - ctx.y.abs()) ** 2\n",
                                "        y, ctx.y = ctx.y, ctx.y.detach()\n        return grad * (1 - "
                                "y.abs()) ** 2\n")),
        Mistake("an alias", "The leak is closed, and a danger is open: what ctx holds is the memory of y, without a "
                "version. If y is overwritten before backward, the gradient is wrong and nothing raises.",
                STARTER.replace("ctx.y = y", "ctx.y = y.detach()")),
        Mistake("the input on ctx", "No ring, since the input does not know the node. But what stands on ctx is not "
                "checked: if x is overwritten before backward, the gradient is wrong and nothing raises.",
                STARTER.replace("ctx.y = y", "ctx.x = x").replace("ctx.y.abs()", "(ctx.x / (1 + ctx.x.abs())).abs()")),
        Mistake("a copy", "The leak is closed, and a write into y does no harm. The price is a second copy of the "
                "numbers, which is not freed after backward, and a second derivative that is missing: a copy on ctx "
                "has no history.",
                STARTER.replace("ctx.y = y", "ctx.y = y.detach().clone()")),
        Mistake("a weak reference", "A weak reference holds nothing: when the caller has no name for y any more, it is "
                "gone before backward asks for it.",
                "import weakref\n\n\n" + STARTER.replace("ctx.y = y", "ctx.y = weakref.ref(y)").replace("ctx.y.abs()",
                "ctx.y().abs()")),
        Mistake("collected by hand", "The ring is still made; you call the garbage collector to clean up. It looks at "
                "all objects of the program, each time, and the last result stays all the same.",
                "import gc\n\n\n" + STARTER.replace("        y = x", "        gc.collect()\n        y = x")),
        Mistake("still a ring", "Results are still alive after their last name is gone: the node holds y, and y holds "
                "the node.", STARTER.replace("ctx.y = y", "ctx.kept = {'y': y}").replace("ctx.y.", "ctx.kept['y'].")),
        Mistake("an alias in a slot", "It is in a slot, but under a counter of its own: .data is the memory "
                "of y and not "
                "its version. A write into y goes unnoticed.", edit("backward(y)", "backward(y.data)")),
        Mistake("no second derivative", "The first derivative is right, the second one is not: what backward "
                "computes with has no way back to x.", edit("(1 - y.abs())", "(1 - y.detach().abs())")),
        Mistake("guard: wrote into the gradient", "",
                edit("return grad * (1 - y.abs()) ** 2", "return grad.mul_((1 - y.abs()) ** 2)")),
    ),
    check=check,
)  # fmt: skip
