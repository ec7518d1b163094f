"""Leaves, requires_grad and .grad: who collects gradients, where, and in whose memory."""

import copy
import gc
import warnings

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


def test_making_tensors_copies_flags(torch):
    """New tensors do not inherit requires_grad."""
    x = leaf(torch)

    assert not torch.zeros_like(x).requires_grad
    assert not torch.ones(3).requires_grad
    assert torch.zeros(3, requires_grad=True).requires_grad
    assert torch.randn(3, requires_grad=True).is_leaf


def test_requires_grad_may_be_switched_on_leaves(torch):
    """A leaf may be switched on and off; a graph made in between keeps leading to it."""
    c = torch.ones(3)
    c.requires_grad = True
    y = (c * 2).sum()
    c.requires_grad_(False)
    assert not (c * 2).requires_grad

    c.requires_grad_()
    y.backward()
    assert c.grad.tolist() == [2.0, 2.0, 2.0]


def test_requires_grad_on_a_computed_tensor_can_only_stay(torch):
    """requires_grad_() on a computed tensor changes nothing; switching off is an error that says to detach."""
    h = leaf(torch) * 2
    assert h.requires_grad_() is h
    with pytest.raises(RuntimeError, match="use var_no_grad = var.detach()"):
        h.requires_grad_(False)

    assert h.requires_grad and not h.is_leaf


# --- where gradients are stored ----------------------------------------------------------------------------


def test_grad_is_none_until_something_arrives(torch):
    """No gradient and a gradient of zeros are different things."""
    x, unused = leaf(torch), leaf(torch)
    assert x.grad is None
    (x * 0 + unused.detach()).sum().backward()

    assert x.grad.tolist() == [0.0, 0.0, 0.0]
    assert unused.grad is None


def test_gradients_accumulate_in_the_same_object(torch):
    """A second pass adds in place: whoever holds `.grad` sees the sum, and its version goes up."""
    x = leaf(torch)
    (x * 2).sum().backward()
    held, memory, version = x.grad, x.grad.numpy(), x.grad._version
    (x * 3).sum().backward()

    assert x.grad is held
    assert held.tolist() == memory.tolist() == [5.0, 5.0, 5.0]
    assert held._version == version + 1


def test_with_create_graph_the_sum_is_a_new_tensor(torch):
    """With create_graph the gradient has history, so adding makes a new tensor."""
    x = leaf(torch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (x**2).sum().backward(create_graph=True)
        first = x.grad
        (x**2).sum().backward(create_graph=True)

    assert first.requires_grad and x.grad.requires_grad
    assert x.grad is not first
    assert first.tolist() == [2.0, 4.0, 6.0]
    assert x.grad.tolist() == [4.0, 8.0, 12.0]
    x.grad = None  # breaks the cycle


def test_one_leaf_used_twice_gets_both_contributions(torch):
    """Contributions of one pass are added before they reach `.grad`."""
    x = leaf(torch)
    (x * x + 3 * x).sum().backward()

    assert x.grad.tolist() == [5.0, 7.0, 9.0]


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


def test_computed_tensors_get_no_grad_and_say_so(torch):
    """Reading `.grad` of a computed tensor warns and gives None; after retain_grad it is filled."""
    x = leaf(torch)
    h = x * 2
    h.sum().backward()
    with pytest.warns(UserWarning, match="not a leaf Tensor is being accessed"):
        assert h.grad is None

    h = x * 2
    h.retain_grad()
    assert h.retains_grad
    (h * 3).sum().backward()
    assert h.grad.tolist() == [3.0, 3.0, 3.0]


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


def test_retain_grad_on_a_leaf_does_nothing(torch):
    """A leaf keeps its gradient anyway."""
    x = leaf(torch)
    x.retain_grad()

    assert x.retains_grad is False


def test_assigning_grad_keeps_the_object(torch):
    """`x.grad = g` keeps g itself; later passes add to it; deleting sets None."""
    x, g = leaf(torch), torch.ones(3)
    x.grad = g
    (x * 2).sum().backward()

    assert x.grad is g
    assert g.tolist() == [3.0, 3.0, 3.0]
    del x.grad
    assert x.grad is None
    x.grad = None
    assert x.grad is None


def test_zeroing_grads_in_two_ways(torch):
    """zero_ keeps the object, None lets it go."""
    x = leaf(torch)
    x.sum().backward()
    held = x.grad
    x.grad.zero_()
    assert x.grad is held and held.tolist() == [0.0, 0.0, 0.0]

    x.grad = None
    x.sum().backward()
    assert x.grad is not held


def test_each_leaf_s_gradient_has_its_own_dtype(torch):
    """A float32 leaf in a float64 computation gets a float32 gradient."""
    a = leaf(torch)
    b = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    (a * b).sum().backward()

    assert a.grad.dtype == torch.float32
    assert b.grad.dtype == torch.float64


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


def test_views_of_one_leaf_lead_to_one_accumulator(torch):
    """Gradients through different views of a leaf are put together in its shape."""
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    (x[0] * 10 + x.t()[1]).sum().backward()

    assert x.grad.tolist() == [[10.0, 11.0], [0.0, 1.0]]


# --- leaves in Python --------------------------------------------------------------------------------------


def test_rebinding_a_name_makes_a_new_tensor(torch):
    """`w = w - 0.1 * w.grad` makes a computed tensor; under no_grad a leaf that no longer requires grad."""
    w = leaf(torch)
    (w * w).sum().backward()
    stepped = w - 0.1 * w.grad
    assert not stepped.is_leaf

    with torch.no_grad():
        stepped = w - 0.1 * w.grad
    assert stepped.is_leaf and not stepped.requires_grad


def test_in_place_step_keeps_the_leaf(torch):
    """`w -= ...` under no_grad changes the leaf itself, which goes on requiring grad."""
    w = leaf(torch)
    (w * w).sum().backward()
    before = w
    with torch.no_grad():
        w -= 0.5 * w.grad

    assert w is before and w.requires_grad and w.is_leaf
    assert w.tolist() == [0.0, 0.0, 0.0]


def test_deepcopy_of_a_leaf_copies_its_gradient(torch):
    """A deep copy of a leaf is another leaf with another `.grad` of the same values."""
    x = leaf(torch)
    (x * 2).sum().backward()
    twin = copy.deepcopy(x)
    twin.grad.zero_()

    assert twin is not x and twin.is_leaf and twin.requires_grad
    assert twin.tolist() == x.tolist()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_a_refused_write_to_a_leaf_changes_nothing(torch):
    """The leaf keeps its values, its version and its place."""
    x = leaf(torch)
    for write in (lambda: x.mul_(2), lambda: x.__setitem__(0, 5.0), lambda: x[1:].zero_(), lambda: x.__iadd__(1)):
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            write()

    assert x.tolist() == [1.0, 2.0, 3.0]
    assert x._version == 0 and x.is_leaf


def test_a_leaf_that_became_an_intermediate_takes_no_gradient(torch):
    """A graph from before still ends in it: RuntimeError, for what it was is gone."""
    x, w = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    y = x * 3
    x.requires_grad_(False)
    x.mul_(w)

    with pytest.raises(RuntimeError, match="leaf variable has been moved into the graph interior"):
        y.backward()
    x.sum().backward()

    assert w.grad.tolist() == [1.0]


def test_the_accumulator_has_the_highest_number(torch):
    """It comes before all other nodes."""
    x = torch.ones(1, requires_grad=True)

    assert (x * 2).grad_fn.next_functions[0][0]._sequence_nr() == 2**64 - 1
