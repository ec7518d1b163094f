"""Ways out of the graph: detach, detach_, data, no_grad, clone, numpy, item."""

import pytest


def leaf(torch, *values):
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def test_detach_is_another_tensor_on_the_same_memory(torch):
    """detach gives a new leaf without grad that shares memory and counter, also of a plain tensor."""
    for t in (leaf(torch), leaf(torch) * 2, torch.ones(3)):
        d = t.detach()
        assert d is not t
        assert d.is_leaf and not d.requires_grad and d.grad_fn is None and d.grad is None
        assert d.data_ptr() == t.data_ptr()
        d.add_(1)
        assert t.tolist() == d.tolist() and t._version == 1


def test_detach_stops_gradients(torch):
    """A detached factor is a constant."""
    x = leaf(torch)
    (x * x.detach()).sum().backward()

    assert x.grad.tolist() == [1.0, 2.0, 3.0]


def test_detached_and_required_again_is_a_new_leaf(torch):
    """requires_grad_ on a detached tensor starts a graph of its own, on the same memory."""
    x = leaf(torch)
    h = (x * 2).detach().requires_grad_()
    (h * h).sum().backward()

    assert x.grad is None
    assert h.grad.tolist() == [4.0, 8.0, 12.0]


def test_detach_in_place_leaves_earlier_results_connected(torch):
    """detach_ takes the tensor out of the graph; what was computed from it before still leads back."""
    x = leaf(torch)
    h = x * 2
    y = h + 1
    assert h.detach_() is h
    assert h.is_leaf and not h.requires_grad

    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]
    assert not (h * 3).requires_grad


def test_detach_in_place_switches_a_leaf_off(torch):
    """On a leaf detach_ turns requires_grad off and keeps `.grad`."""
    x = leaf(torch)
    x.sum().backward()
    x.detach_()

    assert not x.requires_grad
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_clone_stays_in_the_graph(torch):
    """clone copies memory and passes gradients on; detach().clone() is out in both ways."""
    x = leaf(torch)
    copy, cut = x.clone(), x.detach().clone()
    cut.zero_()
    copy.sum().backward()

    assert x.tolist() == [1.0, 2.0, 3.0]
    assert x.grad.tolist() == [1.0, 1.0, 1.0]
    assert not cut.requires_grad


def test_a_write_through_detach_is_noticed(torch):
    """detach shares the counter, so backward sees the write; through data it does not."""
    x = leaf(torch)
    y = (x * x).sum()
    x.data.mul_(10)
    y.backward()
    assert x.grad.tolist() == [20.0, 40.0, 60.0]  # silently about the new values

    y = (x * x).sum()
    x.detach().mul_(10)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        y.backward()


def test_assigning_data_swaps_the_memory(torch):
    """`x.data = t` gives x other memory, even of another shape, and leaves version and flags alone."""
    x, t = leaf(torch), torch.zeros(2)
    x.data = t

    assert x.shape == (2,) and x.requires_grad and x._version == 0
    t.add_(1)
    assert x.tolist() == [1.0, 1.0]


def test_numbers_leave_the_graph(torch):
    """item, tolist, float and comparisons give plain values."""
    x = leaf(torch, 2.5)

    assert x.item() == float(x.detach()) == 2.5
    assert x.tolist() == [2.5]
    assert bool(x > 2) is True
    assert int(x.detach()) == 2


def test_numpy_needs_detach(torch):
    """numpy() is refused for what requires grad; detach first, and the array shares the memory."""
    x = leaf(torch)
    for t in (x, x * 2):
        with pytest.raises(RuntimeError, match="Use tensor.detach"):
            t.numpy()
    x.detach().numpy()[0] = 7.0

    assert x.tolist() == [7.0, 2.0, 3.0]
    with torch.no_grad():
        assert (x * 2).numpy().tolist() == [14.0, 4.0, 6.0]


def test_long_chains_are_cut(torch):
    """Detaching the state in a loop keeps the graph as short as one step."""
    w, state = leaf(torch, 2.0), torch.ones(1)
    for _ in range(5):
        state = (state * w).detach()
    last = state * w
    last.sum().backward()

    assert w.grad.tolist() == [32.0]


def test_a_stop_gradient_by_where_is_none(torch):
    """Multiplying by zero keeps the path; detaching removes it."""
    x, y = leaf(torch), leaf(torch)
    (x * 0 + y.detach() * y.detach()).sum().backward()

    assert x.grad.tolist() == [0.0, 0.0, 0.0]
    assert y.grad is None
