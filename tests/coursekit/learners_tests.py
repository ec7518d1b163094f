"""Tests as a learner writes them at the end: each says what is true of PyTorch, and finds what was planted."""


def leaf(torch, value=2.0):
    return torch.tensor(value, requires_grad=True)


def refuses(work):
    try:
        work()
    except RuntimeError:
        return True
    return False


def test_two_leaves_do_not_share_a_gradient(torch):
    a, b = leaf(torch, [1.0, 2.0]), leaf(torch, [1.0, 2.0])
    (a + b).backward(torch.tensor([1.0, 1.0]))
    (a * 2.0).sum().backward()
    assert b.grad.tolist() == [1.0, 1.0]
    assert a.grad.tolist() == [3.0, 3.0]


def test_a_broadcast_operand_gets_its_own_shape(torch):
    b = leaf(torch, [1.0, 1.0])
    (torch.tensor([[1.0, 2.0], [3.0, 4.0]]) * b).sum().backward()
    assert b.grad.tolist() == [4.0, 6.0]


def test_a_mean_divides(torch):
    x = leaf(torch, [1.0, 3.0])
    x.mean().backward()
    assert x.grad.tolist() == [0.5, 0.5]


def test_gradients_that_meet_are_added(torch):
    x = leaf(torch)
    h = x * 1.0
    (h * h + h).backward()
    assert x.grad.item() == 5


def test_constants_have_no_gradient(torch):
    x, c = leaf(torch), torch.tensor(3.0)
    with torch.no_grad():
        x * x
    (x * c).backward()
    assert c.grad is None and x.grad.item() == 3


def test_a_graph_is_used_once(torch):
    x = leaf(torch)
    y = x * x
    y.backward()
    assert refuses(y.backward)


def test_stale_tensors_are_noticed(torch):
    x = leaf(torch, [1.0, 2.0])
    h = x * 1.0
    y = (h * h).sum()
    h.mul_(2.0)
    assert refuses(y.backward)
    assert refuses(lambda: x.mul_(2.0))


def test_a_view_tells_its_base(torch):
    t = torch.tensor([[1.0, 2.0]])
    view = t.T
    view.mul_(2.0)
    assert t._version == 1


def test_hooks_are_called(torch):
    x, seen = leaf(torch), []
    h = x * 3.0
    h.register_hook(lambda grad: seen.append(grad.item()))
    h.backward()
    assert seen == [1.0]


def test_a_step(torch):
    p = leaf(torch)
    optimizer = torch.optim.SGD([p], lr=0.5)
    (p * p).backward()
    optimizer.step()
    assert p.item() == 0


def test_second_derivatives(torch):
    x = leaf(torch, 0.0)
    (slope,) = torch.autograd.grad(x.exp(), x, create_graph=True)
    (second,) = torch.autograd.grad(slope, x)
    assert second.item() == 1
