"""The claims of lesson 05, on our engine and on real PyTorch."""

import random
import warnings

from lessons.claims_kit import from_lesson, leaf


def test_c05_1_added_in_place(torch):
    """A second `backward()` adds to `.grad` in place: the sum stands in the same tensor."""
    w = leaf(torch, 1.0, 2.0)
    (w * 3).sum().backward()
    g, before = w.grad, w.grad._version
    (w * 5).sum().backward()

    assert w.grad is g
    assert (g.tolist(), g._version) == ([8.0, 8.0], before + 1)

    with warnings.catch_warnings(action="ignore"):  # the exception, named under "left out": here it is a new tensor
        (w * 1).sum().backward(create_graph=True)
    assert w.grad is not g and w.grad.tolist() == [9.0, 9.0] and g.tolist() == [8.0, 8.0]


def test_c05_2_none_until_a_gradient_arrives(torch):
    """`.grad` is None until a gradient arrives; a gradient of zero that arrived is a tensor of zeros."""
    u, v = leaf(torch, 1.0, 1.0), leaf(torch, 1.0, 1.0)
    assert u.grad is None
    (u * 0 + v.detach()).sum().backward()

    assert u.grad.tolist() == [0.0, 0.0]
    assert v.grad is None


def test_c05_3_two_paths_arrive_as_one_sum(torch):
    """A leaf that is reached along two paths receives their sum, once."""
    w, arrived = leaf(torch, 1.0, 2.0), []
    w.register_hook(lambda grad: arrived.append(grad.tolist()))
    (w * 3 + w * 5).sum().backward()

    assert arrived == [w.grad.tolist()] == [[8.0, 8.0]]


def test_c05_4_two_leaves_share_no_gradient_memory(torch):
    """Two leaves that receive equal gradients from one addition keep them in separate memory."""
    a, b, given = leaf(torch, 1.0, 1.0), leaf(torch, 1.0, 1.0), torch.ones(2)
    (a + b).backward(given)
    assert a.grad.data_ptr() != b.grad.data_ptr()
    a.grad.mul_(100)
    b.grad.mul_(10)
    assert (a.grad.tolist(), b.grad.tolist(), given.tolist()) == ([100.0] * 2, [10.0] * 2, [1.0] * 2)

    a, b, given = leaf(torch, 1.0, 1.0), leaf(torch, 1.0, 1.0), torch.ones(2, 1)  # why it says "from one addition"
    (a.view(2, 1) + b.view(2, 1)).backward(given)
    memories = len({each.data_ptr() for each in (a.grad, b.grad, given)})
    assert memories == (3 if torch.__name__ == "course_lib" else 1)


def test_c05_5_results_keep_no_gradient(torch):
    """A tensor that is not a leaf keeps its gradient only if `retain_grad()` was called on it."""
    w = leaf(torch, 1.0, 2.0)
    h = w * 3
    k = h * 2
    h.retain_grad()
    k.sum().backward()

    with warnings.catch_warnings(action="ignore"):
        assert k.grad is None
    assert (h.grad.tolist(), w.grad.tolist()) == ([2.0, 2.0], [6.0, 6.0])


def test_c05_6_samples_keep_their_weight(torch):
    """Micro-batches add up to the batch's gradient when every sample keeps the weight it has there."""
    x = torch.tensor([2.0, 2.0, 2.0, 10.0])
    parts = [x[:3], x[3:]]

    def gradient(losses):
        w = leaf(torch, 1.0)
        for loss in losses:
            loss(w).backward()
        return w.grad.item()

    assert gradient([lambda w: (w * x).mean()]) == 4.0
    assert gradient([lambda w, part=part: (w * part).sum() / len(x) for part in parts]) == 4.0
    assert gradient([lambda w, part=part: (w * part).mean() / len(parts) for part in parts]) == 6.0


def test_c05_7_without_clearing_it_is_a_sum(torch):
    """Without clearing, step k moves by the learning rate times the sum of the gradients of steps 1 to k."""
    w, total = leaf(torch, random.uniform(0.5, 1.5)), 0.0
    for _ in range(6):
        before = w.item()
        total += before
        (w * w / 2).backward()
        with torch.no_grad():
            w -= 0.5 * w.grad
        assert abs(w.item() - (before - 0.5 * total)) < 1e-5


def test_c05_8_zero_writes_and_none_lets_go(torch):
    """`zero_()` overwrites the tensor that others may hold; `.grad = None` lets it go unchanged."""
    w = leaf(torch, 1.0)
    (w * 7).backward()
    logged = w.grad
    w.grad.zero_()
    assert logged is w.grad and logged.item() == 0.0

    (w * 7).backward()
    torch.optim.SGD([w], lr=1.0).zero_grad()
    assert w.grad is None
    (w * 3).backward()
    assert (logged.item(), w.grad.item()) == (7.0, 3.0)


def test_c05_9_momentum_zero_moves_none_rests(torch):
    """With momentum, a parameter that has velocity still moves on a zero gradient; None leaves it where it is."""
    w, fresh, path = leaf(torch, 1.0), leaf(torch, 1.0), []
    sgd = torch.optim.SGD([w], lr=1.0, momentum=0.9)
    for gradient in (1.0, 0.0, None):
        w.grad = None if gradient is None else torch.tensor([gradient])
        sgd.step()
        path.append(round(w.item(), 6))
    assert path == [0.0, -0.9, -0.9]

    fresh.grad = torch.zeros(1)  # why it says "that has velocity"
    torch.optim.SGD([fresh], lr=1.0, momentum=0.9).step()
    assert fresh.item() == 1.0


def test_c05_10_whose_memory_arrives(torch):
    """A gradient handed to backward can arrive at a leaf as the caller's own memory; a clone of it cannot."""
    x, given, same = leaf(torch, 1.0, 1.0), torch.tensor([[1.0], [2.0]]), []
    x.register_hook(lambda grad: same.append(grad.data_ptr() == given.data_ptr()))
    for gradient in (given, given.clone()):
        x.view(2, 1).backward(gradient)
    assert same == [True, False]

    x, given = leaf(torch, 1.0, 1.0), torch.tensor([[1.0], [2.0]])
    from_lesson(torch, "05", "passes").passes(torch, x, given, times=3)
    ours = torch.__name__ == "course_lib"  # it copies what is a view of memory that somebody sees
    assert x.grad.tolist() == ([3.0, 6.0] if ours else [4.0, 8.0])  # PyTorch: the two are one memory, added to itself
    assert (x.grad.data_ptr() == given.data_ptr()) is not ours
