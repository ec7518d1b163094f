"""Programs that fail in ways people meet: the row, the lesson, and what explain() marks in the picture.

Each is a function of the library and returns what should be given to explain() besides the error.
"""


def leaf(torch, *values):
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


def stale(torch, give):
    y = leaf(torch).exp()
    loss = (y * 2).sum()
    y.add_(1)
    give(loss)
    loss.backward()


def stale_parameter(torch, give):
    w = leaf(torch)
    loss = (w * w).sum()
    with torch.no_grad():
        w.sub_(0.1)
    give(loss)
    loss.backward()


def freed(torch, give):
    loss = (leaf(torch) ** 2).sum()
    loss.backward()
    give(loss)
    loss.backward()


def detached(torch, give):
    h = leaf(torch) * 2
    loss = (h * h).sum()
    h.detach_()
    give(loss)
    loss.backward()


def write_to_a_leaf(torch, give):
    x = leaf(torch)
    give(x)
    x.add_(1)


def write_to_a_view_of_a_leaf(torch, give):
    x = leaf(torch)
    v = x[0:1]
    give(v)
    v.add_(1)


def write_to_one_of_several_views(torch, give):
    y = leaf(torch) * 2
    a, b = y.unbind()
    give(a)
    a.mul_(2)


def backward_of_a_vector(torch, give):
    y = leaf(torch) * 2
    give(y)
    y.backward()


def backward_of_a_constant(torch, give):
    loss = (leaf(torch).detach() ** 2).sum()
    give(loss)
    loss.backward()


def unused_input(torch, give):
    x, z = leaf(torch), leaf(torch)
    y = (x * x).sum()
    give(y, z)
    torch.autograd.grad(y, z)


def hook_returns_a_number(torch, give):
    h = leaf(torch) * 2
    h.register_hook(lambda grad: 3)
    loss = h.sum()
    give(loss, h)
    loss.backward()


def function_returns_too_many(torch, give):
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x / 2

        @staticmethod
        def backward(ctx, grad):
            return grad / 2, None, grad

    loss = Half.apply(leaf(torch)).sum()
    give(loss)
    loss.backward()


def optimizer_of_a_computed_tensor(torch, give):
    w = leaf(torch) * 0.01
    give(w)
    torch.optim.SGD([w], lr=0.1)


def slot_hooks_too_late(torch, give):
    y = leaf(torch).exp()
    y.sum().backward()
    give(y)
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)


# program: (row, lesson, what is marked when the tensors are given)
EXPECTED = {
    stale: ("version", 7, "saved result = #1 of ExpBackward0 (node 1)"),
    stale_parameter: ("version", 7, "saved other = unnamed 1 of MulBackward0 (node 1)"),
    freed: ("freed", 6, "saved self of PowBackward0 (node 1)"),
    detached: ("saved detached", 9, "saved other = [2., 4.] of MulBackward0 (node 2)"),
    write_to_a_leaf: ("leaf", 7, "given[0]"),
    write_to_a_view_of_a_leaf: ("view of leaf", 8, "unnamed 1"),
    write_to_one_of_several_views: ("view of several", 8, "given[0]"),
    backward_of_a_vector: ("not a scalar", 3, "given[0]"),
    backward_of_a_constant: ("no history", 2, "given[0]"),
    unused_input: ("unused", 1, "given[1]"),
    hook_returns_a_number: ("hook type", 12, "given[1]"),
    function_returns_too_many: ("gradient number", 11, "HalfBackward (node 1)"),
    optimizer_of_a_computed_tensor: ("optimizer non-leaf", 5, "given[0]"),
    slot_hooks_too_late: ("slot freed", 14, "saved result of ExpBackward0 (node 1)"),
}
