"""Single facts of the engine, by part; nearly each is the one that a deliberate defect breaks (`make mutants`)."""

import gc
import pickle
import weakref

import pytest

import course_lib
from tests.engine.facts import leaf

LARGE = 300  # elements: small gradients are added up in new memory, large ones in place


def large(torch):
    return torch.ones(LARGE, requires_grad=True)


def twice_and_exp(torch):
    """A Function with two results, which keeps the second."""

    class TwiceAndExp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            first, second = x * 2, x.exp()
            ctx.save_for_backward(second)
            return first, second

        @staticmethod
        def backward(ctx, grad_first, grad_second):
            (second,) = ctx.saved_tensors
            return grad_first * 2 + grad_second * second

    return TwiceAndExp.apply


# --- saved tensors -----------------------------------------------------------------------------------------


def test_a_kept_second_output_leads_back_to_the_second_output(torch):
    """A second derivative through a kept second output continues at that output, not at the first."""
    x = torch.tensor(0.5, requires_grad=True)
    _, second = twice_and_exp(torch)(x)
    (slope,) = torch.autograd.grad(second, x, create_graph=True)
    (curvature,) = torch.autograd.grad(slope, x)

    assert curvature.item() == pytest.approx(second.item())  # through the first output it would be 2


def test_a_slot_says_whether_it_was_freed():
    """Our slots tell learners whether the kept tensor is still there."""
    x = leaf(course_lib)
    y = x * x
    slot = y.grad_fn._raw_saved_self
    assert not slot.is_freed and slot.data is not None

    y.sum().backward()
    assert slot.is_freed and slot.data is None


def test_anomaly_mode_names_the_first_write_after_saving():
    """Of several writes our message names the first one after the tensor was saved, and the line that saved it."""
    x = leaf(course_lib)
    with course_lib.autograd.set_detect_anomaly(True):
        h = x + 1
        h.mul_(2)
        y = h * h
        h.add_(3)
        h.sub_(4)
        with pytest.raises(RuntimeError) as caught:
            y.sum().backward()

    said = str(caught.value)
    assert "saved the tensor at version 1 in `y = h * h`" in said
    assert "first changed after that by `h.add_(3)`" in said
    assert "h.mul_(2)" not in said and "h.sub_(4)" not in said


def test_what_a_function_kept_is_gone_after_backward(torch):
    """A tensor that only save_for_backward held dies in the backward pass, while the result lives on."""

    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            copy = x.clone()
            ctx.save_for_backward(copy)
            seen.append(weakref.ref(copy))
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    seen = []
    y = Keeps.apply(leaf(torch)).sum()
    gc.collect()
    assert seen[0]() is not None

    y.backward()
    gc.collect()
    assert seen[0]() is None


# --- views and writing in place ----------------------------------------------------------------------------


def test_an_expanded_view_sums_after_its_base_was_written_to(torch):
    """After a write to the base an expanded view sums over all appearances of an element, in second derivatives too."""
    x = torch.tensor([[1.0], [2.0]], requires_grad=True)
    base = x * x
    wide = base.expand(2, 3)
    base.mul_(10)
    assert wide.grad_fn.name() == "AsStridedBackward0"

    y = (wide**2 * torch.tensor([1.0, 2.0, 3.0])).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert (g.tolist(), h.tolist()) == ([[2400.0], [19200.0]], [[7200.0], [28800.0]])


def test_a_view_s_new_node_knows_where_it_looks(torch):
    """The node that a view gets when its base is written to keeps the view's own shape, strides and offset."""
    base = torch.ones(3, 4, requires_grad=True) * 1
    part = base[1:, ::2]
    base.mul_(2)
    node = part.grad_fn

    assert (tuple(node._saved_size), tuple(node._saved_stride), node._saved_storage_offset) == ((2, 2), (4, 2), 4)


# --- the engine --------------------------------------------------------------------------------------------


def test_a_wider_gradient_is_cast_when_recorded(torch):
    """With create_graph too, a gradient given in float64 takes the type of the float32 output."""
    x = leaf(torch)
    (g,) = torch.autograd.grad(x * x, x, torch.ones(3, dtype=torch.float64), create_graph=True)

    assert g.dtype is torch.float32 and g.requires_grad


def test_large_gradients_are_not_added_into_memory_of_others(torch):
    """Adding to a large gradient leaves alone the array that another node received as well."""
    x, other = large(torch), large(torch)
    waiting = other * 1  # the oldest node: its gradient lies ready while the others run
    shared = x * 1
    seven = shared * 7
    both = shared + waiting  # the newest: sends one and the same gradient to both
    (seven + both * 2).sum().backward()

    assert x.grad.tolist() == [9.0] * LARGE
    assert other.grad.tolist() == [2.0] * LARGE


# --- leaves ------------------------------------------------------------------------------------------------


def test_a_gradient_that_is_a_view_is_copied():
    """.grad has memory of its own, also when the gradient that arrives is a view of the one that was given."""
    x, given = course_lib.ones(2, 3, requires_grad=True), course_lib.ones(6)
    x.view(6).backward(given)
    given.mul_(100)

    assert x.grad.tolist() == [[1.0] * 3] * 2


def test_retain_grad_keeps_a_copy(torch):
    """The gradient that retain_grad stores does not share memory with the gradient that was given."""
    y, given = leaf(torch) * 2, torch.ones(3)
    y.retain_grad()
    y.backward(given)
    given.mul_(100)

    assert y.grad.tolist() == [1.0, 1.0, 1.0]


# --- values ------------------------------------------------------------------------------------------------


def test_the_slope_of_relu_gates_its_own_gradient(torch):
    """The gradient of relu depends on the gradient it was given only where its input is positive."""
    x, v = leaf(torch, -1.0, 0.0, 2.0), leaf(torch, 5.0, 6.0, 7.0)
    (g,) = torch.autograd.grad(x.relu(), x, v, create_graph=True)
    (through,) = torch.autograd.grad(g.sum(), v)

    assert through.tolist() == [0.0, 0.0, 1.0]


def test_minus_zero_is_another_number_than_zero(torch):
    """Multiplying by 0.0 and then by -0.0 gives zeros of different signs."""
    x = torch.tensor([1.0, 2.0])

    assert [(1 / (x * zero)).tolist() for zero in (0.0, -0.0, 0.0)] == [
        [float("inf")] * 2, [float("-inf")] * 2, [float("inf")] * 2,
    ]  # fmt: skip


def test_equal_numbers_of_different_kinds_stay_apart(torch):
    """1, 1.0 and True are equal in Python and promote differently."""
    i = torch.tensor([1, 2])

    assert [str((i * n).dtype) for n in (1, 1.0, True, 1.0, 1)] == [
        "torch.int64", "torch.float32", "torch.int64", "torch.float32", "torch.int64",
    ]  # fmt: skip


def dirty(torch):
    class Doubles(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            x.data.mul_(2)  # a write that only mark_dirty tells of
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Doubles.apply


@pytest.mark.parametrize(
    "change",
    ["h.t_()", "dirty(torch)(h)", "torch.autograd.graph.increment_version(h)", "h.set_(h.clone())", "h.unsqueeze_(0)"],
)
def test_anomaly_mode_names_every_kind_of_change(change):
    """A change of shape, of memory, by a Function, or one that is only said: each has its line."""
    torch = course_lib
    x = torch.ones(2, 2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True), pytest.raises(RuntimeError) as caught:
        h = x + 1
        y = h * h
        exec(compile(change, "change.py", "exec"), globals(), {"h": h, "torch": torch})
        y.sum().backward()

    assert "first changed after that by change.py line 1" in str(caught.value)


def test_anomaly_mode_names_the_backward_that_changed_a_grad():
    """AccumulateGrad adds to `.grad` in place: what saved it is out of date after the next backward()."""
    x = leaf(course_lib)
    with course_lib.autograd.set_detect_anomaly(True):
        (x * 3).sum().backward()
        y = (x * x.grad).sum()
        (x * 5).sum().backward()
        with pytest.raises(RuntimeError) as caught:
            y.backward()

    assert "first changed after that by `(x * 5).sum().backward()`" in str(caught.value)


def test_a_dtype_is_pickled_by_name(torch):
    for dtype in (torch.float32, torch.float64, torch.int64, torch.bool):
        assert pickle.loads(pickle.dumps(dtype)) is dtype


# --- layers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 4), (4,)], ids=str)
def test_linear_makes_its_nodes_in_pytorch_s_order(shape, real_torch):
    """The input is flattened before the weight is turned: a node's number decides when it runs."""
    found = []
    for torch in (course_lib, real_torch):
        x, w, b = (torch.ones(each, requires_grad=True) for each in (shape, (5, 4), (5,)))
        met = [torch.nn.functional.linear(x, w, b).grad_fn]
        for node in met:
            met += [each for each, _ in node.next_functions if each is not None and each not in met]
        made = [node for node in met if not hasattr(node, "variable")]
        found.append([node.name() for node in sorted(made, key=lambda node: node._sequence_nr())])

    assert found[0] == found[1]
