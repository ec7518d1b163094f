"""Custom Functions: ctx, what backward gets and may return, in-place, views, several outputs, second derivatives."""

import warnings
import weakref

import pytest


def leaf(torch, *values):
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def make(torch, forward, backward, name="Fn"):
    """A Function class with these two static methods."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(torch.autograd.Function)(name, (torch.autograd.Function,), methods)


def cube(torch, log=None):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad

    return make(torch, forward, backward, "Cube")


# --- forward -----------------------------------------------------------------------------------------------


def test_the_ctx_is_the_node(torch):
    """What forward calls ctx is the result's grad_fn, with the class's name and whatever was put on it."""
    kept = []

    def forward(ctx, x):
        kept.append(ctx)
        ctx.note = "hello"
        return x * 2

    y = make(torch, forward, lambda ctx, g: g * 2, "MyDouble").apply(leaf(torch))

    assert y.grad_fn is kept[0]
    assert y.grad_fn.name() == "MyDoubleBackward"
    assert y.grad_fn.note == "hello"


def test_forward_runs_with_the_caller_s_tensors_and_grad_mode_off(torch):
    """forward sees the very tensors it was given, and records nothing."""
    seen = []

    def forward(ctx, x, n):
        seen.append((x, n, torch.is_grad_enabled(), (x * 2).requires_grad))
        return x * n

    x = leaf(torch)
    make(torch, forward, lambda ctx, g: (g, None)).apply(x, 3)

    assert seen[0][0] is x
    assert seen[0][1:] == (3, False, False)


def test_no_node_without_a_gradient_to_want(torch):
    """On plain tensors, and under no_grad, the result is a leaf."""
    fn = cube(torch)
    with torch.no_grad():
        under = fn.apply(leaf(torch))

    assert fn.apply(torch.ones(3)).grad_fn is None
    assert under.grad_fn is None and not under.requires_grad


def test_needs_input_grad_is_one_flag_for_each_argument(torch):
    """Numbers and plain tensors need none."""
    flags = []

    def forward(ctx, *args):
        flags.append(ctx.needs_input_grad)
        return args[0] * 2

    def backward(ctx, g):
        flags.append(ctx.needs_input_grad)
        return g * 2, None, None

    make(torch, forward, backward).apply(leaf(torch), torch.ones(3), 5).sum().backward()

    assert flags == [(True, False, False)] * 2


def test_setup_context_separates_the_two_jobs(torch):
    """With setup_context, forward gets no ctx."""

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(x, factor):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.factor = inputs[1]

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None

    x = leaf(torch)
    Scale.apply(x, 5.0).sum().backward()

    assert x.grad.tolist() == [5.0, 5.0, 5.0]


def test_keywords_are_accepted(torch):
    """apply takes forward's parameters by name, in any order."""

    def forward(ctx, x, power=2, scale=1.0):
        ctx.power, ctx.scale = power, scale
        return x * scale * power

    fn = make(torch, forward, lambda ctx, g: (g * ctx.scale * ctx.power, None, None))
    x = leaf(torch)
    fn.apply(scale=10.0, x=x, power=2).sum().backward()

    assert x.grad.tolist() == [20.0, 20.0, 20.0]


# --- saving ------------------------------------------------------------------------------------------------


def test_saved_tensors_are_empty_inside_forward(torch):
    """Only when apply finishes are tensors packed; until then there is nothing to read."""
    seen = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        seen.append(ctx.saved_tensors)
        return x * 1

    make(torch, forward, lambda ctx, g: g).apply(leaf(torch))
    assert seen == [()]


def test_the_last_save_counts_and_none_passes_through(torch):
    """save_for_backward replaces what an earlier call named."""
    seen = []

    def forward(ctx, x):
        ctx.save_for_backward(x, x)
        ctx.save_for_backward(None, x)
        return x * 1

    def backward(ctx, g):
        seen.append([None if t is None else t.tolist() for t in ctx.saved_tensors])
        return g

    make(torch, forward, backward).apply(leaf(torch)).sum().backward()
    assert seen == [[None, [1.0, 2.0, 3.0]]]


def test_inputs_are_saved_as_themselves(torch):
    """A saved input is the caller's tensor, with its history."""
    seen = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 1

    def backward(ctx, g):
        seen.append(ctx.saved_tensors[0])
        return g

    h = leaf(torch) * 1
    make(torch, forward, backward).apply(h).sum().backward()
    assert seen[0] is h


def test_plain_attributes_are_neither_checked_nor_released(torch):
    """A tensor put on ctx by hand survives backward, and a write to it goes unnoticed."""

    def forward(ctx, x):
        ctx.mine = x
        return x * x

    h = leaf(torch, 2.0) * 1
    y = make(torch, forward, lambda ctx, g: 2 * ctx.mine * g).apply(h)
    h.detach().mul_(10)
    (g,) = torch.autograd.grad(y.sum(), h, retain_graph=True)

    assert g.tolist() == [40.0]
    assert y.grad_fn.mine is h


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


# --- what backward returns ---------------------------------------------------------------------------------


def test_too_many_nones_are_forgiven(torch):
    """Trailing Nones beyond the arguments are dropped."""
    x = leaf(torch)
    make(torch, lambda ctx, x: x * 2, lambda ctx, g: (g * 2, None, None)).apply(x).sum().backward()

    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_a_wider_gradient_is_summed(torch):
    """A gradient of a broadcast shape is summed to the input's shape, and cast to its type."""
    x = leaf(torch)

    def backward(ctx, g):
        return torch.ones(4, 3, dtype=torch.float64)

    make(torch, lambda ctx, x: x * 2, backward).apply(x).sum().backward()

    assert x.grad.tolist() == [4.0, 4.0, 4.0]
    assert x.grad.dtype == torch.float32


def test_none_ends_the_path(torch):
    """None is not zero: nothing arrives at the leaf."""
    x, y = leaf(torch), leaf(torch)
    make(torch, lambda ctx, a, b: a + b, lambda ctx, g: (g, None)).apply(x, y).sum().backward()

    assert x.grad.tolist() == [1.0, 1.0, 1.0]
    assert y.grad is None


def test_backward_runs_in_the_mode_of_the_pass(torch):
    """Recording is on in a custom backward exactly when create_graph is."""
    modes = []

    def backward(ctx, g):
        modes.append((torch.is_grad_enabled(), type(g) is torch.Tensor))
        return g * 2

    for create_graph in (False, True):
        x = leaf(torch)
        y = make(torch, lambda ctx, x: x * 2, backward).apply(x).sum()
        torch.autograd.grad(y, x, create_graph=create_graph)

    assert modes == [(False, True), (True, True)]


# --- several outputs ---------------------------------------------------------------------------------------


def two(torch, log, materialize=True):
    def forward(ctx, x):
        ctx.set_materialize_grads(materialize)
        return x * 2, "text", x * 3

    def backward(ctx, a, text, b):
        log.append([None if g is None else g.tolist() for g in (a, text, b)])
        return (0 if a is None else a * 2) + (0 if b is None else b * 3)

    return make(torch, forward, backward, "Two")


def test_outputs_that_are_no_tensors(torch):
    """Other outputs are handed through; their place among backward's arguments holds None."""
    log = []
    x = leaf(torch)
    a, text, b = two(torch, log).apply(x)
    (a + b).sum().backward()

    assert text == "text"
    assert log == [[[1.0, 1.0, 1.0], None, [1.0, 1.0, 1.0]]]
    assert (a.output_nr, b.output_nr) == (0, 2)
    assert x.grad.tolist() == [5.0, 5.0, 5.0]


def test_missing_gradients_are_zeros(torch):
    """An output that nobody used contributes zeros of its shape."""
    log = []
    two(torch, log).apply(leaf(torch))[2].sum().backward()

    assert log == [[[0.0, 0.0, 0.0], None, [1.0, 1.0, 1.0]]]


def test_missing_gradients_are_none_on_request(torch):
    """set_materialize_grads(False) gives None instead."""
    log = []
    two(torch, log, materialize=False).apply(leaf(torch))[2].sum().backward()

    assert log == [[None, None, [1.0, 1.0, 1.0]]]


def test_non_differentiable_outputs(torch):
    """An output marked so does not require grad; its gradient in backward is zeros."""
    seen = []

    def forward(ctx, x):
        y, index = x * 2, x * 0
        ctx.mark_non_differentiable(index)
        return y, index

    def backward(ctx, g, g_index):
        seen.append(g_index.tolist())
        return g * 2

    y, index = make(torch, forward, backward).apply(leaf(torch))
    y.sum().backward()

    assert y.requires_grad and not index.requires_grad and index.is_leaf
    assert seen == [[0.0, 0.0, 0.0]]


def test_integer_outputs_do_not_require_grad(torch):
    """Only floating outputs get the node."""
    y, i = make(torch, lambda ctx, x: (x * 2, x.long()), lambda ctx, g, gi: g * 2).apply(leaf(torch))

    assert y.requires_grad and not i.requires_grad


# --- returning inputs, views, and writing in place ---------------------------------------------------------


def test_returning_an_input_gives_a_view_with_the_node(torch):
    """The input itself keeps its history; the result is a view of it that belongs to the Function."""
    h = leaf(torch) * 1
    node = h.grad_fn
    y = make(torch, lambda ctx, x: x, lambda ctx, g: g * 10, "Same").apply(h)

    assert y is not h and y._base is h
    assert y.grad_fn.name() == "SameBackward" and h.grad_fn is node
    y.sum().backward()


def test_in_place_functions(torch):
    """mark_dirty and returning the same tensor: the input itself moves on to the new node."""

    def forward(ctx, x):
        x.mul_(3)
        ctx.mark_dirty(x)
        return x

    x = leaf(torch)
    h = x * 2
    y = make(torch, forward, lambda ctx, g: g * 3, "Triple").apply(h)

    assert y is h
    assert h.grad_fn.name() == "TripleBackward"
    assert h._version == 2  # one for mul_, one for mark_dirty
    h.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0, 6.0]


def test_in_place_functions_on_views(torch):
    """The base's history follows through CopySlices, as for any in-place operation."""

    def forward(ctx, x):
        x.mul_(3)
        ctx.mark_dirty(x)
        return x

    fn = make(torch, forward, lambda ctx, g: g * 3, "Triple")
    for through, expected in (("base", [1.0, 3.0, 3.0]), ("view", [0.0, 3.0, 3.0])):
        x = leaf(torch)
        h = x * 1
        view = h[1:]
        assert fn.apply(view) is view
        assert h.grad_fn.name() == "torch::autograd::CopySlices"
        assert view.grad_fn.next_functions[0][0] is h.grad_fn

        (h if through == "base" else view).sum().backward()
        assert x.grad.tolist() == expected


# --- second derivatives ------------------------------------------------------------------------------------


def test_second_derivatives_through_saved_inputs(torch):
    """A backward written with tensor operations can itself be differentiated."""
    x = leaf(torch)
    (g,) = torch.autograd.grad(cube(torch).apply(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(g.sum(), x)

    assert g.tolist() == [3.0, 12.0, 27.0]
    assert second.tolist() == [6.0, 12.0, 18.0]


def test_second_derivatives_through_saved_outputs(torch):
    """A saved output leads back through the node itself."""

    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    x = leaf(torch, 0.0)
    y = make(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x)
    found = []
    for _ in range(3):
        (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        found.append(y.item())

    assert found == [1.0, 1.0, 1.0]


def test_second_derivatives_miss_saved_intermediates(torch):
    """An intermediate saved in forward is a constant to the second pass: the answer lacks a term, silently."""

    def forward(ctx, x):
        square = x * x
        ctx.save_for_backward(x, square)
        return square * x

    def backward(ctx, g):
        x, square = ctx.saved_tensors
        return g * (square + 2 * x * x)

    x = leaf(torch, 2.0)
    (g,) = torch.autograd.grad(make(torch, forward, backward).apply(x), x, create_graph=True)
    (second,) = torch.autograd.grad(g, x)

    assert g.item() == 12.0
    assert second.item() == 8.0  # and not 12: the derivative of `square` is missing


def test_once_differentiable(torch):
    """The error comes only from a pass that reaches the error node."""
    once = torch.autograd.function.once_differentiable

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    def run():
        x = leaf(torch)
        backward = once(lambda ctx, g: 2 * ctx.saved_tensors[0] * g)
        y = make(torch, forward, backward).apply(x)
        (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        return x, g

    _, g = run()
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        g.sum().backward()
    x, g = run()
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad(g.sum(), x)


def test_once_differentiable_constants_are_constants(torch):
    """When the incoming gradient has no history the result has none: a constant, not an error."""
    once = torch.autograd.function.once_differentiable
    x = leaf(torch)
    y = make(torch, lambda ctx, x: x * 2, once(lambda ctx, g: g * 2)).apply(x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)

    assert not g.requires_grad


# --- variants ----------------------------------------------------------------------------------------------


def test_vjp_is_another_name_for_backward(torch):
    """A Function may define vjp instead."""

    class Fn(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, g):
            return g * 2

    x = leaf(torch)
    Fn.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


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


def test_functions_inherit(torch):
    """A subclass may replace one of the methods; its node has its own name."""
    parent = cube(torch)

    class Other(parent):
        @staticmethod
        def backward(ctx, g):
            return g * 100

    x = leaf(torch)
    y = Other.apply(x)
    y.sum().backward()

    assert y.grad_fn.name() == "OtherBackward"
    assert x.grad.tolist() == [100.0, 100.0, 100.0]


def test_a_function_inside_a_function(torch):
    """A Function may use another in its backward, which is then differentiated as well."""
    inner = cube(torch)

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**4 / 4

    x = leaf(torch, 2.0)
    y = make(torch, forward, lambda ctx, g: g * inner.apply(ctx.saved_tensors[0])).apply(x)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(g, x)

    assert (g.item(), second.item()) == (8.0, 12.0)


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


def test_the_node_that_forbids_second_derivatives_has_its_full_name(torch):
    """It is named as the nodes of C++ are."""
    once = torch.autograd.function.once_differentiable
    x = leaf(torch, 2.0)
    y = make(torch, lambda ctx, x: x * 2, once(lambda ctx, g: g * 2)).apply(x)
    (g,) = torch.autograd.grad(y**2, x, create_graph=True)

    assert g.grad_fn.name() == "torch::autograd::Error"
    assert type(g.grad_fn).__name__ == "Error"


def overwrite_view(torch):
    """A Function that overwrites its input and saves it."""

    def forward(ctx, v):
        v.mul_(2)
        ctx.mark_dirty(v)
        ctx.save_for_backward(v)
        return v

    def backward(ctx, grad):
        (v,) = ctx.saved_tensors
        return grad * 2 * (v / v)

    return make(torch, forward, backward)


def test_a_view_marked_dirty_and_saved_dies_by_reference_count(torch):
    """What is saved is the Function's output, kept without its history, so that no circle waits for the collector."""
    import gc

    class Flag:
        pass

    gc.disable()
    try:
        base = leaf(torch, 1.0, 2.0, 3.0) * 1
        view = overwrite_view(torch).apply(base[:2])
        flag = Flag()
        alive = weakref.ref(flag)
        node = view.grad_fn
        node.metadata["flag"] = flag
        names = type(node).__name__, type(base.grad_fn).__name__
        del flag, node, view, base

        assert names == ("AsStridedBackward0", "CopySlices")
        assert alive() is None
    finally:
        gc.enable()


def test_a_view_marked_dirty_and_saved_comes_back_as_the_functions_output(torch):
    """In backward it has the Function's own node; later writes are noticed and name the Function."""
    function, seen = overwrite_view(torch), []
    backward = function.backward

    def look(ctx, grad):
        (v,) = ctx.saved_tensors
        seen.append((type(v.grad_fn).__name__.endswith("Backward"), v._is_view(), v.tolist()))
        return backward(ctx, grad)

    function.backward = staticmethod(look)
    x = leaf(torch, 1.0, 2.0, 3.0)
    base = x * 1
    function.apply(base[:2])
    base.sum().backward()

    assert (x.grad.tolist(), seen) == ([2.0, 2.0, 1.0], [(True, False, [2.0, 4.0])])
    base = x * 1
    function.apply(base[:2])
    base.add_(1)
    with pytest.raises(RuntimeError, match=r"which is output 0 of \w+, is at version 3; expected version 2"):
        base.sum().backward()


@pytest.mark.parametrize("made", ["of a result", "of a view", "with a second output", "outside"])
def test_a_view_marked_dirty_that_is_no_input_is_refused(torch, made):
    """RuntimeError, where a tensor with memory of its own gets a warning."""
    outside = (leaf(torch, 1.0, 2.0) * 1)[:1]

    def forward(ctx, x):
        view = outside if made == "outside" else (x * 2)[:2][:1] if made == "of a view" else (x * 2)[:1]
        ctx.mark_dirty(view)
        return (view, x * 3) if made == "with a second output" else view

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeError, match="received a tensor that was not an input"):
            make(torch, forward, lambda ctx, *g: None).apply(leaf(torch, 1.0, 2.0))


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
