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


def test_a_result_is_kept_repacked(torch):
    """A kept result is another object with the same memory and the same node, so that nothing ties a knot."""
    y = leaf(torch).tanh()
    kept = y.grad_fn._saved_result

    assert kept is not y
    assert kept.data_ptr() == y.data_ptr()
    assert kept.grad_fn is y.grad_fn
    assert y.grad_fn._saved_result is not kept


def test_only_what_a_needed_formula_uses_is_kept(torch):
    """A product with a plain tensor keeps the plain tensor, and not the other side."""
    x, c = leaf(torch), torch.ones(3)
    assert (x * c).grad_fn._saved_other is c
    assert (x * c).grad_fn._saved_self is None
    assert (c * x).grad_fn._saved_self is c
    assert (c * x).grad_fn._saved_other is None
    assert (x / c).grad_fn._saved_self is None


def test_a_power_keeps_everything_whichever_side_needs_it(torch):
    """`x ** c` keeps base, exponent and result although the base alone needs a gradient."""
    x, c = leaf(torch), torch.ones(3)
    node = (x**c).grad_fn

    assert node._saved_self is x
    assert node._saved_exponent is c
    assert node._saved_result is not None


def test_additions_views_and_sums_keep_no_tensor(torch):
    """Nothing is kept where the gradient does not depend on any value."""
    x = leaf(torch)
    for y in (x + x, x - x, -x, x.sum(), x[1:], x.view(3, 1), x.clone(), x.expand(2, 3), torch.cat([x, x])):
        kept = [
            name for name in dir(y.grad_fn)
            if name.startswith("_saved_") and isinstance(getattr(y.grad_fn, name), torch.Tensor)
        ]  # fmt: skip
        assert kept == []


def test_a_frozen_factor_of_a_matrix_product_is_kept_and_the_other_not(torch):
    """A layer whose weight is frozen does not keep its input."""
    x, frozen = torch.ones(2, 3, requires_grad=True), torch.ones(3, 2)
    node = (x @ frozen).grad_fn

    assert node._saved_mat2 is frozen
    assert node._saved_self is None


def test_numbers_survive_backward(torch):
    """Numbers and shapes are not released, only tensors are."""
    x = leaf(torch)
    y = x**3
    y.sum(0).backward()

    assert y.grad_fn._saved_exponent == 3
    with pytest.raises(RuntimeError, match=FREED):
        y.grad_fn._saved_self  # noqa: B018


def test_a_node_has_no_slot_of_another_s_name(torch):
    """Asking a node for something it does not keep is an AttributeError."""
    with pytest.raises(AttributeError):
        (leaf(torch) + 1).grad_fn._saved_result  # noqa: B018


# --- until when --------------------------------------------------------------------------------------------


def test_nodes_that_keep_nothing_run_twice(torch):
    """Releasing is per tensor: a second pass over nodes that kept nothing works without retain_graph."""
    x = leaf(torch)
    y = (x + x).view(3, 1).sum()
    y.backward()
    y.backward()

    assert x.grad.tolist() == [4.0, 4.0, 4.0]


def test_retain_graph_keeps_everything(torch):
    """With retain_graph a pass can be repeated; the last one without it releases."""
    x = leaf(torch)
    y = (x * x).sum()
    for _ in range(3):
        y.backward(retain_graph=True)
    y.backward()

    assert x.grad.tolist() == [8.0, 16.0, 24.0]
    with pytest.raises(RuntimeError, match=FREED):
        y.backward()


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


def test_create_graph_retains_by_default(torch):
    """The default of retain_graph is create_graph; saying otherwise releases the first graph only."""
    x = leaf(torch)
    y = (x**3).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True, retain_graph=False)
    with pytest.raises(RuntimeError, match=FREED):
        torch.autograd.grad(y, x)
    (h,) = torch.autograd.grad(g.sum(), x)

    assert h.tolist() == [6.0, 12.0, 18.0]


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


def test_a_saved_leaf_may_stop_requiring_grad(torch):
    """Switching requires_grad off after the forward: backward runs, and the accumulator does nothing."""
    x, w = leaf(torch), leaf(torch)
    y = (x * w).sum()
    x.requires_grad_(False)
    y.backward()

    assert x.grad is None
    assert w.grad.tolist() == [1.0, 2.0, 3.0]


def test_detaching_a_kept_input_in_place_is_noticed(torch):
    """detach_() on a tensor that a node keeps as input fails in backward; on one that is not kept it is fine."""
    for operation, works in ((lambda h: h.sin(), False), (lambda h: h.exp(), True)):
        h = leaf(torch) * 2
        y = operation(h).sum()
        h.detach_()
        if works:
            y.backward()
        else:
            with pytest.raises(RuntimeError, match="has been detached in-place"):
                y.backward()


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


def test_numbers_are_not_packed(torch):
    """The 2 of `x * 2` is kept as a tensor but not shown to hooks."""
    seen = []
    with hooks(torch, lambda t: seen.append(t) or t, lambda t: t):
        leaf(torch) * 2

    assert seen == []


def test_the_innermost_pair_is_used(torch):
    """Blocks nest: the innermost pair packs, and the outer one comes back after it."""
    log = []

    def named(name):
        return hooks(torch, lambda t: log.append(name) or t, lambda t: t)

    with named("outer"):
        leaf(torch).exp()
        with named("inner"):
            leaf(torch).exp()
        leaf(torch).exp()

    assert log == ["outer", "inner", "outer"]


def test_hooks_hold_for_what_is_recorded_inside(torch):
    """A node made inside the block unpacks with its hooks, long after the block."""
    with hooks(torch, lambda t: t * 0 + 10, lambda t: t):
        y = leaf(torch).sin()
    z = leaf(torch).sin()

    assert y.grad_fn._saved_self.tolist() == [10.0, 10.0, 10.0]
    assert z.grad_fn._saved_self.tolist() == [1.0, 2.0, 3.0]


def test_a_packed_copy_survives_writing_in_place(torch):
    """No version check is made under hooks: a copy gives the right gradient, an alias a wrong one."""
    for pack, expected in ((lambda t: t.clone(), 2.0), (lambda t: t.detach(), 20.0)):
        x = leaf(torch, 1.0)
        with hooks(torch, pack, lambda t: t):
            h = x * 1
            y = h * h
        h.detach().mul_(10)
        y.sum().backward()
        assert x.grad.tolist() == [expected]


def test_anything_may_be_packed(torch):
    """pack may return anything, as long as unpack makes a tensor of it."""
    store = []

    def pack(t):
        store.append(t.tolist())
        return len(store) - 1

    x = leaf(torch)
    with hooks(torch, pack, lambda number: torch.tensor(store[number])):
        y = (x * x).sum()
    y.backward()

    assert x.grad.tolist() == [2.0, 4.0, 6.0]


def test_hooks_see_what_a_function_saves(torch):
    """save_for_backward goes through the hooks as well."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * ctx.saved_tensors[0] * grad

    x, seen = leaf(torch), []
    with hooks(torch, lambda t: seen.append(t.tolist()) or t.clone(), lambda t: t):
        y = Square.apply(x)
    y.sum().backward()

    assert seen == [[1.0, 2.0, 3.0]]
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


def test_hooks_on_in_place_operations(torch):
    """Under hooks an in-place product with itself works: what is packed is the old value."""
    x = leaf(torch)
    with hooks(torch, lambda t: t.clone(), lambda t: t):
        h = x * 1
        h.mul_(h.detach().clone())
        h.sin_()
    h.sum().backward()

    assert x.grad is not None and x.grad.shape == (3,)


def test_one_slot_can_be_given_hooks(torch):
    """register_hooks on `_raw_saved_self` packs that slot alone."""
    x, y = leaf(torch), leaf(torch)
    z = x * y
    z.grad_fn._raw_saved_self.register_hooks(lambda t: t * 100, lambda t: t)
    z.sum().backward()

    assert y.grad.tolist() == [100.0, 200.0, 300.0]
    assert x.grad.tolist() == [1.0, 2.0, 3.0]


def test_double_backward_goes_through_unpacked_tensors(torch):
    """What unpack returns takes the kept tensor's place in the graph: second derivatives come out right."""
    x = leaf(torch, 2.0)
    with hooks(torch, lambda t: t.clone(), lambda t: t.clone()):
        y = x.exp() * x
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g, x)

    assert abs(h.item() - (2 + 2) * 7.389056) < 1e-3


def test_save_on_cpu_keeps_copies(torch):
    """save_on_cpu is such a pair of hooks: kept tensors become copies."""
    x = leaf(torch)
    with torch.autograd.graph.save_on_cpu():
        y = x.sin()

    assert y.grad_fn._saved_self is not x
    y.sum().backward()
    assert x.grad.shape == (3,)


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
