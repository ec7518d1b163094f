"""Leaves, requires_grad and .grad: who collects gradients, where, and in whose memory."""

import gc

import pytest


def leaf(torch, *values):
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


# --- who is a leaf -----------------------------------------------------------------------------------------


def test_a_leaf_has_no_grad_fn(torch):
    """Whatever has no history is a leaf, whether it requires grad or not."""
    x, c = leaf(torch), torch.ones(3)
    with torch.no_grad():
        frozen = x * 2

    assert [t.is_leaf for t in (x, c, c * 2, x.detach(), x.data, frozen, x > 1, x.long())] == [True] * 8
    assert [t.is_leaf for t in (x * 1, x[0], x.clone(), x.double(), torch.stack([x, c]))] == [False] * 5


def test_requires_grad_spreads(torch):
    """A result requires grad when one of its inputs does; integers and comparisons never do."""
    x, c = leaf(torch), torch.ones(3)

    assert [t.requires_grad for t in (x + c, c + c, x > c, x.argmax(), x.long(), x.sign())] == [
        True, False, False, False, False, True,
    ]  # fmt: skip


# --- where gradients are stored ----------------------------------------------------------------------------


def test_gradients_accumulate_in_the_same_object(torch):
    """A second pass adds in place: whoever holds `.grad` sees the sum, and its version goes up."""
    x = leaf(torch)
    (x * 2).sum().backward()
    held, memory, version = x.grad, x.grad.numpy(), x.grad._version
    (x * 3).sum().backward()

    assert x.grad is held
    assert held.tolist() == memory.tolist() == [5.0, 5.0, 5.0]
    assert held._version == version + 1


def test_two_leaves_never_share_a_gradient(torch):
    """x + y sends the same gradient to both; their `.grad` are separate memory."""
    x, y = leaf(torch), leaf(torch)
    (x + y).sum().backward()
    x.grad.mul_(100)

    assert y.grad.tolist() == [1.0, 1.0, 1.0]


def test_grad_does_not_alias_the_gradient_that_was_given(torch):
    """backward(g) does not hand the caller's own g to the leaf."""
    x, g = leaf(torch), torch.ones(3)
    (x * 1).backward(g)
    x.grad.add_(5)

    assert g.tolist() == [1.0, 1.0, 1.0]


def test_retain_grad_accumulates_and_follows_in_place_writes(torch):
    """retain_grad adds up over passes, and is about the tensor's value at the end."""
    x = leaf(torch)
    h = x * 2
    h.retain_grad()
    h.sum().backward(retain_graph=True)
    h.sum().backward(retain_graph=True)
    assert h.grad.tolist() == [2.0, 2.0, 2.0]

    h.grad = None
    h.mul_(10)
    (h * 5).sum().backward()
    assert h.grad.tolist() == [5.0, 5.0, 5.0]


def test_the_layout_of_a_gradient_follows_its_leaf(torch):
    """A leaf whose memory is column by column gets a gradient that is, too."""
    x = torch.ones(2, 3).t().contiguous().t().requires_grad_()
    assert x.stride() == (1, 2)
    (x * torch.ones(2, 3)).sum().backward()

    assert x.grad.stride() == (1, 2)


# --- the accumulator ---------------------------------------------------------------------------------------


def test_one_accumulator_for_a_leaf_while_a_graph_holds_it(torch):
    """Two graphs over one leaf end in the same node, which knows the leaf."""
    x = leaf(torch)
    a, b = x * 2, x * 3
    accumulator = a.grad_fn.next_functions[0][0]

    assert accumulator.name() == "torch::autograd::AccumulateGrad"
    assert accumulator is b.grad_fn.next_functions[0][0]
    assert accumulator.variable is x
    assert accumulator.next_functions == ()


def test_the_accumulator_is_held_weakly(torch):
    """A hook on the accumulator vanishes with the last graph that led to it."""
    gc.collect()
    seen = []
    x = leaf(torch)
    (x * 2).grad_fn.next_functions[0][0].register_hook(lambda *grads: seen.append(1))
    (x * 2).sum().backward()

    assert seen == []


# --- leaves in Python --------------------------------------------------------------------------------------


def test_a_refused_write_to_a_leaf_changes_nothing(torch):
    """The leaf keeps its values, its version and its place."""
    x = leaf(torch)
    for write in (lambda: x.mul_(2), lambda: x.__setitem__(0, 5.0), lambda: x[1:].zero_(), lambda: x.__iadd__(1)):
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            write()

    assert x.tolist() == [1.0, 2.0, 3.0]
    assert x._version == 0 and x.is_leaf


