"""Small programs whose pictures the tests look at; each returns the Picture, given the library under test."""

from course_lib.teach.pictures.draw import draw


def first_multiplication(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    return draw(y)


def stale_through_a_view(torch):
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = torch.tensor([0.5, 0.5, 0.5])
    y = w * x
    z = y.exp()
    v = z[0:2]
    v.mul_(2)
    loss = v.sum()
    return draw(loss)


def diamond(torch):
    x = torch.tensor(2.0, requires_grad=True)
    a = x * x
    b = a + x
    c = b * a
    d = c + b
    e = d * a
    return draw(e)


def stale_result(torch):
    x = torch.tensor([1.0, 4.0], requires_grad=True)
    y = x.sqrt()
    z = y.sum()
    y.add_(1)
    return draw(z)


def freed(torch):
    x = torch.tensor([1.0, 4.0], requires_grad=True)
    y = x * x
    z = y.sum()
    z.backward()
    return draw(z)


def ways_out(torch):
    x = torch.tensor([1.0, 4.0], requires_grad=True)
    y = x * 3
    d = y.detach()
    p = y.data
    c = y.clone()
    v = y[0]
    loss = (c * c).sum()
    return draw(loss, v, names={"detached": d, "data": p})


def data_after_a_write(torch):
    x = torch.tensor([1.0, 4.0], requires_grad=True)
    y = x * x
    p = x.data
    p.add_(1)
    return draw(y)


def write_through_detach(torch):
    x = torch.tensor([1.0, 4.0], requires_grad=True)
    y = x * x
    d = x.detach()
    d.add_(1)
    return draw(y)


def hooks(torch):
    x = torch.tensor([1.0, 4.0], requires_grad=True)
    y = x * 3
    y.register_hook(lambda grad: None)
    y.retain_grad()
    x.register_hook(lambda grad: None)
    z = y.sum()
    z.backward()
    return draw(z)


def leaves_only(torch):
    x = torch.tensor([1.0, 4.0], requires_grad=True)
    c = torch.ones(3)
    return draw(x, c)


def several_outputs(torch):
    x = torch.tensor([1.0, 4.0], requires_grad=True)
    y = x * 2
    a, b = y.unbind()
    s = a * b
    return draw(s)


def views_that_may_not_be_used(torch):
    x = torch.tensor([1.0, 4.0], requires_grad=True)
    y = x * 2
    a, b = y.unbind()
    y.add_(1)
    s = y.sum()
    return draw(s)


def packed(torch):
    x = torch.tensor([1.0, 4.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), unpack_is_not_called):
        y = x * x
    return draw(y)


def unpack_is_not_called(tensor):
    """Looking at a graph must not run a learner's hooks."""
    raise AssertionError("draw() ran an unpack hook")


def detached_in_place(torch):
    x = torch.tensor([1.0, 4.0], requires_grad=True)
    h = x * 2
    y = h * h
    h.detach_()
    return draw(y)


def custom_function(torch):
    class MyExp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[1]

    x = torch.tensor([0.0, 1.0], requires_grad=True)
    y = MyExp.apply(x)
    z = y.sum()
    return draw(z)


def training_step(torch):
    X = torch.ones((4, 3))
    target = torch.zeros((4, 2))
    w1 = torch.ones((3, 5), requires_grad=True)
    b1 = torch.zeros(5, requires_grad=True)
    w2 = torch.ones((5, 2), requires_grad=True)
    b2 = torch.zeros(2, requires_grad=True)
    h = (X @ w1 + b1).relu()
    out = h @ w2 + b2
    loss = ((out - target) ** 2).mean()
    loss.backward(retain_graph=True)
    with torch.no_grad():
        for parameter in (w1, b1, w2, b2):
            parameter.sub_(parameter.grad * 0.01)
    del parameter
    return draw(loss)


def repeated(torch):
    x = torch.tensor(1.0, requires_grad=True)
    h = x
    for _ in range(60):
        h = (h * 2).sin()
    return draw(h)


def many_leaves(torch):
    leaves = [torch.tensor(1.0, requires_grad=True) for _ in range(100)]
    total = torch.stack(leaves).sum()
    return draw(total)


PROGRAMS = [
    first_multiplication, stale_through_a_view, diamond, stale_result, freed, ways_out, data_after_a_write,
    write_through_detach, hooks, leaves_only, several_outputs, views_that_may_not_be_used, packed,
    detached_in_place, custom_function, training_step, repeated, many_leaves,
]  # fmt: skip
