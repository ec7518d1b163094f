"""The learner's engine, lesson 13, gradients of gradients: its program, wrong engines, other right ones."""

import numpy as np

from coursekit.own_engine.checkpoints import print
from coursekit.own_engine.mistakes import leaf, mistake, runs

NOW = "From now on it gives derivatives of every order."

HINTS = (
    "With `create_graph` backward computes with recording on, so the formulas leave nodes of their own.",
    "`grad` runs the same pass, but notes what arrives at the edges of its inputs, and lets no accumulator store "
    "anything.",
    "`.grad` must then not be added to in place: `leaf.grad = leaf.grad + grad` makes a new tensor, with a "
    "history.",
)


def lesson_13(torch):
    """With create_graph=True the pass is recorded, and a gradient is a result like any other."""
    x = torch.tensor(2.0, requires_grad=True)
    (first,) = torch.autograd.grad(x**3, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x, create_graph=True)
    (third,) = torch.autograd.grad(second, x)
    print(first, second, third, x.grad)
    W = torch.tensor([[1.0, 1.0], [2.0, 0.0]], requires_grad=True)
    V = torch.tensor([[2.0], [1.0]], requires_grad=True)
    p = torch.tensor([[1.0, 1.0], [1.0, -1.0]], requires_grad=True)
    (slopes,) = torch.autograd.grad(((p @ W).relu() @ V).sum(), p, create_graph=True)
    (slopes * slopes).mean().backward()  # a gradient penalty
    print(W.grad.tolist(), V.grad.tolist())
    try:
        torch.autograd.grad(x * 1, W)
    except RuntimeError as error:
        print("appears to not have been used in the graph" in str(error))


def picture(torch):
    """A result whose graph shows what the lesson has added, the names of its tensors, and the program in words."""
    x = torch.tensor(2.0, requires_grad=True)
    (slope,) = torch.autograd.grad(x * x.exp(), x, create_graph=True)
    return slope, {"x": x, "slope": slope}, "(slope,) = grad(x * x.exp(), x, create_graph=True)"


@mistake(13, "With `create_graph=True` the gradient has no history. Let the pass record what it computes: run it under "
         "`set_grad_enabled(create_graph)`.",
         ("    with set_grad_enabled(create_graph):\n", "    with no_grad():\n"))  # fmt: skip
def no_history(torch):
    x = leaf(torch)
    (slope,) = torch.autograd.grad(x * x, x, create_graph=True)
    return slope.grad_fn is None


@mistake(13, "`autograd.grad` has stored a gradient in `.grad`. It hands gradients back, and stores none.",
         ("            if captured and isinstance(node, AccumulateGrad):  # grad() stores nothing\n"
          "                continue\n", ""))  # fmt: skip
def stored(torch):
    x = leaf(torch)
    torch.autograd.grad(x * x, x)
    return x.grad is not None


@mistake(13, "An input that the output does not depend on got an answer. There is no gradient for it: raise an error.",
         ("    if None in captured.values():\n", "    if False:\n"))  # fmt: skip
def unused(torch):
    x, other = leaf(torch), leaf(torch)
    return runs(lambda: torch.autograd.grad(x * x, other))


@mistake(13, "With `create_graph` the first pass has released what it saved, and the second one still needs it. Let "
         "`create_graph` retain the graph, as `retain_graph` does.",
         ("            if not (retain_graph or create_graph):", "            if not retain_graph:"))  # fmt: skip
def not_retained(torch):
    x = leaf(torch)

    def twice(**flags):
        y = x * x
        torch.autograd.grad(y, x, **flags)
        return runs(lambda: torch.autograd.grad(y, x))

    return twice(create_graph=True, retain_graph=True) and not twice(create_graph=True)


@mistake(13, "The second derivative of `exp` is wrong: a saved result has lost its history. Give it back when the "
         "slot is read.",
         ("return Tensor(tensor.array, False, node, tensor.version) if self.is_output else tensor",
          "return tensor"))  # fmt: skip
def result_without_history(torch):
    x = leaf(torch, 0.0)
    (slope,) = torch.autograd.grad(x.exp(), x, create_graph=True)
    try:
        (second,) = torch.autograd.grad(slope, x)
    except RuntimeError:
        return True
    return not np.isclose(second.item(), 1.0)


@mistake(13, "The second pass was added in place to a gradient that has a history: what was computed from it now "
         "stands on numbers that have changed. While recording is on, put a new tensor, the sum, into `.grad`.",
         ("        elif recording:\n            leaf.grad = leaf.grad + grad  # a new tensor, with a history\n", "")
         )  # fmt: skip
def history_overwritten(torch):
    x = leaf(torch)
    (x * x * x).backward(create_graph=True)
    first = x.grad
    (x * x * x).backward(create_graph=True)
    return x.grad is first and first.grad_fn is not None and first.item() == 24


RIGHT = (
    ("grad that hands its settings on by name", (
        ("    captured = dict.fromkeys(edges)\n    run_backward(output, grad_outputs, retain_graph, create_graph, "
         "captured)\n",
         "    captured = {edge: None for edge in edges}\n    run_backward(output, gradient=grad_outputs, "
         "retain_graph=retain_graph, create_graph=create_graph, captured=captured)\n"),
    )),
)  # fmt: skip
