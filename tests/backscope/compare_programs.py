"""Small programs that draw, change something, and draw again; each returns the Comparison."""

from backscope.graph.compare import compare
from backscope.pictures.draw import draw


def write_into_a_view(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    h = x * 2
    v = h[0:2]
    before = draw(h, v)
    v.mul_(3)
    return compare(before, draw(h, v))


def backward(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    loss = (y * y).sum()
    before = draw(loss)
    loss.backward()
    return compare(before, draw(loss))


def detach_in_place(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x * 2
    y = h * h
    before = draw(y, h)
    h.detach_()
    return compare(before, draw(y, h))


def data_is_replaced(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    before = draw(y)
    x.data = torch.tensor([5.0, 6.0])
    return compare(before, draw(y))


def switches(torch):
    x = torch.tensor([1.0, 2.0])
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    h = w * 3
    before = draw(h, x)
    x.requires_grad_()
    h.retain_grad()
    h.register_hook(lambda grad: None)
    return compare(before, draw(h, x))


def name_deleted(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    loss = y.sum()
    before = draw(loss)
    del y
    return compare(before, draw(loss))


def nothing(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    return compare(draw(y), draw(y))


def two_passes(torch):
    """Two forward passes over one input: no node in common, and not a word about what is the same."""
    x = torch.tensor([[1.0, 2.0]])
    w1 = torch.tensor([[1.0, -1.0], [2.0, 0.5]], requires_grad=True)

    def forward(frozen):
        w2 = torch.tensor([[0.5, 1.0], [-1.0, 2.0]], requires_grad=not frozen)
        loss = ((x @ w1).sin() @ w2 if frozen else (x @ w1) @ w2).sum()
        return draw(loss)

    return compare(forward(False), forward(True))


def longer_loop(torch):
    h = torch.tensor(1.0, requires_grad=True)
    for _ in range(60):
        h = (h * 2).sin()
    before = draw(h)
    for _ in range(2):
        h = (h * 2).sin()
    return compare(before, draw(h))


PROGRAMS = [
    write_into_a_view, backward,
    detach_in_place, data_is_replaced, switches, name_deleted, nothing, two_passes, longer_loop,
]  # fmt: skip
