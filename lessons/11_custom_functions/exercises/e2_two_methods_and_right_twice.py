"""Exercise 11.2: two methods, and right twice."""

import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons.functions import (
    COUNT,
    graph_of_gradient,
    near,
    of_a_function,
    scalar,
    shares,
    slots_of,
    tensors_on,
)
from lessons.shared import array


@of_a_function
def check(answer, torch):
    separate = answer.setup_context is not torch.autograd.Function.setup_context
    for _ in range(2):
        z = random.uniform(1.0, 3.0)
        x, y = array(torch, 3, requires_grad=True), array(torch, 3, requires_grad=True)
        try:
            out = answer.apply(x, y, z)
        except TypeError as error:
            if "can only save variables" in str(error):
                return almost("number saved")
            if "missing" in str(error) and "argument: 'z'" in str(error):
                return almost("who gets ctx")
            if not separate and "positional arguments but 4 were given" in str(error):
                return not_yet("forward was called with ctx: apply leaves it out only when there is a setup_context.")
            raise
        if not isinstance(out, torch.Tensor):
            return not_yet("apply should return one tensor, as before.")
        if not near(out, (x * y + y * z + x * y * z).detach()):
            return not_yet("The result is no longer x*y + y*z + x*y*z.")
        if not out.requires_grad:
            return not_yet("The result does not require grad any more, so nothing flows back.")

        def apply(x, y, z=z):
            return answer.apply(x, y, z)

        try:
            first = torch.autograd.gradcheck(apply, (x, y), raise_exception=False)
        except RuntimeError as error:
            if COUNT not in str(error):
                raise
            return almost("three arguments")
        if not first:
            return not_yet("The first derivatives are wrong: gradcheck does not agree.")
        if not right_twice(torch, apply, x, y):
            return almost(why_not_twice(torch, answer, separate))
    if not separate:
        return almost("one method")
    if tensors_on(out.grad_fn, torch):
        return almost("inputs on ctx")
    if any(not any(shares(slot, given) for given in (x, y, out)) for slot in slots_of(out.grad_fn)):
        return almost("a number in a tensor")
    nothing = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    found = torch.autograd.grad(answer.apply(x, nothing, z).sum(), (x, nothing))
    if not all(map(near, found, (nothing.detach(), (x + z + x * z).detach()))):
        return almost("not at 0")
    direct = answer.forward(x, y, z)
    if not near(direct.detach(), out):
        return not_yet("forward, called on its own, should give the same result.")
    if not direct.requires_grad:
        return almost("forward cut off")
    return correct("computing and keeping are apart, and all that is kept has a history.")


def right_twice(torch, apply, x, y):
    """Does gradgradcheck agree? Not when a gradient has no history at all, or refuses to be differentiated."""
    try:
        return torch.autograd.gradgradcheck(apply, (x, y), raise_exception=False)
    except (RuntimeError, ValueError):
        return False


def why_not_twice(torch, answer, separate):
    """Name the mistake that leaves the second derivatives wrong."""
    x, y = scalar(torch, 2), scalar(torch, 3)
    out = answer.apply(x, y, 4.0)
    kept = slots_of(out.grad_fn)
    if graph_of_gradient(torch, out, (x, y)) == "an error":
        return "an error instead"
    if not separate:
        return "one method, and w"
    inputs_only = all(any(shares(slot, given) for given in (x, y)) for slot in kept)
    return "lost in backward" if inputs_only else "still an intermediate"


STARTER_4 = """\
class TwoMethods(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, z):
        w = x * z
        ctx.save_for_backward(x, y, w)
        ctx.z = z
        return x * y + y * z + w * y

    @staticmethod
    def backward(ctx, grad):
        x, y, w = ctx.saved_tensors
        return grad * (y + y * ctx.z), grad * (x + ctx.z + w), None"""
SETUP_4 = """\
class TwoMethods(torch.autograd.Function):
    @staticmethod
    def forward(x, y, z):
        return x * y + y * z + x * y * z

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y, ctx.z = inputs
        ctx.save_for_backward(x, y)

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * (y + y * ctx.z), grad * (x + ctx.z + x * ctx.z), None"""
WITH_W_4 = (
    SETUP_4.replace("ctx.save_for_backward(x, y)", "ctx.save_for_backward(x, y, x * ctx.z)")
    .replace("x, y = ctx.saved", "x, y, w = ctx.saved")
    .replace("+ x * ctx.z)", "+ w)")
)

EXERCISE = Exercise(
    id="11.2", kind="repair", title="Two methods, and right twice", minutes=6, difficulty=2,
    question="Write Mix with setup_context, so that gradcheck and gradgradcheck agree.",
    name="TwoMethods", starter=STARTER_4,
    hints=(
        "forward loses ctx. setup_context(ctx, inputs, output) gets the tuple (x, y, z) and the result, and does what "
        "forward did with ctx.",
        "w is out of reach there, and would have no history anyway. From what can backward compute it?",
    ),
    solution=SETUP_4 + "\n",
    why="setup_context sees inputs and outputs, and these have a history. backward computes x * z itself, which is "
    "recorded whenever somebody wants second derivatives.",
    alternatives=(
        SETUP_4.replace(
                "    def backward(ctx, grad):\n        x, y = ctx.saved_tensors\n",
                "    def backward(ctx, grad):\n        x, y = ctx.saved_tensors\n        w = x * ctx.z\n",
            ).replace("ctx.z + x * ctx.z)", "ctx.z + w)"),
        SETUP_4.replace("return x * y + y * z + x * y * z", "return (x + z + x * z) * y"),
        SETUP_4.replace(
            "        return grad * (y + y * ctx.z), grad * (x + ctx.z + x * ctx.z), None",
            "        with torch.enable_grad():\n"
            "            out = TwoMethods.forward(x, y, ctx.z)\n"
            "            return *torch.autograd.grad(out, (x, y), grad, create_graph=True), None",
        ),
    ),
    mistakes=(
        Mistake("still an intermediate", "Two methods, and first derivatives are right. But what you save is still a "
                "product without a history: setup_context is not recorded either.", WITH_W_4),
        Mistake("lost in backward", "You save inputs only, as you should. But in backward something loses its "
                "history (detach, no_grad, or a gradient asked for without create_graph), so the second derivatives "
                "lack a term.", SETUP_4.replace("x * ctx.z)", "x.detach() * ctx.z)")),
        Mistake("inputs on ctx", "All derivatives are right. But there is a tensor on ctx: nobody notices a write "
                "into it, and backward does not release it. Only the number belongs there.",
                SETUP_4.replace("x, y, ctx.z = inputs\n        ctx.save_for_backward(x, y)",
                                "ctx.x, ctx.y, ctx.z = inputs").replace("ctx.saved_tensors", "ctx.x, ctx.y")),
        Mistake("forward cut off", "apply is right. But called on its own, forward should be recorded like any other "
                "code, and its result has no history: a detach or a no_grad in forward does nothing for apply.",
                SETUP_4.replace("return x * y + y * z + x * y * z", "return (x * y + y * z + x * y * z).detach()")),
        Mistake("one method", "All derivatives are right. Still asked: forward without ctx, and setup_context for "
                "the keeping.",
                STARTER_4.replace("        w = x * z\n        ctx.save_for_backward(x, y, w)",
                                      "        ctx.save_for_backward(x, y)")
                    .replace("w * y", "x * y * z").replace("x, y, w =", "x, y =").replace("+ w)", "+ x * ctx.z)")),
        Mistake("an error instead", "once_differentiable turns the wrong second derivative into an error. Asked is "
                "the right one.",
                WITH_W_4.replace("    @staticmethod\n    def backward",
                                 "    @staticmethod\n    @torch.autograd.function.once_differentiable\n"
                                 "    def backward")),
        Mistake("number saved", "z is a plain number. save_for_backward takes tensors and None; a number becomes an "
                "attribute of ctx.",
                SETUP_4.replace("x, y, ctx.z = inputs\n        ctx.save_for_backward(x, y)",
                                    "ctx.save_for_backward(*inputs)")
                    .replace("x, y = ctx", "x, y, z = ctx").replace("ctx.z", "z")),
        Mistake("not at 0", "All derivatives are right where y is not 0. At y = 0 the gradients are not: is there a "
                "division?",
                SETUP_4.replace("ctx.save_for_backward(x, y)", "ctx.save_for_backward(x, y, output)")
                    .replace("x, y = ctx.saved", "x, y, out = ctx.saved")
                    .replace("(x + ctx.z + x * ctx.z)", "out / y")),
        Mistake("a number in a tensor", "All derivatives are right. But a slot holds a tensor that is neither an "
                "input nor the result. A plain number needs no tensor and no slot: it belongs on ctx.",
                SETUP_4.replace("x, y, ctx.z = inputs\n        ctx.save_for_backward(x, y)",
                                    "x, y, z = inputs\n        ctx.save_for_backward(x, y, torch.tensor(z))")
                    .replace("x, y = ctx", "x, y, z = ctx").replace("ctx.z", "z")
                    .replace("tensor(z)", "tensor(z, dtype=x.dtype)")),
        Mistake("three arguments", "forward has three arguments; backward returns a tuple of three, and z gets "
                "None.", SETUP_4.replace(", None", "")),
        Mistake("who gets ctx", "With setup_context, forward is called without ctx: forward(x, y, z).",
                SETUP_4.replace("forward(x, y, z)", "forward(ctx, x, y, z)")),
        Mistake("one method, and w", "Something has changed, but w is still saved by forward, where nothing is "
                "recorded, and there is no setup_context yet.", STARTER_4.replace("w * y", "x * z * y")),
    ),
    check=check,
)  # fmt: skip
