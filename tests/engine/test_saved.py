"""What nodes keep, as what, until when; and hooks on saved tensors."""

import gc
import weakref

import pytest

FREED = "Trying to backward through the graph a second time"


def leaf(torch, *values):
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


# --- what is kept ------------------------------------------------------------------------------------------


def test_an_input_is_kept_by_reference(torch):
    """A kept input is the very same object."""
    x, w = leaf(torch), leaf(torch)
    h = x + 1
    y = h * w

    assert y.grad_fn._saved_self is h
    assert y.grad_fn._saved_other is w


def test_only_what_a_needed_formula_uses_is_kept(torch):
    """A product with a plain tensor keeps the plain tensor, and not the other side."""
    x, c = leaf(torch), torch.ones(3)
    assert (x * c).grad_fn._saved_other is c
    assert (x * c).grad_fn._saved_self is None
    assert (c * x).grad_fn._saved_self is c
    assert (c * x).grad_fn._saved_other is None
    assert (x / c).grad_fn._saved_self is None


# --- until when --------------------------------------------------------------------------------------------


def test_nodes_that_keep_nothing_run_twice(torch):
    """Releasing is per tensor: a second pass over nodes that kept nothing works without retain_graph."""
    x = leaf(torch)
    y = (x + x).view(3, 1).sum()
    y.backward()
    y.backward()

    assert x.grad.tolist() == [4.0, 4.0, 4.0]


def test_only_the_nodes_that_ran_are_released(torch):
    """A shared part of two graphs is released by the first pass over it; the rest of the other graph is not."""
    x = leaf(torch)
    shared = x.exp()
    first, second = shared.sin(), shared.cos()
    first.sum().backward()

    assert second.grad_fn._saved_self is shared
    with pytest.raises(RuntimeError, match=FREED):
        second.sum().backward()


def test_a_requested_intermediate_is_not_run_and_not_released(torch):
    """autograd.grad for a computed tensor stops before that tensor's node, which keeps what it has."""
    x = leaf(torch)
    h = x.exp()
    y = (h * h).sum()
    torch.autograd.grad(y, h)

    assert h.grad_fn._saved_result.tolist() == h.tolist()
    with pytest.raises(RuntimeError, match=FREED):
        torch.autograd.grad(y, h)


def test_an_activation_dies_when_it_is_released(torch):
    """A kept tensor lives as long as its slot: a weak reference sees it die during backward."""
    gc.disable()
    try:
        x = leaf(torch)
        h = x * 2
        alive = weakref.ref(h)
        y = h.sin().sum()
        del h
        assert alive() is not None
        y.backward()
        assert alive() is None
    finally:
        gc.enable()


# --- hooks on saved tensors --------------------------------------------------------------------------------


def hooks(torch, pack, unpack):
    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


def test_pack_is_called_once_for_each_kept_tensor(torch):
    """pack sees each kept tensor once, with grad mode off; unpack is called at each reading."""
    packed, unpacked = [], []

    def pack(t):
        packed.append((t.tolist(), torch.is_grad_enabled()))
        return t

    def unpack(t):
        unpacked.append(t.tolist())
        return t

    x, w = leaf(torch), leaf(torch, 4.0, 5.0, 6.0)
    with hooks(torch, pack, unpack):
        y = x * w + x
    assert packed == [([4.0, 5.0, 6.0], False), ([1.0, 2.0, 3.0], False)]  # in the order of their names
    assert unpacked == []

    y.sum().backward()
    assert len(unpacked) == 2
    assert x.grad.tolist() == [5.0, 6.0, 7.0]


def test_one_slot_can_be_given_hooks(torch):
    """register_hooks on `_raw_saved_self` packs that slot alone."""
    x, y = leaf(torch), leaf(torch)
    z = x * y
    z.grad_fn._raw_saved_self.register_hooks(lambda t: t * 100, lambda t: t)
    z.sum().backward()

    assert y.grad.tolist() == [100.0, 200.0, 300.0]
    assert x.grad.tolist() == [1.0, 2.0, 3.0]


def test_hooks_end_with_their_block_also_after_an_error(torch):
    """An error inside the block leaves no hooks behind."""
    seen = []
    with pytest.raises(ZeroDivisionError):
        with hooks(torch, lambda t: seen.append(t) or t, lambda t: t):
            1 / 0  # noqa: B018
    leaf(torch).exp()

    assert seen == []


KEPT_NUMBERS = {
    "torch.add(x, x, alpha=3)": {"alpha": 3},
    "x.mean(1)": {"dim": (1,), "keepdim": False},
    "x.gather(1, torch.tensor([[0]]))": {"dim": 1},
    "x.unsqueeze(0).squeeze(0)": {"dim": 0},
    "torch.nn.functional.elu(x)": {"alpha": 1.0},
}


@pytest.mark.parametrize("expression", KEPT_NUMBERS)
def test_numbers_are_kept_and_stay(torch, expression):
    """A node keeps numbers too, and a backward pass does not take them."""
    x = torch.tensor([[0.5, 1.0], [1.5, 2.0]], requires_grad=True)
    y = eval(expression, {"torch": torch, "x": x})
    y.sum().backward()

    kept = {name: getattr(y.grad_fn, f"_saved_{name}") for name in KEPT_NUMBERS[expression]}
    assert kept == KEPT_NUMBERS[expression]


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
