"""The claims of part 11b, on our engine and on real PyTorch."""

import pytest

from lessons.claims_kit import CHANGED, from_lesson, raises
from lessons.claims_kit import function as make


def leaf(torch, *values):
    return torch.tensor(values or (1.0, 2.0), dtype=torch.float64, requires_grad=True)


def test_c11b_1_a_fake_backward(torch):
    """A method called backward on an nn.Module is never called by autograd."""
    x, clips = leaf(torch), from_lesson(torch, "11b", "A").A()
    (clips(x) * 10).sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]


def test_c11b_2_tensors_in_lists(torch):
    """A tensor inside of a list that is given to apply is not tracked: it gets no gradient, and nothing raises."""
    Total = from_lesson(torch, "11b", "Total").Total
    a, b = (torch.tensor(value, requires_grad=True) for value in (1.0, 2.0))
    result = Total.apply(a, [b])
    result.backward()
    assert (a.grad.item(), b.grad) == (1.0, None)
    assert result.grad_fn.needs_input_grad == (True, False)
    assert len(result.grad_fn.next_functions) == 1
    assert not Total.apply(torch.tensor(1.0), [b]).requires_grad


def test_c11b_3_all_slots_are_checked(torch):
    """Each reading of saved_tensors checks all slots: also a tensor that backward does not use raises, if it was
    overwritten."""

    for keeps_it in (False, True):

        def forward(ctx, x, factor, keeps_it=keeps_it):
            ctx.save_for_backward(factor, *([x] if keeps_it else []))
            return x * factor

        x = torch.tensor([1.0, 2.0], requires_grad=True)
        h = x * 1
        half = make(torch, forward, lambda ctx, grad: (grad * ctx.saved_tensors[0], None))
        y = half.apply(h, torch.tensor(0.5))
        h.mul_(3)
        if keeps_it:
            raises(CHANGED, y.sum().backward)
        else:
            y.sum().backward()
            assert x.grad.tolist() == [0.5, 0.5]


def test_c11b_4_mark_non_differentiable(torch):
    """A floating-point output that is not marked non-differentiable requires grad if an input does; if backward has no
    gradient for it, a loss made of it trains nothing without an error."""
    x, own = leaf(torch), from_lesson(torch, "11b", "Twin", "Marked")
    _, rounded = own.Twin.apply(x)
    assert rounded.requires_grad
    rounded.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]

    doubled, rounded = own.Marked.apply(x)
    assert doubled.requires_grad and not rounded.requires_grad
    raises("does not require grad", rounded.sum().backward)


def test_c11b_5_set_materialize_grads(torch, capsys):
    """For an output that nobody used, backward gets zeros, or None after set_materialize_grads(False)."""
    own, x = from_lesson(torch, "11b", "Twin", "Frugal"), torch.tensor(2.0, requires_grad=True)
    for fn, used in ((own.Twin, 0), (own.Twin, 1), (own.Frugal, 0)):
        fn.apply(x)[used].backward()

    assert capsys.readouterr().out.splitlines() == [
        "backward gets tensor(1.) and tensor(0.)",
        "backward gets tensor(0.) and tensor(1.)",
        "backward gets tensor(1.) and None",
    ]


def test_c11b_6_a_borrowed_backward(torch):
    """forward and backward of one Function, called on the ctx of another, save into and read from the slots of that
    other one, and the gradient can be wrong without an error."""
    line = "ctx.save_for_backward(x)  # 2"
    for instead, slot, slope in ((line, 1.0, 30.0), ("pass", 10.0, 3000.0)):
        own = from_lesson(torch, "11b", "Cube", "Borrows", edit=lambda text: text.replace(line, instead))
        x = torch.tensor([1.0], requires_grad=True)
        y = own.Borrows.apply(x, 2)
        assert [t.item() for t in y.grad_fn.saved_tensors] == [slot]
        y.backward()
        assert x.grad.item() == slope
def test_c11b_7_mark_dirty(torch):
    """Without mark_dirty the gradient through the argument of an in-place forward can be silently wrong; with it,
    argument and result are the same tensor."""
    Triple = from_lesson(torch, "11b", "Triple").Triple
    for mark, slope in ((False, 1.0), (True, 3.0)):
        x = leaf(torch, 2.0)
        h = x * 1
        y = Triple.apply(h, mark)

        assert (y is h) == mark
        assert h.item() == 6.0
        assert h.grad_fn.name() == ("TripleBackward" if mark else "MulBackward0")
        assert h._version == (2 if mark else 1)
        assert torch.autograd.grad(h, x, retain_graph=True)[0].item() == slope
        assert torch.autograd.grad(y, x)[0].item() == 3.0


def test_c11b_8_gather(torch):
    """gather reads numbers by their places, and its backward adds each gradient to the place that was read: a number
    that was read twice gets the sum."""
    x = torch.tensor([[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]], requires_grad=True)
    index = torch.tensor([[2, 2, 0, 1], [1, 0, 0, 0]])
    picked = x.gather(1, index)
    assert picked.tolist() == [[30.0, 30.0, 10.0, 20.0], [50.0, 40.0, 40.0, 40.0]]

    upstream = torch.tensor([[1.0, 2.0, 4.0, 8.0], [16.0, 32.0, 64.0, 128.0]])
    picked.backward(upstream)
    assert x.grad.tolist() == [[4.0, 8.0, 3.0], [224.0, 16.0, 0.0]]


def test_c11b_9_cross_entropy_by_gather(torch):
    """Minus the mean of log_softmax, gathered at the targets, is the cross-entropy; indexing with `[:, targets]` makes
    a table of N times N numbers, whose mean is another loss, and nothing raises."""
    scores, targets = torch.randn(5, 4, dtype=torch.float64, requires_grad=True), torch.tensor([0, 3, 1, 1, 2])
    log_p, right = scores.log_softmax(1), torch.nn.functional.cross_entropy(scores, targets)
    picked = -log_p.gather(1, targets[:, None]).mean()
    assert picked.item() == pytest.approx(right.item())
    ours, theirs = (torch.autograd.grad(loss, scores, retain_graph=True)[0] for loss in (picked, right))
    assert (ours - theirs).abs().max().item() < 1e-12

    table = log_p[:, targets]
    assert tuple(table.shape) == (5, 5) and abs(-table.mean().item() - right.item()) > 1e-6
    (-table.mean()).backward()  # nothing raises


