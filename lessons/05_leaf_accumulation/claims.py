"""The claims of lesson 05, on our engine and on real PyTorch."""

import random
import warnings

from lessons.claims_kit import leaf


def test_c05_1_added_in_place(torch):
    """A second plain `backward()` adds to `.grad` in place: the sum stands in the same tensor."""
    w = leaf(torch, 1.0, 2.0)
    (w * 3).sum().backward()
    g, before = w.grad, w.grad._version
    (w * 5).sum().backward()

    assert w.grad is g
    assert (g.tolist(), g._version) == ([8.0, 8.0], before + 1)

    with warnings.catch_warnings(action="ignore"):  # why it says "plain": here it is a new tensor
        (w * 1).sum().backward(create_graph=True)
    assert w.grad is not g and w.grad.tolist() == [9.0, 9.0] and g.tolist() == [8.0, 8.0]


def test_c05_2_none_until_a_gradient_arrives(torch):
    """`.grad` is None until a gradient arrives; a gradient of zero that arrived is a tensor of zeros."""
    u, v = leaf(torch, 1.0, 1.0), leaf(torch, 1.0, 1.0)
    assert u.grad is None
    (u * 0 + v.detach()).sum().backward()

    assert u.grad.tolist() == [0.0, 0.0]
    assert v.grad is None


def test_c05_3_samples_keep_their_weight(torch):
    """Micro-batches add up to the batch's gradient when every sample keeps the weight it has there, and no layer mixes
    samples.
    """
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

    def mixed(w, part):  # why it says "no layer mixes samples"
        return ((w * part - part.mean()) ** 2).sum() / len(x)

    assert gradient([lambda w: mixed(w, x)]) == 24.0
    assert gradient([lambda w, part=part: mixed(w, part) for part in parts]) == 0.0


def test_c05_4_without_clearing_it_is_a_sum(torch):
    """Without clearing, step k of plain gradient descent moves by the learning rate times the sum of the gradients of
    steps 1 to k.
    """
    w, total = leaf(torch, random.uniform(0.5, 1.5)), 0.0
    for _ in range(6):
        before = w.item()
        total += before
        (w * w / 2).backward()
        with torch.no_grad():
            w -= 0.5 * w.grad
        assert abs(w.item() - (before - 0.5 * total)) < 1e-5


def test_c05_5_momentum_zero_moves_none_rests(torch):
    """With SGD's momentum, a parameter that has velocity still moves on a zero gradient; None leaves it where it is."""
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


def test_c05_6_two_paths_arrive_as_one_sum(torch):
    """A leaf that is reached along two paths of one pass receives their sum, once."""
    w, arrived = leaf(torch, 1.0, 2.0), []
    w.register_hook(lambda grad: arrived.append(grad.tolist()))
    (w * 3 + w * 5).sum().backward()

    assert arrived == [w.grad.tolist()] == [[8.0, 8.0]]
