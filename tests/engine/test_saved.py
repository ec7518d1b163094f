"""Until when nodes keep tensors, and hooks on saved tensors."""

import weakref

import pytest

from tests.engine.facts import leaf

FREED = "Trying to backward through the graph a second time"


def test_a_requested_intermediate_is_not_run_and_not_released(torch):
    """autograd.grad for a computed tensor stops before that tensor's node, which keeps what it has."""
    x = leaf(torch)
    h = x.exp()
    y = (h * h).sum()
    torch.autograd.grad(y, h)

    assert h.grad_fn._saved_result.tolist() == h.tolist()
    with pytest.raises(RuntimeError, match=FREED):
        torch.autograd.grad(y, h)


def hooks(torch, pack, unpack):
    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


def test_hooks_end_with_their_block_also_after_an_error(torch):
    """An error inside the block leaves no hooks behind."""
    seen = []
    with pytest.raises(ZeroDivisionError):
        with hooks(torch, lambda t: seen.append(t) or t, lambda t: t):
            1 / 0  # noqa: B018
    leaf(torch).exp()

    assert seen == []


def test_switches_of_saved_hooks_decorate(torch):
    """disable_saved_tensors_hooks covers a whole function as a decorator."""
    graph = torch.autograd.graph

    @graph.disable_saved_tensors_hooks("none in here")
    def open_block():
        with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass

    with pytest.raises(RuntimeError, match="none in here"):
        open_block()


def test_a_pack_hook_that_fails_is_called_once(torch):
    """An error of a hook leaves the product at once; nothing is tried a second time."""
    called = []

    def pack(tensor):
        called.append(tensor)
        raise RuntimeError("no room")

    x = torch.ones(2, 2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept), pytest.raises(RuntimeError):
        x @ x

    assert len(called) == 1


def test_a_packed_view_does_not_keep_its_base(torch):
    """With hooks a node keeps what pack returned, and a view's place in the graph, but not the memory of its base."""
    x = leaf(torch)
    with hooks(torch, lambda t: t.shape, torch.ones):
        h = x * 1
        y = h.view(3, 1).sin()
    alive = weakref.ref(h)
    del h
    y.sum().backward()

    assert alive() is None
    assert x.grad.tolist() == pytest.approx(torch.ones(3).cos().tolist())
