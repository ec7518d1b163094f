"""Exercise 11.1: a unit that is on or off, with a straight-through estimator."""

import random

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from lessons import shared


def on_ctx(node, torch):
    """Did forward put a tensor on ctx as an attribute?"""
    return any(isinstance(value, torch.Tensor) for name, value in vars(node).items() if not name.startswith("_"))


def saves_result(y):
    """Is what forward returned among the tensors that it saved?"""
    return any(kept is not None and shared.alike(kept, y) for kept in y.grad_fn.saved_tensors)


def check_11_0(answer, torch):
    if not (isinstance(answer, type) and issubclass(answer, torch.autograd.Function)):
        return not_yet("Keep the class line: the answer is a subclass of torch.autograd.Function.")
    values = [-3.0, -0.6, -0.2, 0.3, 0.7, 2.5]
    random.shuffle(values)
    upstream = torch.tensor(shared.numbers(6, 1.5, 4.0), dtype=torch.float64)
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    y = answer.apply(x * 1)
    if not shared.alike(y, (x.detach() > 0).to(x.dtype)):
        return not_yet("forward should give 1 where x is greater than 0, and 0 elsewhere, as the starter does.")
    attribute, result_saved = on_ctx(y.grad_fn, torch), saves_result(y)
    try:
        (found,) = torch.autograd.grad(y, x, upstream)
    except (AttributeError, TypeError) as error:
        if "tuple" in str(error):
            return almost("no comma")
        raise
    inside = (x.detach().abs() < 1).to(x.dtype)
    if shared.alike(found, upstream * inside):
        if attribute:
            return almost("kept on ctx")
        return correct("the step has no slope of its own, and yet what stands before it can learn.")
    wrong = {
        "no window": upstream,
        "no upstream gradient": inside,
        "the step itself": upstream * (x.detach() > 0).to(x.dtype),
        "only positive": upstream * inside * (x.detach() > 0).to(x.dtype),
        "one end": upstream * (x.detach() < 1).to(x.dtype),
        "the other end": upstream * (x.detach() > -1).to(x.dtype),
        "the window turned round": upstream * (1 - inside),
        "times x": upstream * inside * x.detach(),
    }
    for name, gradient in wrong.items():
        if shared.alike(found, gradient):
            name = "one end" if name == "the other end" else name
            return almost("the result saved" if name == "no window" and result_saved else name)
    if result_saved:
        return almost("the result looked at")
    return not_yet("Inside the window the gradient for x should be the upstream gradient, and outside it 0.")


FORWARD = """class OnOff(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
{}        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
"""
SAVED = FORWARD.format("        ctx.save_for_backward(x)\n") + "        (x,) = ctx.saved_tensors\n"


EXERCISE = Exercise(
    id="11.1", kind="write a Function", title="A unit that is on or off", minutes=6, difficulty=1,
    question="Forward: 1 where x > 0, else 0. Backward: the upstream gradient where x lies between -1 and 1, else 0. "
    "Save what backward needs, and write backward.",
    name="OnOff", starter=FORWARD.format("") + "        ...\n",
    hints=(
        "Which tensor tells whether an element lies inside the window: the input or the result? Save that one, as the "
        "cube saves its t.",
        "A comparison of tensors gives True and False, element by element, and a gradient may be multiplied by it: "
        "False counts as 0.",
    ),
    solution=SAVED + "        return grad * (x.abs() < 1)\n",
    why="The window depends on the input, so the input is saved. Inside the window the upstream gradient is handed on, "
    "outside it is multiplied by 0. Whether 1 and -1 themselves belong to the window is a matter of taste.",
    alternatives=(
        SAVED + "        return torch.where(x.abs() <= 1, grad, torch.zeros_like(grad))\n",
        FORWARD.format("        ctx.save_for_backward(x.abs() < 1)\n")
        + "        (inside,) = ctx.saved_tensors\n        return grad * inside\n",
    ),
    mistakes=(
        Mistake("no window", "This hands everything on, as RoundThrough did. There should be 0 for inputs that are "
                "far from switching. (The result is always between -1 and 1, so look at the input.)",
                FORWARD.format("") + "        return grad\n"),
        Mistake("the result saved", "Everything is handed on. You have saved the result, and that is 0 or 1, so it "
                "never lies outside of the window. Which tensor must be looked at?",
                FORWARD.replace("return (x > 0).to(x.dtype)", "y = (x > 0).to(x.dtype)\n"
                                "        ctx.save_for_backward(y)\n        return y").format("")
                + "        (y,) = ctx.saved_tensors\n        return grad * (y.abs() <= 1)\n"),
        Mistake("the result looked at", "You have saved the result, and that is 0 or 1. It does not tell how far the "
                "input is from 0. Which tensor does?",
                FORWARD.replace("return (x > 0).to(x.dtype)", "y = (x > 0).to(x.dtype)\n"
                                "        ctx.save_for_backward(y)\n        return y").format("")
                + "        (y,) = ctx.saved_tensors\n        return grad * (y.abs() < 1)\n"),
        Mistake("no comma", "ctx.saved_tensors is always a tuple, also of a single tensor. Take the tensor out of it, "
                "with a comma: (x,) = ctx.saved_tensors.",
                SAVED.replace("(x,) = ", "x = ") + "        return grad * (x.abs() < 1)\n"),
        Mistake("no upstream gradient", "The window is right. But you send 1 inside it, whatever arrives. What should "
                "go on is the upstream gradient.", SAVED + "        return (x.abs() < 1).to(grad.dtype)\n"),
        Mistake("the step itself", "This multiplies by what forward computes, on or off. Backward should look at how "
                "far x is from 0, on either side.", SAVED + "        return grad * (x > 0)\n"),
        Mistake("only positive", "The window has two sides: a unit that is off, but nearly on, learns as well.",
                SAVED + "        return grad * ((x > 0) & (x < 1))\n"),
        Mistake("one end", "The window has two ends, -1 and 1, and only one of them is checked here.",
                SAVED + "        return grad * (x < 1)\n"),
        Mistake("the window turned round", "The other way round: gradients pass where x is near 0, and are stopped far "
                "from it.", SAVED + "        return grad * (x.abs() >= 1)\n"),
        Mistake("times x", "Inside the window the upstream gradient is handed on as it is; it is not multiplied by x.",
                SAVED + "        return grad * (x.abs() < 1) * x\n"),
        Mistake("kept on ctx", "The gradient is right. You kept a tensor as an attribute of ctx, though; hand it to "
                "save_for_backward instead. What the difference is, 11.p3 asks you.",
                FORWARD.format("        ctx.x = x\n") + "        return grad * (ctx.x.abs() < 1)\n"),
    ),
    check=check_11_0,
)  # fmt: skip
