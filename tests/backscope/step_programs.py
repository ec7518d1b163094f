"""Programs whose trace, as `step` tells it, must be the same on both libraries."""

from backscope.stepping.step import step


def leaf(torch, value):
    return torch.tensor(value, requires_grad=True)


def diamond(torch):
    """One value used twice."""
    x = leaf(torch, 2.0)
    h = x * 3
    y = h * 4 + h * 5
    return x, h, y


def order_matters(torch):
    """The graph on which a guess at the order gives a wrong gradient."""
    x = leaf(torch, 2.0)
    a = x * x
    c = (a + x) * a
    e = (c + a + x) * a
    return step(e)


def broadcast(torch):
    """Gradients are brought to the form of what they go to."""
    x, w, b = leaf(torch, [1.0, 2.0, 3.0]), leaf(torch, 2.0), leaf(torch, [[1.0], [2.0]])
    y = (x * w + b) / (b - 4.0)
    return step(y.sum(), names=["s"])


def two_roots(torch):
    """A root that another root depends on waits for it."""
    x = leaf(torch, [1.0, 2.0])
    y = x * x
    z = y.sum()
    return step(y, z, gradient=[torch.tensor([1.0, 10.0]), None])


def with_hooks(torch):
    """Hooks of the user's, of every kind."""
    x = leaf(torch, 2.0)
    h = x * 3
    y = h.exp()
    h.register_hook(lambda grad: grad * 10)
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 2,))
    y.grad_fn.register_hook(lambda grads, _: (grads[0] * 0.5,))
    x.register_post_accumulate_grad_hook(lambda leaf: None)
    return step(y)


def custom(torch):
    """A Function with two outputs, one of which is not used."""

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b, power):
            ctx.save_for_backward(a, b)
            return a * b, a + b

        @staticmethod
        def backward(ctx, first, second):
            a, b = ctx.saved_tensors
            return first * b + second, first * a + second, None

    a, b = leaf(torch, 2.0), leaf(torch, 3.0)
    product, total = Two.apply(a, b, 2)
    y = product * 2
    return step(y)


def loose(torch):
    """A Function whose gradient is of another type than its input: the engine brings it into form."""

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return torch.stack([a, a])

        @staticmethod
        def backward(ctx, grad):
            return grad.double()

    x = leaf(torch, [1.0, 2.0])
    h = x * 3
    y = (Twice.apply(h) * torch.tensor([[1.0], [2.0]])).sum()
    return step(y)


def packed(torch):
    """Saved tensors that hooks turned into something else."""
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), torch.tensor):
        x = leaf(torch, 2.0)
        y = x.exp() * x
    return step(y)


def stale(torch):
    x = leaf(torch, 2.0)
    u = (x * 3).exp()
    y = u + x
    u.add_(1)
    return step(y)


def freed(torch):
    x = leaf(torch, 2.0)
    y = (x * x).exp()
    y.backward()
    return step(y)


def tensor_hook_fails(torch):
    x = leaf(torch, 2.0)
    h = x * 3
    y = h.exp()
    h.register_hook(refuse)
    return step(y)


def refuse(*anything):
    raise ValueError("my hook says no")


def wrong_shape(torch):
    """A Function whose gradient does not fit; seen only after its hooks ran."""

    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a.clone()

        @staticmethod
        def backward(ctx, grad):
            return torch.ones(3)

    a = leaf(torch, [1.0, 2.0])
    y = Bad.apply(a * 2).sum()
    return step(y)


FINE = [order_matters, broadcast, two_roots, with_hooks, custom, loose, packed]
FAILING = {
    stale: "2 ExpBackward0",
    freed: "2 ExpBackward0",
    tensor_hook_fails: "1 MulBackward0",
    wrong_shape: "2 BadBackward",
}
