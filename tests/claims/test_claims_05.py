"""The claims of lesson 05, on our engine and on real PyTorch."""

import importlib.util
import random
import warnings


def leaf(torch, values):
    """A fresh leaf that requires grad."""
    return torch.tensor(values, requires_grad=True)


def test_c05_1_added_in_place(torch):
    """A second `backward()` adds to `.grad` in place: the same tensor, one version on."""
    w = leaf(torch, [1.0, 2.0])
    (w * 3).sum().backward()
    g, before = w.grad, w.grad._version
    (w * 5).sum().backward()

    assert w.grad is g
    assert g.tolist() == [8.0, 8.0]
    assert g._version == before + 1
    (w * 1).sum().backward()
    assert g.tolist() == [9.0, 9.0]
    assert g._version == before + 2

    with warnings.catch_warnings():  # the exception, named under "left out": here the sum is a new tensor
        warnings.simplefilter("ignore")
        (w * 1).sum().backward(create_graph=True)
    assert w.grad is not g and w.grad.tolist() == [10.0, 10.0] and g.tolist() == [9.0, 9.0]


def test_c05_2_none_until_a_gradient_arrives(torch):
    """`.grad` is None until a gradient arrives; a gradient of zero that arrived is a tensor of zeros."""
    u, v = leaf(torch, [1.0, 1.0]), leaf(torch, [1.0, 1.0])
    assert u.grad is None
    (u * 0 + v.detach()).sum().backward()

    assert u.grad.tolist() == [0.0, 0.0]
    assert v.grad is None


def test_c05_3_two_paths_arrive_as_one_sum(torch):
    """A leaf that is reached along two paths receives their sum, once."""
    w = leaf(torch, [1.0, 2.0])
    arrived = []
    w.register_hook(lambda grad: arrived.append(grad.tolist()))
    (w * 3 + w * 5).sum().backward()

    assert arrived == [[8.0, 8.0]]
    assert w.grad.tolist() == [8.0, 8.0]


def test_c05_4_two_leaves_share_no_gradient_memory(torch):
    """Two leaves that receive equal gradients from one addition keep them in separate memory."""
    a, b = leaf(torch, [1.0, 1.0]), leaf(torch, [1.0, 1.0])
    (a + b).sum().backward()
    assert a.grad.data_ptr() != b.grad.data_ptr()
    a.grad.mul_(100)
    assert b.grad.tolist() == [1.0, 1.0]

    a.grad = b.grad = None
    given = torch.ones(2)
    (a + b).backward(given)
    a.grad.mul_(100)
    b.grad.mul_(10)
    assert (a.grad.tolist(), b.grad.tolist(), given.tolist()) == ([100.0] * 2, [10.0] * 2, [1.0] * 2)


def test_c05_5_results_keep_no_gradient(torch):
    """A tensor that is not a leaf keeps its gradient only if `retain_grad()` was called on it."""
    w = leaf(torch, [1.0, 2.0])
    h = w * 3
    k = h * 2
    h.retain_grad()
    k.sum().backward()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert k.grad is None
    assert h.retains_grad and not k.retains_grad
    assert h.grad.tolist() == [2.0, 2.0]
    assert w.grad.tolist() == [6.0, 6.0]


def test_c05_6_samples_keep_their_weight(torch):
    """Micro-batches add up to the batch's gradient when every sample keeps the weight it has there."""
    x = torch.tensor([2.0, 2.0, 2.0, 10.0])
    w = leaf(torch, 1.0)
    parts = [x[:3], x[3:]]
    (w * x).mean().backward()
    full, w.grad = w.grad.item(), None
    for part in parts:
        ((w * part).mean() / len(parts)).backward()
    averaged, w.grad = w.grad.item(), None
    for part in parts:
        ((w * part).sum() / len(x)).backward()

    assert (full, averaged, w.grad.item()) == (4.0, 6.0, 4.0)


def test_c05_7_without_clearing_it_is_a_sum(torch):
    """Without clearing, step k moves by the learning rate times the sum of the gradients of steps 1 to k."""
    w, total = leaf(torch, random.uniform(0.5, 1.5)), 0.0
    for _ in range(6):
        before = w.item()
        total += before
        (w * w / 2).backward()
        with torch.no_grad():
            w -= 0.5 * w.grad
        assert abs(w.grad.item() - total) < 1e-5
        assert abs(w.item() - (before - 0.5 * total)) < 1e-5


def test_c05_8_zero_writes_and_none_lets_go(torch):
    """`zero_()` overwrites the tensor that others may hold; `.grad = None` lets it go unchanged."""
    w = leaf(torch, 1.0)
    (w * 7).backward()
    logged = w.grad
    w.grad.zero_()
    assert logged is w.grad
    assert logged.item() == 0.0

    (w * 7).backward()
    kept = w.grad
    w.grad = None
    (w * 3).backward()
    assert kept is not w.grad
    assert (kept.item(), w.grad.item()) == (7.0, 3.0)

    torch.optim.SGD([w], lr=1.0).zero_grad()
    assert w.grad is None
    layer = torch.nn.Linear(1, 1)
    layer(torch.ones(1, 1)).sum().backward()
    layer.zero_grad()
    assert layer.weight.grad is None


def test_c05_9_momentum_zero_moves_none_rests(torch):
    """With momentum, a parameter that has velocity still moves on a zero gradient; None leaves it where it is."""

    def by_hand(p, v):
        if p.grad is None:
            return
        with torch.no_grad():
            v.mul_(0.9).add_(p.grad)
            p.sub_(v)

    w, v, path = leaf(torch, 1.0), torch.tensor(0.0), []
    for gradient in (torch.tensor(1.0), torch.tensor(0.0), None):
        w.grad = gradient
        by_hand(w, v)
        path.append(round(w.item(), 6))
    assert path == [0.0, -0.9, -0.9]

    w.grad = torch.tensor(0.0)  # why it says "that has velocity"
    by_hand(w, torch.tensor(0.0))
    assert round(w.item(), 6) == -0.9

    if importlib.util.find_spec(torch.__name__ + ".optim"):  # the optimizer itself says the same
        w, again = leaf(torch, 1.0), []
        sgd = importlib.import_module(torch.__name__ + ".optim").SGD([w], lr=1.0, momentum=0.9)
        for gradient in (torch.tensor(1.0), torch.tensor(0.0), None):
            w.grad = gradient
            sgd.step()
            again.append(round(w.item(), 6))
        assert again == path


def test_c05_10_whose_memory_arrives(torch):
    """A gradient handed to backward can arrive at a leaf as the caller's own memory; a clone of it cannot."""
    x, given, same = leaf(torch, [1.0, 1.0]), torch.tensor([[1.0], [2.0]]), []
    hook = x.register_hook(lambda grad: same.append(grad.data_ptr() == given.data_ptr()))
    for gradient in (given, given.clone()):
        x.view(2, 1).backward(gradient)
    assert same == [True, False]
    hook.remove()

    x.grad, given = None, torch.tensor([[1.0], [2.0]])
    for _ in range(3):
        x.view(2, 1).backward(given.clone())
    assert (x.grad.tolist(), given.tolist()) == ([3.0, 6.0], [[1.0], [2.0]])

    x.grad = None
    for _ in range(3):
        x.view(2, 1).backward(given)
    if owned(torch):  # our engine copies what is a view of memory that somebody sees
        assert (x.grad.tolist(), given.tolist()) == ([3.0, 6.0], [[1.0], [2.0]])
    else:  # PyTorch takes it over: x.grad and the caller's tensor are one memory, which is added to itself
        assert (x.grad.tolist(), given.tolist()) == ([4.0, 8.0], [[4.0], [8.0]])
        assert x.grad.data_ptr() == given.data_ptr()

    a, b = leaf(torch, [1.0, 1.0]), leaf(torch, [1.0, 1.0])
    (a.view(2, 1) + b.view(2, 1)).backward(torch.ones(2, 1))
    assert (a.grad.data_ptr() == b.grad.data_ptr()) is not owned(torch)


def owned(torch):
    """Does this engine copy a gradient that is a view of somebody's memory?"""
    return torch.__name__ == "course_lib"
