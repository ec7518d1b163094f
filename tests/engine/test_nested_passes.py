"""Passes inside of passes, to a depth of thousands: the same lines on our engine and on real PyTorch."""

import threading

import pytest


def nested(torch, depth, log=None, at_the_end=None):
    """The gradient that comes out of `depth` passes, each in the backward of a custom Function of the one before."""

    class Inside(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, left):
            ctx.left = left
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            if log is not None:
                log.append((threading.get_ident(), torch.is_grad_enabled()))
            if not ctx.left:
                if at_the_end is not None:
                    at_the_end()
                return grad, None
            with torch.enable_grad():
                y = torch.ones(1, requires_grad=True)
                Inside.apply(y, ctx.left - 1).sum().backward()
            return grad + y.grad, None

    x = torch.ones(1, requires_grad=True)
    Inside.apply(x, depth).sum().backward()
    return x.grad.item()


@pytest.mark.parametrize("depth", [10, 60, 61, 200, 2000])
def test_passes_may_be_nested_2000_deep(torch, depth):
    """Each level adds its gradient, however deep it stands."""
    assert nested(torch, depth) == depth + 1


def test_after_61_levels_the_next_goes_on_in_another_thread(torch):
    """The first 61 passes run in the caller's thread, then 61 in another; recording is off in each, as always."""
    log = []
    nested(torch, 150, log)
    threads = [thread for thread, _ in log]

    assert threads[0] == threading.get_ident()
    assert [threads.index(t) for t in dict.fromkeys(threads)] == [0, 61, 122]
    assert {recording for _, recording in log} == {False}


def test_an_error_comes_out_of_the_innermost_pass(torch):
    """It reaches the caller as it was raised, and grad mode is as before."""

    def fail():
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        nested(torch, 200, at_the_end=fail)
    assert torch.is_grad_enabled()


def test_what_is_switched_on_reaches_the_other_thread(torch):
    """Saved-tensor hooks around the outer backward pack what a pass in another thread saves."""
    packed = []

    def record():
        x = torch.ones(2, requires_grad=True)
        with torch.enable_grad():
            (x * x).sum().backward()

    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(tuple(t.shape)) or t, lambda t: t):
        nested(torch, 100, at_the_end=record)

    assert packed.count((2,)) == 2


def test_many_hooks_inside_of_hooks(torch):
    """A hook that asks for a gradient, whose hook asks for a gradient: 300 deep."""

    def slope(left):
        with torch.enable_grad():
            x = torch.ones(1, requires_grad=True)
            y = x * 1
            if left:
                y.register_hook(lambda grad: grad + slope(left - 1))
            return torch.autograd.grad(y.sum(), x)[0]

    assert slope(300).item() == 301
