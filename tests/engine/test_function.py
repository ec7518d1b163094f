"""Custom Functions: what is saved and not read, gradients in one list, what may be marked as written to."""

import warnings

import pytest

from tests.engine.facts import leaf


def make(torch, forward, backward, name="Fn"):
    """A Function class with these two static methods."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(torch.autograd.Function)(name, (torch.autograd.Function,), methods)


def test_saved_but_unread_tensors_do_not_stop_a_second_pass(torch):
    """Releasing matters only to who reads: a backward that never reads saved_tensors runs twice."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 3

    x = leaf(torch)
    y = make(torch, forward, lambda ctx, g: g * 3).apply(x).sum()
    y.backward()
    y.backward()

    assert x.grad.tolist() == [6.0, 6.0, 6.0]


def test_boxed_grads_call(torch):
    """With boxed_grads_call, backward gets its gradients as one list."""
    seen = []

    def backward(ctx, grads):
        seen.append((type(grads), len(grads)))
        return grads[0] * 2 + grads[1] * 3

    fn = make(torch, lambda ctx, x: (x * 2, x * 3), backward)
    fn.boxed_grads_call = True
    x = leaf(torch)
    a, b = fn.apply(x)
    (a + b).sum().backward()

    assert seen == [(list, 2)]
    assert x.grad.tolist() == [5.0, 5.0, 5.0]


def test_mark_dirty_of_what_is_neither_input_nor_output_is_an_error_without_a_warning(torch):
    """The outputs are looked at first; the warning about inputs is for what was returned."""

    def forward(ctx, x, returned):
        y = x * 1
        ctx.mark_dirty(y)
        return y if returned else x * 2

    function = make(torch, forward, lambda ctx, g: (g, None))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError, match="elements marked as dirty during the forward method were not returned"):
            function.apply(leaf(torch, 1.0), False)

        assert seen == []
        function.apply(leaf(torch, 1.0), True)

    assert ["received a tensor that was not an input" in str(w.message) for w in seen] == [True]


def test_a_view_marked_dirty_and_saved_is_checked_like_any_tensor(torch):
    """Its gradient takes the place of the part that was overwritten, and a later write to the base is noticed."""

    def forward(ctx, v):
        v.mul_(2)
        ctx.mark_dirty(v)
        ctx.save_for_backward(v)
        return v

    function = make(torch, forward, lambda ctx, grad: grad * 2 * ctx.saved_tensors[0])
    x = leaf(torch, 1.0, 2.0, 3.0)
    base = x * 1
    function.apply(base[:2])
    base.sum().backward()

    assert x.grad.tolist() == [4.0, 8.0, 1.0]
    base = x * 1
    function.apply(base[:2])
    base.add_(1)
    with pytest.raises(RuntimeError, match="is at version 3; expected version 2"):
        base.sum().backward()


def test_a_view_of_the_input_marked_dirty_is_refused_as_a_leaf_is(torch):
    """forward runs unrecorded, so the view has no node, and requires grad because its base does."""

    def forward(ctx, x):
        view = x[:1]
        view.mul_(2)
        ctx.mark_dirty(view)
        return view

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad has been used in an in-place"):
            make(torch, forward, lambda ctx, g: g).apply(leaf(torch, 1.0, 2.0) * 1)
