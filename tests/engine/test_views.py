"""Views, writing in place, and how history follows a write through any of the views."""

import pytest

from tests.engine.facts import leaf


def test_shape_changes_of_a_second_output(torch):
    """t_ on an output that is not its node's first keeps leading to the right output."""

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, grad_a, grad_b):
            return grad_a * 2 + grad_b * 3

    x = leaf(torch, 1.0, 2.0, 3.0, 4.0)
    a, b = Two.apply(x)
    b.unsqueeze_(0)
    assert b.output_nr == 0 and b.grad_fn.next_functions[0] == (a.grad_fn, 1)

    b.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 3.0, 3.0]


def test_double_backward_through_writes(torch):
    """Second derivatives go through CopySlices and regenerated views."""
    x = leaf(torch, 1.0, 2.0, 3.0, 4.0)
    h = x * 1
    h[1:3].mul_(x[0])
    h[0] = x[1] ** 2
    (g,) = torch.autograd.grad((h * h).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(g.sum(), x)
    # h = (b^2, ab, ac, d): sum of squares is b^4 + a^2 b^2 + a^2 c^2 + d^2
    a, b, c, d = 1.0, 2.0, 3.0, 4.0

    assert g.tolist() == [2 * a * (b * b + c * c), 4 * b**3 + 2 * a * a * b, 2 * a * a * c, 2 * d]
    hessian_row_sums = [
        2 * (b * b + c * c) + 4 * a * b + 4 * a * c,
        4 * a * b + 12 * b * b + 2 * a * a,
        4 * a * c + 2 * a * a,
        2.0,
    ]
    assert second.tolist() == hessian_row_sums


def test_a_stale_view_s_hooks_are_gone(torch):
    """A hook registered on a view before the write belongs to the dropped node and never runs."""
    seen = []
    h = leaf(torch, 1.0, 2.0, 3.0, 4.0) * 1
    view, other = h[:2], h[:2]
    view.register_hook(lambda g: seen.append("view before"))
    h.mul_(2)
    assert other.grad_fn is not None
    other.register_hook(lambda g: seen.append("view after"))
    (view + other).sum().backward()

    assert seen == ["view after"]


def test_an_element_may_be_assigned_what_already_stands_there(torch):
    """`x[0] = x[:1]` writes each element onto itself: leading dimensions of length 1 make no other memory of it."""
    x = torch.tensor([[[0.5, 1.0]], [[2.0, 3.0]]])
    x[0] = x[:1]

    assert x.tolist() == [[[0.5, 1.0]], [[2.0, 3.0]]]
    assert x[0, 0].expand(1, 2).stride() == (2, 1)


def test_one_element_and_its_view_of_another_form_overlap(torch):
    """A tensor of one element may not be written with a view of itself that has more or fewer dimensions."""
    for value, view in (([2.0], lambda h: h[0]), ([2.0], lambda h: h.squeeze()), (2.0, lambda h: h)):
        h = torch.tensor(value, requires_grad=True) * 1
        target = h if h.dim() else h.unsqueeze(0)
        for write in (target.add_, target.mul_, target.copy_):
            with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
                write(view(h))

        assert h._version == 0
    h = torch.tensor([2.0])
    h.add_(h[:])

    assert h.tolist() == [4.0]
