"""The claims of lesson 02, leaves and requires_grad, on our engine and on real PyTorch."""

import random
import warnings

import pytest

from lessons.claims_kit import raises


def leaf(torch, *values, **options):
    return torch.tensor(values or (1.0, 2.0), requires_grad=True, **options)


def matrix(torch, height, width, requires_grad=False):
    rows = [[random.uniform(0.5, 2.0) for _ in range(width)] for _ in range(height)]
    return torch.tensor(rows, requires_grad=requires_grad, dtype=torch.float64)


def test_c02_1_one_operand_is_enough(torch):
    """A result requires grad as soon as one operand does; among the exceptions are comparisons, `argmax` and casts to
    integers."""
    a, b = leaf(torch), torch.tensor([3.0, 4.0])
    for one, two in [(a, a), (a, b), (b, a), (b, b)]:
        expected = one is a or two is a
        for operation in (torch.add, torch.mul, torch.div, torch.maximum, lambda p, q: torch.stack([p, q])):
            assert operation(one, two).requires_grad is expected
    for result in (a > b, a == a, a.argmax(), a.long(), a.long().float(), (a > b).float().mean()):
        assert not result.requires_grad
        assert result.grad_fn is None


def test_c02_2_leaves_are_what_was_not_recorded(torch):
    """A leaf is a tensor that no recorded operation computed: what you made yourself, and every result that requires
    no grad."""
    a, b = leaf(torch), torch.tensor([3.0, 4.0])
    for tensor in (a, b, b + 1, b * b, (b * 0.1).requires_grad_(), a > b, a.argmax()):
        assert tensor.is_leaf and tensor.grad_fn is None
    for tensor in (a + 1, a * b, a.double(), a.sum()):
        assert not tensor.is_leaf and tensor.grad_fn is not None


def test_c02_3_nothing_is_computed_for_the_frozen(torch):
    """For a frozen operand no gradient is computed: its arrow leads to nothing, its place in the node's answer is None,
    and the node of a product does not keep what only that gradient needs."""
    wanting, frozen = matrix(torch, 2, 2, True), matrix(torch, 2, 2)
    slope = torch.ones(2, 2, dtype=torch.float64)
    for operation, kept in [(torch.mm, ("_saved_self", "_saved_mat2")), (torch.mul, ("_saved_self", "_saved_other"))]:
        for one, other, first in ((wanting, frozen, True), (frozen, wanting, False)):
            node = operation(one, other).grad_fn
            assert [after is not None for after, _ in node.next_functions] == [first, not first]
            assert [getattr(node, name) is not None for name in kept] == [not first, first]
            assert [gradient is not None for gradient in node(slope)] == [first, not first]


def test_c02_4_the_way_through_a_frozen_weight(torch):
    """A frozen weight does not stop gradients on their way to weights further back."""
    x, W1 = matrix(torch, 1, 2), matrix(torch, 2, 2, True)
    W2, W3 = matrix(torch, 2, 2), matrix(torch, 2, 1, True)
    (x @ W1 @ W2 @ W3).sum().backward()
    frozen = W1.grad, W3.grad
    W1.grad = W3.grad = None
    W2.requires_grad_()
    (x @ W1 @ W2 @ W3).sum().backward()

    assert W2.grad is not None
    for before, now in zip(frozen, (W1.grad, W3.grad), strict=True):
        assert torch.allclose(before, now)


def test_c02_5_backward_ends_where_nothing_requires_grad(torch):
    """If nothing before an operation requires grad, backward ends there: there is no node further back."""
    x, W1, W2 = matrix(torch, 1, 2), matrix(torch, 2, 2), matrix(torch, 2, 2)
    W3 = matrix(torch, 2, 1, True)
    h = x @ W1 @ W2
    y = h @ W3

    assert h.grad_fn is None
    assert y.grad_fn.next_functions[0] == (None, 0)
    y.sum().backward()
    assert torch.allclose(W3.grad, h.t())


def test_c02_6_the_flag_counts_when_the_operation_runs(torch):
    """The flag is looked at when an operation runs, and when a gradient is to be stored: switched on later it adds no
    arrow; switched off later the arrow stays, and the leaf stores nothing."""
    late, early, both = torch.tensor(2.0), leaf(torch, 3.0), leaf(torch, 5.0)
    y = (late * early * both).sum()
    late.requires_grad_()
    early.requires_grad_(False)
    product = y.grad_fn.next_functions[0][0].next_functions[0][0]

    assert product.next_functions[0] == (None, 0)
    assert product.next_functions[1][0].variable is early
    y.backward()
    assert late.grad is None and early.grad is None
    assert both.grad.item() == 6.0


def test_c02_7_gradients_are_stored_in_leaves(torch):
    """Gradients are stored in leaves that require grad; the `.grad` of a result stays None unless you ask for it
    before, and reading that None warns."""
    a, b = leaf(torch), torch.tensor([3.0, 4.0])
    h = a * b
    h.sum().backward()

    assert a.grad.tolist() == [3.0, 4.0]
    with warnings.catch_warnings(action="error"):
        assert b.grad is None
    with pytest.warns(UserWarning, match="that is not a leaf Tensor is being accessed"):
        assert h.grad is None


def test_c02_8_scaled_and_cast_leaves_are_results(torch):
    """`.double()` and `* 0.01` of a float32 leaf that requires grad give a result, and the gradient arrives at the
    leaf behind it; `.float()` of it is that leaf itself."""
    for make in (lambda a: a.double(), lambda a: a * 0.01, lambda a: a.to(torch.float64)):
        behind = leaf(torch)
        w = make(behind)
        (w * w).sum().backward()
        assert not w.is_leaf
        assert behind.grad is not None and behind.grad.dtype == torch.float32
    a = leaf(torch)
    assert a.float() is a


def test_c02_9_retain_grad(torch):
    """`retain_grad()`, called before backward, keeps a result's gradient too; on a leaf that requires grad it does
    nothing."""
    a = leaf(torch)
    a.retain_grad()
    h, late = a * 10, a * 3
    h.retain_grad()
    (h * h + late).sum().backward()
    late.retain_grad()

    assert h.grad.tolist() == [20.0, 40.0]
    assert a.grad.tolist() == [203.0, 403.0]
    assert late.grad is None
    assert h.retains_grad and not a.retains_grad


def test_c02_10_no_flag_for_whole_numbers(torch):
    """Tensors of whole numbers or truth values cannot require grad."""
    complex_too = "floating point and complex dtype can require gradients"
    for values in ([1, 2], [True, False]):
        raises(complex_too, lambda: torch.tensor(values, requires_grad=True))
        plain = torch.tensor(values)
        raises("floating point dtype can require gradients", plain.requires_grad_)
        raises(complex_too, lambda: setattr(plain, "requires_grad", True))


def test_c02_11_the_flag_brings_no_history_back(torch):
    """`loss.requires_grad = True` brings no history back: backward stores the gradient 1 in the loss, and nothing in
    any weight."""
    w, x = torch.tensor(0.5, requires_grad=True), torch.tensor([1.0, -2.0, 3.0])
    loss = 1 - (w * x > 0.4).float().mean()
    raises("element 0 of tensors does not require grad", loss.backward)
    assert loss.is_leaf and not loss.requires_grad  # it was a leaf before
    loss.requires_grad = True
    loss.backward()

    assert loss.is_leaf and loss.grad_fn is None
    assert loss.grad.item() == 1.0
    assert w.grad is None


def test_c02_12_results_are_not_yours(torch):
    """Assigning to the flag of a result raises, and `requires_grad_()` on one changes nothing; an optimizer refuses a
    result, unless `retain_grad()` was called on it, and then moves the result and not the leaf."""
    h = leaf(torch) * 2
    for flag in (True, False):
        raises("you can only change requires_grad flags of leaf variables", lambda: setattr(h, "requires_grad", flag))
    assert h.requires_grad_() is h and not h.is_leaf and not h.retains_grad
    raises("can't optimize a non-leaf Tensor", lambda: torch.optim.SGD([h], lr=0.1), ValueError)
    behind = leaf(torch)
    for optimizer in (torch.optim.SGD, torch.optim.Adam):
        h = behind * 2
        h.retain_grad()
        step = optimizer([h], lr=0.1)
        h.sum().backward()
        step.step()
        assert h.tolist() != [2.0, 4.0]
        assert behind.tolist() == [1.0, 2.0]
