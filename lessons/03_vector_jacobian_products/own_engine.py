"""The learner's engine, lesson 03, tensors of every shape: its program, wrong engines, other right ones."""

from coursekit.own_engine.checkpoints import print
from coursekit.own_engine.mistakes import leaf, mistake, runs

NOW = "From now on it differentiates a whole network, with broadcasting and matrices."

HINTS = (
    "`fit` works in two steps: add up the dimensions that stand in front, then those that are 1 in the shape and "
    "longer in the gradient.",
    "In `run`, the first len(formulas) arguments are operands. What follows are settings: hand them on as they "
    "are, and keep them on the node for formulas that name them.",
    "A formula works on tensors, so its answer may use your own operations: `g * b`, `g @ B.T`, `g.sum()`.",
)


def lesson_03(torch):
    """Many outputs need an upstream gradient; what was broadcast gets a gradient of its own shape."""
    A = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    B = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]], requires_grad=True)
    c = torch.tensor([100.0, 200.0], requires_grad=True)
    y = A @ B + c
    try:
        y.backward()
    except RuntimeError as error:
        print(error)
    (A @ B + c).backward(torch.tensor([[1.0, 2.0], [10.0, 20.0]]))
    print("A @ B", A.grad.tolist(), B.grad.tolist())
    print("+ c", c.grad.tolist())
    x = torch.tensor([-1.0, 2.0, 3.0], requires_grad=True)
    v = torch.tensor([4.0, 0.5, 2.0], requires_grad=True)
    for words, run in (
        ("x ** 3", lambda: (x**3).sum()),
        ("x.relu() * 3", lambda: (x.relu() * 3).sum()),
        ("x.tanh()", lambda: x.tanh().sum()),
        ("x * v - x / 2", lambda: (x * v - x / 2).sum()),
        ("x / v", lambda: (x / v).sum()),
        ("x.mean()", lambda: x.mean()),
    ):
        x.grad = v.grad = None
        run().backward()
        print(words, *[[round(number, 4) for number in each.grad.tolist()] for each in (x, v) if each.grad is not None])
    w = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    (w.T.reshape(4) * torch.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    print("T and reshape", w.grad.tolist())
    z = torch.tensor([[1.0], [2.0]], requires_grad=True)
    (z.expand((2, 3)) * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    print("expand", z.grad.tolist())


@mistake(3, "A tensor that was broadcast has a gradient of the wrong shape. Each of its copies sends one back, and "
         "they have to be added up until the gradient has the tensor's own shape. `fit` is the place.",
         ("    return grad if grad.shape == shape else grad.sum(copied).reshape(shape)\n",
          "    return grad\n"))  # fmt: skip
def broadcast_not_undone(torch):
    x, m = leaf(torch, [1.0, 2.0]), torch.tensor([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    (x * m).sum().backward()
    return x.grad is not None and tuple(x.grad.shape) != (2,)


@mistake(3, "The rule of the matrix product has its factors in the wrong order, or lacks a transpose: the gradient for "
         "A is `g @ B.T`, and that for B is `A.T @ g`.",
         ("lambda g, b: g @ b.T, lambda g, a: a.T @ g", "lambda g, b: b.T @ g, lambda g, a: g @ a.T"))  # fmt: skip
def matrix_order(torch):
    A, B = leaf(torch, [[1.0, 2.0], [3.0, 4.0]]), leaf(torch, [[0.0, 1.0], [5.0, 0.0]])
    (A @ B).backward(torch.tensor([[1.0, 0.0], [0.0, 2.0]]))
    return A.grad is not None and A.grad.tolist() != [[0.0, 5.0], [2.0, 0.0]]


@mistake(3, "`backward()` without an upstream gradient has started from a tensor with several elements. It cannot know "
         "how much each of them counts, so it has to refuse.",
         ("    if gradient is None and tensor.array.size != 1:\n"
          '        raise RuntimeError("grad can be implicitly created only for scalar outputs")\n', ""))  # fmt: skip
def starts_anywhere(torch):
    x = leaf(torch, [1.0, 2.0])
    return runs(lambda: (x * x).backward())


@mistake(3, "The slope of a mean is one over the number of elements, for each of them. Yours does not divide.",
         ("g.expand(shape) / math.prod(shape)", "g.expand(shape)"))  # fmt: skip
def mean_is_sum(torch):
    x = leaf(torch, [1.0, 2.0])
    x.mean().backward()
    return x.grad is not None and x.grad.tolist() == [1.0, 1.0]


@mistake(3, "The rule of `relu` hands on the gradient where the operand is negative, too. There the result is 0, "
         "whatever the operand is, so its slope is 0.",
         ("g * (result > 0)", "g"))  # fmt: skip
def relu_everywhere(torch):
    x = leaf(torch, [-1.0, 2.0])
    x.relu().sum().backward()
    return x.grad is not None and x.grad.tolist() == [1.0, 1.0]


@mistake(3, "The slope of `x ** 3` at 2 is 12, and your engine finds 6. The rule of the power is `n * a ** (n - 1)`; "
         "`n * a` is right for n = 2 only.",
         ("g * n * a ** (n - 1)", "g * n * a"))  # fmt: skip
def power_of_two_only(torch):
    x = leaf(torch, 2.0)
    (x**3).backward()
    return x.grad is not None and x.grad.item() == 6


RIGHT = (
    ("relu that saves its operand", (
        ("lambda g, result: g * (result > 0)", "lambda g, a: g * (a > 0)"),
    )),
)  # fmt: skip
