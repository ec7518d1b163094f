"""Every error of the engine: its exact text, the same on real PyTorch, and no error that is not listed here.

The expected texts stand in golden/errors.txt, one line for each program below. After changing a program,
`python tests/engine/test_errors.py` writes that file again from real PyTorch.
"""

import ast
import copy
import io
import re
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest

import course_lib

HERE = Path(__file__).parent
GOLDEN = HERE / "golden" / "errors.txt"
ENGINE = Path(course_lib.__file__).parent
PROGRAMS = {}


def program(function):
    """Add a function of `torch` that must raise to the table, under its own name."""
    assert function.__name__ not in PROGRAMS, f"two programs are called {function.__name__}"
    PROGRAMS[function.__name__] = function
    return function


def programs(**functions):
    """Add one-line programs to the table."""
    for name, function in functions.items():
        function.__name__ = name
        program(function)


def leaf(torch, *values, **options):
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True, **options)


def computed(torch, *values, **options):
    """A tensor with history that nothing has saved."""
    return leaf(torch, *values, **options) + 0


def hooked(torch):
    """A leaf with a hook whose repr is the same everywhere."""
    x = leaf(torch)
    x.register_hook(abs)
    return x


def matrix(torch, rows=2, columns=3):
    return torch.arange(float(rows * columns)).reshape(rows, columns)


def picked_and_converted(torch):
    """The sum of elements picked from a leaf that took data of another type since."""
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    result = x.masked_select(x > 0).sum()
    x.data = x.data.float()
    return result


def view_from_no_grad(torch):
    """Part of a leaf, taken while nothing is recorded."""
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        return x[1:]


def same(tensor):
    """A hook that changes nothing."""
    return tensor


# --- the version check: who was changed, when, and how often -----------------------------------------------


@program
def a_fact_is_assigned(torch):
    """What is true of a tensor, its shape for instance, cannot be assigned."""
    torch.ones(2).shape = (1, 2)


@program
def version_of_a_leaf(torch):
    x = leaf(torch)
    y = x * x
    x.detach().mul_(2)
    y.sum().backward()


@program
def version_of_a_leaf_of_two_dimensions(torch):
    x = matrix(torch).requires_grad_()
    y = x.sin()
    with torch.no_grad():
        x.zero_()
        x.zero_()
    y.sum().backward()


@program
def version_of_a_computed_input(torch):
    h = computed(torch)
    y = h.sin()
    h.add_(1)
    y.sum().backward()


@program
def version_names_the_last_writer(torch):
    h = computed(torch)
    y = h.cos()
    h.mul_(2)
    h.neg_()
    y.sum().backward()


@program
def version_of_an_own_result(torch):
    y = leaf(torch).exp()
    y.mul_(2)
    y.sum().backward()


@program
def version_of_an_own_result_without_a_leaf_write(torch):
    y = leaf(torch).sigmoid()
    y.detach().zero_()
    y.sum().backward()


@program
def version_of_a_number(torch):
    h = computed(torch, 2.0)[0] * 1
    y = h * h
    h += 1
    y.backward()


@program
def version_of_a_double(torch):
    h = leaf(torch, 1.0, dtype=torch.float64) - 1
    y = h**3
    h.sub_(1)
    y.sum().backward()


@program
def version_of_a_mask(torch):
    x, mask = leaf(torch), torch.tensor([True, False, True])
    y = torch.where(mask, x, -x)
    mask.fill_(True)
    y.sum().backward()


@program
def version_of_an_index(torch):
    x, index = leaf(torch), torch.tensor([0, 2])
    y = x[index]
    index.add_(0)
    y.sum().backward()


@program
def version_of_an_index_for_writing(torch):
    h, index = computed(torch), torch.tensor([0, 2])
    h[index] = 1.0
    index.add_(0)
    h.sum().backward()


@program
def version_of_a_view(torch):
    h = computed(torch)
    view = h[1:]
    y = view.log()
    h.mul_(1)
    y.sum().backward()


@program
def version_of_a_base_written_through_a_view(torch):
    h = computed(torch)
    y = h * h
    h[0] = 5.0
    y.sum().backward()


@program
def version_of_an_output_that_is_not_the_first(torch):
    first, second = computed(torch, 1.0, 2.0).unbind()
    y = second * second
    second.detach().add_(1)
    y.backward()


@program
def version_twice_the_same_operation(torch):
    computed(torch).exp_().exp_().sum().backward()


@program
def version_times_itself(torch):
    h = computed(torch)
    h.mul_(h)
    h.sum().backward()


@program
def version_after_increment_version(torch):
    h = computed(torch)
    y = h.abs()
    torch.autograd.graph.increment_version(h)
    y.sum().backward()


@program
def version_seen_when_a_slot_is_read(torch):
    h = computed(torch)
    y = h.sin()
    h.add_(1)
    y.grad_fn._saved_self  # noqa: B018


@program
def version_of_a_plain_operand(torch):
    x, c = leaf(torch), torch.ones(3)
    y = x * c
    c.fill_(2)
    y.sum().backward()


@program
def version_even_with_a_zero_gradient(torch):
    y = leaf(torch).tanh()
    z = y * 0
    y.add_(1)
    z.sum().backward()


@program
def version_of_a_function_s_own_result(torch):
    class MyExp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = x.exp()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    y = MyExp.apply(leaf(torch))
    y.add_(1)
    y.sum().backward()


@program
def version_of_the_second_output_of_a_function(torch):
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            a, b = x + 1, x + 2
            ctx.save_for_backward(b)
            return a, b

        @staticmethod
        def backward(ctx, grad_a, grad_b):
            return grad_a * ctx.saved_tensors[0] + grad_b

    a, b = Two.apply(leaf(torch))
    b.mul_(3)
    (a + b).sum().backward()


@program
def version_after_an_in_place_function(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    h = computed(torch)
    y = h * h
    Double.apply(h)
    y.sum().backward()


@program
def version_after_copy_slices(torch):
    a, b = computed(torch, 1.0, 2.0).view(1, 2), computed(torch, 1.0, 2.0).view(2, 1)
    y = a @ b
    a[0, 0] = 7.0
    y.sum().backward()


# --- released graphs ---------------------------------------------------------------------------------------


@program
def freed_second_backward(torch):
    y = (leaf(torch) ** 2).sum()
    y.backward()
    y.backward()


@program
def freed_slot_read(torch):
    y = leaf(torch).exp()
    y.sum().backward()
    y.grad_fn._saved_result  # noqa: B018


@program
def freed_by_autograd_grad(torch):
    x = leaf(torch)
    y = x.sin().sum()
    torch.autograd.grad(y, x)
    torch.autograd.grad(y, x)


@program
def freed_ctx(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad * ctx.saved_tensors[0]

    y = Square.apply(leaf(torch))
    y.sum().backward()
    y.grad_fn.saved_tensors  # noqa: B018


@program
def freed_copy_slices(torch):
    h = computed(torch)
    h[0] = 1.0
    y = h.sum()
    y.backward()
    y.backward()


@program
def freed_slot_cannot_be_given_hooks(torch):
    y = leaf(torch).exp()
    y.sum().backward()
    y.grad_fn._raw_saved_result.register_hooks(same, same)


# PyTorch's `_raw_saved_x` points into its node without keeping it alive: the result must live on meanwhile.


@program
def slot_has_hooks_already(torch):
    y = leaf(torch).exp()
    slot = y.grad_fn._raw_saved_result
    slot.register_hooks(same, same)
    slot.register_hooks(same, same)


@program
def packed_after_it_was_detached(torch):
    same = lambda t: t  # noqa: E731
    a = leaf(torch) * 2
    y = a.exp() * a.sin()
    a.detach_()
    y.grad_fn.next_functions[1][0]._raw_saved_self.register_hooks(same, same)
    y.grad_fn.next_functions[1][0](torch.ones_like(y))


@program
def slot_with_nothing_in_it_cannot_be_given_hooks(torch):
    y = leaf(torch) * 2
    y.grad_fn._raw_saved_self.register_hooks(same, same)


@program
def saved_input_was_detached(torch):
    h = computed(torch)
    y = h.sin()
    h.detach_()
    y.sum().backward()


# --- saved-tensor hooks ------------------------------------------------------------------------------------


@program
def pack_hook_writes(torch):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
        computed(torch).sin()


@program
def unpack_hook_returns_a_number(torch):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: 3, lambda packed: packed):
        y = leaf(torch).sin()
    y.sum().backward()


@program
def saved_tensors_hooks_are_disabled(torch):
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass


@program
def saved_tensors_hooks_disabled_inside(torch):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        with torch.autograd.graph.disable_saved_tensors_hooks("too late"):
            pass


# --- writing in place --------------------------------------------------------------------------------------

programs(
    write_to_a_leaf=lambda torch: leaf(torch).add_(1),
    write_to_a_leaf_by_zero=lambda torch: leaf(torch).zero_(),
    write_to_a_leaf_by_copy=lambda torch: leaf(torch).copy_(torch.ones(3)),
    write_to_a_leaf_by_index=lambda torch: leaf(torch).__setitem__(torch.tensor([0]), 1.0),
    write_to_a_view_of_a_leaf=lambda torch: leaf(torch)[1:].mul_(2),
    write_to_an_item_of_a_leaf=lambda torch: leaf(torch).__setitem__(0, 1.0),
    write_to_a_transposed_leaf=lambda torch: matrix(torch).requires_grad_().t().zero_(),
    write_wider_than_the_target=lambda torch: torch.ones(1).add_(torch.ones(3)),
    write_wider_than_a_number=lambda torch: torch.tensor(1.0).mul_(torch.ones(2, 2)),
    write_floats_into_integers=lambda torch: torch.arange(3).add_(0.5),
    write_floats_into_bools=lambda torch: torch.tensor([True]).mul_(1.5),
    write_integers_into_bools=lambda torch: torch.tensor([True]).add_(torch.tensor([2])),
    write_to_an_expanded_tensor=lambda torch: torch.ones(1).expand(3).add_(1),
    copy_into_an_expanded_tensor=lambda torch: torch.ones(2, 1).expand(2, 3).copy_(torch.ones(2, 3)),
    copy_does_not_fit=lambda torch: torch.ones(2).copy_(torch.ones(3)),
    fill_with_a_vector=lambda torch: torch.ones(2).fill_(torch.ones(2)),
    multiply_with_the_wrong_shape=lambda torch: torch.ones(2).mul_(torch.ones(3)),
    out_with_a_leaf=lambda torch: torch.add(leaf(torch), 1, out=torch.ones(3)),
    out_that_requires_grad=lambda torch: torch.mul(torch.ones(3), 2, out=leaf(torch)),
    out_of_another_shape=lambda torch: torch.add(torch.ones(3), 1, out=torch.ones(2)),
    data_of_a_leaf_must_be_floating=lambda torch: setattr(leaf(torch), "data", torch.arange(3)),
    detach_a_view_in_place=lambda torch: computed(torch)[1:].detach_(),
    data_must_be_a_tensor=lambda torch: setattr(leaf(torch), "data", 3.0),
)


programs(
    scatter_add_of_fewer_dimensions=lambda torch: torch.zeros(2, 3).scatter_add(
        0, torch.zeros(1, 3, dtype=torch.int64), torch.ones(3)
    ),
    scatter_add_of_fewer_and_shorter_dimensions=lambda torch: torch.zeros(2, 3).scatter_add(
        1, torch.zeros(2, 3, dtype=torch.int64), torch.ones(1)
    ),
)


@program
def hook_makes_a_gradient_where_none_arrived(torch):
    first, second = (torch.ones(2, 2, requires_grad=True) * 1).unbind()
    first.register_hook(lambda grad: torch.ones(2))
    second.sum().backward()


@program
def backward_after_a_leaf_took_longer_data(torch):
    x = leaf(torch)
    y = x.sin()
    x.data = torch.ones(4)
    y.sum().backward()


@program
def write_overlapping_an_operand(torch):
    x = torch.arange(4.0)
    x[1:].add_(x[:-1])


@program
def copy_overlapping_an_operand(torch):
    x = torch.arange(4.0)
    x[:-1].copy_(x[1:])


# --- views that may not be written to ----------------------------------------------------------------------

programs(
    write_to_an_output_of_unbind=lambda torch: computed(torch).unbind()[1].mul_(2),
    write_to_an_output_of_split=lambda torch: computed(torch).split(2)[0].mul_(2),
    write_to_an_output_of_chunk=lambda torch: computed(torch).chunk(3)[2].add_(2),
    write_to_an_output_of_unbind_of_a_leaf=lambda torch: leaf(torch).unbind()[0].mul_(2),
    write_to_a_view_of_an_output_of_unbind=lambda torch: computed(torch).view(1, 3).unbind()[0][1:].mul_(2),
)


@program
def write_to_a_loop_variable(torch):
    for row in computed(torch).view(3, 1):
        row.mul_(2)


@program
def write_to_the_base_of_unbind(torch):
    y = computed(torch)
    first, second, third = y.unbind()
    y.add_(1)
    second.grad_fn  # noqa: B018


@program
def use_an_output_of_unbind_after_a_write_to_its_base(torch):
    y = computed(torch)
    first, *others = y.split(1)
    y.add_(1)
    first * 2


@program
def write_to_a_no_grad_view(torch):
    y = computed(torch)
    with torch.no_grad():
        view = y[1:]
    view.mul_(2)


@program
def write_to_a_no_grad_view_of_a_leaf(torch):
    x = leaf(torch)
    with torch.no_grad():
        view = x[1:]
    view.mul_(2)


@program
def write_to_the_base_of_a_no_grad_view(torch):
    y = computed(torch)
    with torch.no_grad():
        view = y[1:]
    y.mul_(2)
    view.is_leaf  # noqa: B018


@program
def use_a_no_grad_view_after_a_write_to_its_base(torch):
    y = computed(torch)
    with torch.no_grad():
        view = y.t()
    y.mul_(2)
    view.sum()


@program
def write_to_an_input_that_a_function_returned(torch):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad

    Same.apply(computed(torch)).mul_(2)


@program
def write_to_a_view_that_a_function_returned(torch):
    class Flat(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view(-1)

        @staticmethod
        def backward(ctx, grad):
            return grad.view(1, 3)

    Flat.apply(computed(torch).view(1, 3)).mul_(2)


@program
def write_to_the_base_of_a_view_that_a_function_returned(torch):
    class Part(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:1]

        @staticmethod
        def backward(ctx, grad):
            return grad.expand(3)

    h = computed(torch)
    part = Part.apply(h)
    h.mul_(2)
    part.sum()


# --- inference mode ----------------------------------------------------------------------------------------


def in_inference_mode(torch):
    with torch.inference_mode():
        return torch.ones(3)


programs(
    inference_tensor_has_no_version=lambda torch: in_inference_mode(torch)._version,
    inference_tensor_written_outside=lambda torch: in_inference_mode(torch).add_(1),
    inference_tensor_saved=lambda torch: leaf(torch) * in_inference_mode(torch),
    inference_tensor_requires_grad=lambda torch: in_inference_mode(torch).requires_grad_(),
    inference_tensor_set_requires_grad=lambda torch: setattr(in_inference_mode(torch), "requires_grad", True),
)


@program
def a_grad_made_in_inference_mode_grows_outside(torch):
    y = leaf(torch).sum()
    with torch.inference_mode():
        y.backward()
    y.backward()


@program
def a_leaf_in_the_interior_of_the_graph(torch):
    x = leaf(torch)
    y = x.sum()
    x.requires_grad_(False)
    x.mul_(leaf(torch))
    y.backward()


@program
def view_made_in_inference_mode_is_written(torch):
    y = computed(torch)
    with torch.inference_mode():
        view = y[1:]
    view.mul_(2)


# --- requires_grad, detach, .grad --------------------------------------------------------------------------

programs(
    requires_grad_off_for_a_computed_tensor=lambda torch: computed(torch).requires_grad_(False),
    requires_grad_set_off_for_a_computed_tensor=lambda torch: setattr(computed(torch), "requires_grad", False),
    requires_grad_of_integers=lambda torch: torch.arange(3).requires_grad_(),
    requires_grad_set_for_integers=lambda torch: setattr(torch.arange(3), "requires_grad", True),
    requires_grad_of_integers_from_the_start=lambda torch: torch.tensor([1, 2], requires_grad=True),
    requires_grad_of_bools_from_the_start=lambda torch: torch.zeros(2, dtype=torch.bool, requires_grad=True),
    requires_grad_of_a_range=lambda torch: torch.arange(3, requires_grad=True),
    requires_grad_is_not_a_number=lambda torch: setattr(torch.ones(3), "requires_grad", 1),
    numpy_of_a_leaf=lambda torch: leaf(torch).numpy(),
    array_of_a_leaf=lambda torch: np.asarray(leaf(torch)),
    hook_is_not_copied=lambda torch: copy.copy(hooked(torch)),
    data_is_deleted=lambda torch: delattr(leaf(torch), "data"),
    deepcopy_of_a_computed_tensor=lambda torch: copy.deepcopy(computed(torch)),
    assigned_number_of_numpy=lambda torch: torch.ones(2).__setitem__(0, np.float32(1)),
    copy_of_a_list=lambda torch: torch.ones(2).copy_([1.0, 2.0]),
    copy_of_an_array=lambda torch: torch.ones(2).copy_(np.ones(2)),
    fill_with_a_list=lambda torch: torch.ones(2).fill_([1.0]),
    grad_is_a_number=lambda torch: setattr(leaf(torch), "grad", 1.0),
    grad_is_a_list=lambda torch: setattr(leaf(torch), "grad", [1.0, 2.0, 3.0]),
    grad_has_the_wrong_shape=lambda torch: setattr(leaf(torch), "grad", torch.ones(1, 3)),
    grad_has_the_wrong_shape_and_is_a_number=lambda torch: setattr(leaf(torch), "grad", torch.tensor(1.0)),
    grad_has_the_wrong_dtype=lambda torch: setattr(leaf(torch), "grad", torch.ones(3, dtype=torch.float64)),
    grad_is_integers=lambda torch: setattr(leaf(torch), "grad", torch.arange(3)),
    grad_is_bools=lambda torch: setattr(leaf(torch), "grad", torch.ones(3) > 0),
    grad_of_a_double_is_float=lambda torch: setattr(leaf(torch, dtype=torch.float64), "grad", torch.ones(3)),
    grad_of_a_computed_tensor=lambda torch: computed(torch).grad,
    retain_grad_of_a_plain_tensor=lambda torch: torch.ones(3).retain_grad(),
    hook_on_a_plain_tensor=lambda torch: torch.ones(3).register_hook(print),
    post_accumulate_hook_on_a_plain_tensor=lambda torch: torch.ones(
        3
    ).register_post_accumulate_grad_hook(print),
    post_accumulate_hook_on_a_computed_tensor=lambda torch: computed(torch).register_post_accumulate_grad_hook(
        print
    ),
    gradient_edge_of_a_plain_tensor=lambda torch: torch.autograd.graph.get_gradient_edge(torch.ones(3)),
)


@program
def grad_is_the_tensor_itself(torch):
    x = leaf(torch)
    x.grad = x


# --- backward and grad -------------------------------------------------------------------------------------

programs(
    backward_of_a_vector=lambda torch: computed(torch).backward(),
    backward_of_nothing=lambda torch: computed(torch)[:0].backward(),
    backward_of_a_plain_tensor=lambda torch: torch.tensor(1.0).backward(),
    backward_of_a_plain_vector=lambda torch: torch.ones(3).backward(),
    backward_of_a_plain_vector_with_gradient=lambda torch: torch.ones(3).backward(torch.ones(3)),
    backward_after_detach=lambda torch: computed(torch).sum().detach().backward(),
    backward_of_two_the_second_plain=lambda torch: torch.autograd.backward(
        [computed(torch).sum(), torch.tensor(1.0)]
    ),
    backward_with_a_number=lambda torch: computed(torch).backward(1.0),
    backward_with_a_list=lambda torch: torch.autograd.backward([computed(torch)], [[1.0]]),
    backward_with_too_short_a_gradient=lambda torch: computed(torch).backward(torch.ones(2)),
    backward_with_a_broadcastable_gradient=lambda torch: computed(torch).backward(torch.ones(1, 3)),
    backward_with_a_0d_gradient=lambda torch: computed(torch).backward(torch.tensor(1.0)),
    backward_with_no_inputs=lambda torch: computed(torch).sum().backward(inputs=[]),
    backward_with_a_plain_input=lambda torch: computed(torch).sum().backward(inputs=[torch.ones(3)]),
    backward_with_create_graph=lambda torch: (leaf(torch) ** 2).sum().backward(create_graph=True),
    grad_of_no_inputs=lambda torch: torch.autograd.grad(computed(torch).sum(), []),
    grad_for_a_plain_tensor=lambda torch: torch.autograd.grad(computed(torch).sum(), torch.ones(3)),
    grad_of_a_plain_tensor=lambda torch: torch.autograd.grad(torch.tensor(1.0), leaf(torch)),
    grad_of_a_vector=lambda torch: torch.autograd.grad(computed(torch), leaf(torch)),
    grad_for_an_unused_input=lambda torch: torch.autograd.grad(computed(torch).sum(), leaf(torch)),
    grad_with_contradicting_flags=lambda torch: torch.autograd.grad(
        computed(torch).sum(), leaf(torch), allow_unused=False, materialize_grads=True
    ),
    grad_with_the_wrong_shape=lambda torch: torch.autograd.grad(computed(torch), leaf(torch), torch.ones(2)),
    grad_with_too_few_gradients=lambda torch: torch.autograd.grad(
        [computed(torch), computed(torch)], leaf(torch), [torch.ones(3)]
    ),
)


@program
def grad_for_the_second_unused_input(torch):
    x = leaf(torch)
    torch.autograd.grad((x * x).sum(), [x, leaf(torch)])


@program
def grad_through_a_linear_function_twice(torch):
    x = leaf(torch)
    (g,) = torch.autograd.grad((x * 3).sum(), x, create_graph=True)
    torch.autograd.grad(g.sum(), x)


@program
def grad_through_integers(torch):
    x = leaf(torch)
    (x.long().sum() * 1.0).backward()


@program
def anomaly_mode_finds_nan(torch):
    x = leaf(torch, 0.0, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch prints where the forward was: the test is about the error
        with torch.autograd.set_detect_anomaly(True):
            (x.sqrt() * torch.tensor([0.0, 1.0])).sum().backward()


programs(
    anomaly_mode_of_a_number=lambda torch: torch.autograd.set_detect_anomaly(1),
    gradient_of_no_tensor=lambda torch: torch.autograd.grad([3], leaf(torch)),
)
programs(anomaly_mode_warns=lambda torch: torch.autograd.detect_anomaly())


# --- hooks -------------------------------------------------------------------------------------------------


def with_hook(torch, hook):
    h = computed(torch)
    h.register_hook(hook)
    h.sum().backward()


def shorten(grad):
    """A hook with a name."""
    return grad[:1]


programs(
    hook_returns_a_number=lambda torch: with_hook(torch, lambda grad: 3),
    hook_changes_the_shape=lambda torch: with_hook(torch, lambda grad: grad.sum()),
    hook_with_a_name_changes_the_shape=lambda torch: with_hook(torch, shorten),
)


@program
def hook_of_a_leaf_changes_the_shape(torch):
    x = leaf(torch)
    x.register_hook(shorten)
    (x * 2).sum().backward()


@program
def post_accumulate_hook_returns_something(torch):
    x = leaf(torch)
    x.register_post_accumulate_grad_hook(lambda leaf: leaf.grad)
    x.sum().backward()


@program
def node_hook_returns_too_many(torch):
    y = leaf(torch).exp()
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: (grad_outputs[0], grad_outputs[0]))
    y.sum().backward()


@program
def node_prehook_returns_too_many(torch):
    y = leaf(torch).exp()
    y.grad_fn.register_prehook(lambda grad_outputs: (grad_outputs[0], grad_outputs[0]))
    y.sum().backward()


@program
def hook_raises_its_own_error(torch):
    def hook(grad):
        raise KeyError("mine")

    with_hook(torch, hook)


# --- custom Functions --------------------------------------------------------------------------------------


def function(torch, forward, backward=lambda ctx, *grads: grads[0], name="Fn"):
    """A Function class with the given methods."""
    methods = {"forward": staticmethod(forward)}
    if backward is not None:
        methods["backward"] = staticmethod(backward)
    return type(torch.autograd.Function)(name, (torch.autograd.Function,), methods)


def run(torch, forward, backward, *extra):
    """Forward and backward of a Function of a vector."""
    function(torch, forward, backward).apply(leaf(torch), *extra).sum().backward()


def twice(ctx, x, *others):
    return x * 2


def save(what):
    def forward(ctx, x):
        ctx.save_for_backward(what)
        return x * 2

    return forward


programs(
    function_without_forward=lambda torch: type(torch.autograd.Function)(
        "Fn", (torch.autograd.Function,), {}
    ).apply(leaf(torch)),
    function_without_backward=lambda torch: function(torch, twice, None).apply(leaf(torch)).sum().backward(),
    function_returns_too_many_gradients=lambda torch: run(torch, twice, lambda ctx, g: (g, g)),
    function_returns_too_few_gradients=lambda torch: run(torch, twice, lambda ctx, g: g, leaf(torch)),
    function_returns_a_gradient_for_a_number=lambda torch: run(torch, twice, lambda ctx, g: (g, g), 3),
    function_returns_a_number=lambda torch: run(torch, twice, lambda ctx, g: 1.0),
    function_returns_a_list=lambda torch: run(torch, twice, lambda ctx, g: [g]),
    function_returns_too_long_a_gradient=lambda torch: run(torch, twice, lambda ctx, g: torch.ones(4)),
    function_returns_a_smaller_gradient=lambda torch: run(torch, twice, lambda ctx, g: g.sum()),
    function_saves_a_number=lambda torch: run(torch, save(3), lambda ctx, g: g),
    function_saves_a_list=lambda torch: run(torch, save([1.0]), lambda ctx, g: g),
    function_with_an_unknown_keyword=lambda torch: function(torch, lambda ctx, x: x * 2).apply(
        leaf(torch), nope=1
    ),
    function_with_an_argument_twice=lambda torch: function(torch, lambda ctx, x: x * 2).apply(
        leaf(torch), x=leaf(torch)
    ),
)


@program
def function_called(torch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns when the instance is made, and raises when it is called
        function(torch, twice)()(leaf(torch))


@program
def function_with_backward_and_vjp(torch):
    both = function(torch, twice)
    both.vjp = staticmethod(lambda ctx, g: g)
    both.apply(leaf(torch)).sum().backward()


@program
def function_with_setup_context_missing(torch):
    class Fn(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            return torch.autograd.Function.setup_context(ctx, inputs, output)

    Fn.apply(leaf(torch))


@program
def function_marks_a_leaf_dirty(torch):
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    function(torch, forward).apply(leaf(torch))


@program
def function_does_not_return_what_it_marked_dirty(torch):
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x * 1

    function(torch, forward).apply(computed(torch))


@program
def function_marks_an_inference_tensor_dirty(torch):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x

    with torch.inference_mode():
        x = torch.ones(3)
    function(torch, forward).apply(x)


@program
def function_marks_what_was_no_input(torch):
    def forward(ctx, x):
        y = x * 2
        ctx.mark_dirty(y)
        return y

    function(torch, forward).apply(computed(torch))


@program
def function_marks_a_view_that_was_no_input(torch):
    def forward(ctx, x):
        view = (x * 2)[:1]
        ctx.mark_dirty(view)
        return view

    function(torch, forward).apply(computed(torch))


@program
def function_writes_to_a_view_and_returns_two(torch):
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x, x * 2

    function(torch, forward).apply(computed(torch)[1:])


@program
def function_saves_a_returned_input_in_setup_context(torch):
    class Fn(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx, grad):
            return grad

    Fn.apply(leaf(torch))


@program
def function_reads_saved_tensors_twice_though_they_clear(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, grad):
        return ctx.saved_tensors[0] * ctx.saved_tensors[0] * grad

    fn = function(torch, forward, backward)
    fn.clear_saved_tensors_on_access = True
    fn.apply(leaf(torch)).sum().backward()


@program
def function_reads_saved_variables(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    run(torch, forward, lambda ctx, grad: ctx.saved_variables[0] * grad)


@program
def once_differentiable_twice(torch):
    once = torch.autograd.function.once_differentiable

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    x = leaf(torch)
    y = function(torch, forward, once(lambda ctx, g: 2 * ctx.saved_tensors[0] * g)).apply(x)
    (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    g.sum().backward()


# --- shapes ------------------------------------------------------------------------------------------------

programs(
    broadcast_add=lambda torch: torch.ones(2) + torch.ones(3),
    broadcast_mul_of_matrices=lambda torch: matrix(torch) * matrix(torch, 3, 2),
    broadcast_sub=lambda torch: torch.ones(2, 3) - torch.ones(2),
    broadcast_compare=lambda torch: torch.ones(2) < torch.ones(3),
    broadcast_where=lambda torch: torch.where(torch.ones(2) > 0, torch.ones(3), torch.ones(3)),
    broadcast_maximum=lambda torch: torch.maximum(torch.ones(4), torch.ones(3)),
    view_of_a_transposed_matrix=lambda torch: matrix(torch).t().view(6),
    view_with_the_wrong_size=lambda torch: torch.ones(6).view(4),
    view_with_two_unknowns=lambda torch: torch.ones(6).view(-1, -1),
    view_that_does_not_divide=lambda torch: torch.ones(6).view(4, -1),
    view_of_nothing_with_an_unknown=lambda torch: torch.ones(0).view(0, -1),
    reshape_with_the_wrong_size=lambda torch: torch.ones(6).reshape(5),
    reshape_to_a_number=lambda torch: torch.ones(6).reshape(()),
    expand_a_length=lambda torch: matrix(torch).expand(2, 4),
    expand_to_fewer=lambda torch: matrix(torch).expand(3),
    transpose_out_of_range=lambda torch: matrix(torch).transpose(0, 2),
    permute_too_few=lambda torch: matrix(torch).permute(0),
    permute_twice_the_same=lambda torch: matrix(torch).permute(0, 0),
    unsqueeze_out_of_range=lambda torch: torch.ones(2).unsqueeze(3),
    squeeze_out_of_range=lambda torch: torch.ones(2).squeeze(2),
    t_of_three_dimensions=lambda torch: torch.ones(1, 2, 3).t(),
    narrow_too_long=lambda torch: torch.ones(3).narrow(0, 1, 3),
    narrow_from_outside=lambda torch: torch.ones(3).narrow(0, 4, 1),
    select_out_of_range=lambda torch: matrix(torch).select(1, 3),
    unbind_a_number=lambda torch: torch.tensor(1.0).unbind(),
    split_with_the_wrong_sum=lambda torch: torch.ones(5).split([2, 2]),
    repeat_too_few=lambda torch: matrix(torch).repeat(2),
    dimension_out_of_range=lambda torch: torch.ones(2).sum(1),
    dimension_far_below=lambda torch: matrix(torch).sum(-3),
    dimension_of_a_number=lambda torch: torch.tensor(1.0).sum(1),
    cat_with_other_lengths=lambda torch: torch.cat([torch.ones(2, 2), torch.ones(2, 1)]),
    cat_with_other_dimensions=lambda torch: torch.cat([torch.ones(2, 2), torch.ones(2)]),
    cat_of_numbers=lambda torch: torch.cat([torch.tensor(1.0), torch.tensor(2.0)]),
    cat_of_nothing=lambda torch: torch.cat([]),
    cat_of_a_tensor=lambda torch: torch.cat(torch.ones(2)),
    cat_of_python_numbers=lambda torch: torch.cat([1.0, 2.0]),
    stack_of_other_shapes=lambda torch: torch.stack([torch.ones(2), torch.ones(2), torch.ones(1)]),
    stack_of_nothing=lambda torch: torch.stack([]),
    stack_out_of_range=lambda torch: torch.stack([torch.ones(2)], 3),
    t_in_place_of_three_dimensions=lambda torch: torch.ones(1, 2, 3).t_(),
)

# --- indexing ----------------------------------------------------------------------------------------------

programs(
    index_out_of_range=lambda torch: torch.ones(2)[2],
    index_far_below=lambda torch: torch.ones(2)[-3],
    index_out_of_range_in_a_row=lambda torch: matrix(torch)[0, 3],
    index_too_many=lambda torch: matrix(torch)[0, 0, 0],
    index_a_number=lambda torch: torch.tensor(1.0)[0],
    index_slice_of_a_number=lambda torch: torch.tensor(1.0)[:],
    index_by_a_float=lambda torch: torch.ones(2)[1.0],
    index_by_floats=lambda torch: torch.ones(2)[torch.tensor([0.0])],
    index_by_a_tensor_out_of_range=lambda torch: torch.ones(2)[torch.tensor([0, 5])],
    index_by_a_list_out_of_range=lambda torch: torch.ones(2)[[0, 5]],
    index_by_a_mask_of_another_shape=lambda torch: torch.ones(2)[torch.tensor([True, False, True])],
    index_by_shapes_that_do_not_broadcast=lambda torch: torch.ones(2, 3)[
        torch.tensor([0, 1]), torch.tensor([0, 1, 2])
    ],
    index_backwards=lambda torch: torch.ones(4)[::-1],
    index_with_step_zero=lambda torch: torch.ones(4)[::0],
    assign_the_wrong_shape=lambda torch: torch.ones(4).__setitem__(slice(2), torch.ones(3)),
    assign_to_an_index_out_of_range=lambda torch: torch.ones(4).__setitem__(4, 1.0),
    assign_the_wrong_shape_by_index=lambda torch: torch.ones(4).__setitem__(
        torch.tensor([0, 1]), torch.ones(3)
    ),
    assign_another_dtype_by_index=lambda torch: torch.ones(4).__setitem__(
        torch.tensor([0, 1]), torch.arange(2)
    ),
    index_select_out_of_range=lambda torch: torch.ones(3).index_select(0, torch.tensor([3])),
    gather_out_of_range=lambda torch: matrix(torch).gather(1, torch.tensor([[3]])),
)

# --- reductions, products ----------------------------------------------------------------------------------

programs(
    max_of_nothing=lambda torch: torch.ones(0).max(),
    min_of_nothing=lambda torch: torch.ones(0).min(),
    argmax_of_nothing=lambda torch: torch.ones(0).argmax(),
    mean_of_integers=lambda torch: torch.arange(3).mean(),
    mean_of_bools=lambda torch: torch.tensor([True]).mean(),
    std_of_integers=lambda torch: torch.arange(3).std(),
    softmax_without_dim=lambda torch: torch.softmax(torch.ones(3)),
    softmax_of_integers=lambda torch: torch.softmax(torch.arange(3), 0),
    topk_too_many=lambda torch: torch.topk(torch.ones(3), 4),
    clamp_without_bounds=lambda torch: torch.clamp(torch.ones(3)),
    matmul_wrong_lengths=lambda torch: matrix(torch) @ matrix(torch),
    matmul_with_a_number=lambda torch: torch.ones(1) @ torch.tensor(1.0),
    matmul_vector_and_matrix=lambda torch: torch.ones(3) @ matrix(torch),
    matmul_matrix_and_vector=lambda torch: matrix(torch) @ torch.ones(2),
    matmul_of_vectors=lambda torch: torch.ones(2) @ torch.ones(3),
    matmul_of_dtypes=lambda torch: torch.ones(2, 2) @ torch.ones(2, 2, dtype=torch.float64),
    matmul_of_integers_and_floats=lambda torch: torch.arange(4).view(2, 2) @ torch.ones(2, 2),
    matmul_of_batches=lambda torch: torch.ones(2, 2, 3) @ torch.ones(3, 3, 2),
    matmul_of_batches_inner=lambda torch: torch.ones(2, 2, 3) @ torch.ones(2, 4, 2),
    mm_of_a_vector=lambda torch: torch.mm(torch.ones(3), matrix(torch)),
    mm_with_a_vector=lambda torch: torch.mm(matrix(torch), torch.ones(3)),
    mv_of_a_vector=lambda torch: torch.mv(torch.ones(3), torch.ones(3)),
    isclose_of_two_types=lambda torch: torch.ones(3).isclose(torch.ones(3, dtype=torch.int64)),
    diag_of_a_number=lambda torch: torch.diag(torch.tensor(1.0)),
    trace_of_a_vector=lambda torch: torch.ones(3).trace(),
    kthvalue_of_nothing=lambda torch: torch.kthvalue(torch.ones(2, 0), 1),
    kthvalue_too_large=lambda torch: torch.kthvalue(torch.ones(2), 3),
    roll_by_too_many=lambda torch: torch.ones(2).roll((1, 2), 0),
    roll_of_a_number=lambda torch: torch.tensor(1.0).roll(1, 0),
    largest_of_no_magnitudes=lambda torch: torch.ones(0).norm(float("inf")),
    scatter_add_from_more_dimensions=lambda torch: torch.ones(3).scatter_add(0, torch.tensor([0]), torch.ones(3, 2)),
    masked_select_of_other_data=lambda torch: picked_and_converted(torch).backward(),
    gradient_edge_of_a_view_from_no_grad=lambda torch: torch.autograd.graph.get_gradient_edge(view_from_no_grad(torch)),
    mv_of_two_types=lambda torch: torch.mv(torch.ones(3, 3), torch.ones(3, dtype=torch.int64)),
    dot_of_matrices=lambda torch: torch.dot(matrix(torch), matrix(torch)),
    bmm_of_matrices=lambda torch: torch.bmm(matrix(torch), matrix(torch)),
    bmm_with_a_matrix=lambda torch: torch.bmm(torch.ones(2, 2, 2), matrix(torch)),
    bmm_wrong_lengths=lambda torch: torch.bmm(torch.ones(2, 2, 3), torch.ones(2, 2, 2)),
    addmm_wrong_lengths=lambda torch: torch.ones(2).addmm(matrix(torch), matrix(torch)),
    addmm_wrong_bias=lambda torch: torch.ones(3).addmm(matrix(torch), matrix(torch, 3, 2)),
)

# --- types, numbers, conversion ----------------------------------------------------------------------------

programs(
    item_of_a_vector=lambda torch: torch.ones(2).item(),
    item_of_nothing=lambda torch: torch.ones(0).item(),
    truth_of_a_vector=lambda torch: bool(torch.ones(2)),
    truth_of_nothing=lambda torch: bool(torch.ones(0)),
    length_of_a_number=lambda torch: len(torch.tensor(1.0)),
    iterate_over_a_number=lambda torch: iter(torch.tensor(1.0)),
    index_from_a_float=lambda torch: [1, 2][torch.tensor(1.0)],
    tensordot_over_less_than_nothing=lambda torch: torch.tensordot(matrix(torch), matrix(torch), -1),
    tensordot_over_more_than_there_is=lambda torch: torch.tensordot(torch.ones(3), matrix(torch).double(), 2),
    tensordot_over_two_numbers=lambda torch: torch.tensordot(torch.ones(3), torch.ones(3), (0, 0)),
    tensordot_of_two_types=lambda torch: torch.tensordot(matrix(torch), matrix(torch).double(), 1),
    power_of_integers=lambda torch: torch.arange(3) ** -1,
    subtract_bools=lambda torch: torch.tensor([True]) - torch.tensor([True]),
    subtract_a_bool_from_a_number=lambda torch: 1 - torch.tensor([True]),
    invert_floats=lambda torch: ~torch.ones(2),
    and_of_floats=lambda torch: torch.ones(2) & torch.ones(2),
    masked_fill_by_numbers=lambda torch: torch.ones(2).masked_fill(torch.arange(2), 0.0),
    tensor_from_text=lambda torch: torch.tensor(["a"]),
    tensor_from_ragged_lists=lambda torch: torch.tensor([[1.0, 2.0], [3.0]]),
    tensor_from_deeper_lists=lambda torch: torch.tensor([1.0, [2.0]]),
    tensor_from_shallower_lists=lambda torch: torch.tensor([[1.0], 2.0]),
    tensor_from_deeper_lists_after_a_float=lambda torch: torch.tensor([1, 2.0, [2]]),
    tensor_from_deeper_lists_of_integers=lambda torch: torch.tensor([1, [2]]),
    empty_of_a_negative_size=lambda torch: torch.empty(2, -1),
    new_zeros_of_a_negative_size=lambda torch: torch.ones(2).new_zeros(-1),
    class_called_with_a_float=lambda torch: torch.Tensor(2.5),
    class_called_with_numpy_number=lambda torch: torch.Tensor(np.float32(2)),
    class_called_with_text=lambda torch: torch.Tensor("a"),
    class_called_with_a_size_and_a_float=lambda torch: torch.Tensor(2, 2.5),
    class_called_with_two_lists=lambda torch: torch.Tensor([1], [2]),
    class_called_with_a_dtype=lambda torch: torch.Tensor([1], dtype=torch.float32),
    class_called_with_a_negative_size=lambda torch: torch.Tensor(2, -1),
    from_numpy_of_a_list=lambda torch: torch.from_numpy([1.0]),
    exp_of_a_number=lambda torch: torch.exp(3),
    add_of_text=lambda torch: torch.ones(2) + "a",
    div_with_an_unknown_rounding=lambda torch: torch.div(torch.ones(2), 2, rounding_mode="up"),
)


# --- arguments of single operations ------------------------------------------------------------------------

programs(
    where_by_numbers=lambda torch: torch.where(torch.ones(2), torch.ones(2), 0.0),
    norm_of_integers=lambda torch: torch.arange(3).norm(),
    amax_of_nothing=lambda torch: torch.ones(0).amax(),
    amin_along_nothing=lambda torch: torch.ones(2, 0).amin(1),
    argmax_of_bools=lambda torch: torch.tensor([True]).argmax(),
    argmin_along_nothing=lambda torch: torch.ones(0, 2).argmin(0),
    max_along_nothing=lambda torch: torch.ones(2, 0).max(1),
    min_along_nothing=lambda torch: torch.ones(0).min(0),
    select_of_a_number=lambda torch: torch.tensor(1.0).select(0, 0),
    narrow_of_a_number=lambda torch: torch.tensor(1.0).narrow(0, 0, 1),
    narrow_to_less_than_nothing=lambda torch: torch.ones(3).narrow(0, 0, -1),
    split_of_a_number=lambda torch: torch.tensor(1.0).split(1),
    split_into_pieces_of_nothing=lambda torch: torch.ones(3).split(0),
    chunk_of_a_number=lambda torch: torch.tensor(1.0).chunk(1),
    chunk_into_none=lambda torch: torch.ones(3).chunk(0),
    repeat_less_than_never=lambda torch: torch.ones(3).repeat(-1),
    expand_a_new_dimension_by_minus_one=lambda torch: torch.ones(3).expand(-1, 3),
    view_with_a_negative_length=lambda torch: torch.ones(6).view(-2, 3),
    copy_that_is_wider=lambda torch: torch.ones(2).copy_(torch.ones(2, 2)),
    index_of_a_number_that_is_not_zero=lambda torch: torch.tensor(1.0)[1],
    assign_by_an_index_out_of_range=lambda torch: torch.ones(2).__setitem__(torch.tensor([5]), 1.0),
    masked_fill_with_a_vector=lambda torch: torch.ones(2).masked_fill(torch.ones(2) > 0, torch.ones(2)),
    masked_fill_by_another_shape=lambda torch: torch.ones(2).masked_fill(torch.ones(3) > 0, 0.0),
    masked_select_by_numbers=lambda torch: torch.ones(2).masked_select(torch.ones(2)),
    masked_select_by_another_shape=lambda torch: torch.ones(2).masked_select(torch.ones(3) > 0),
    triu_of_a_vector=lambda torch: torch.ones(2).triu(),
    tril_of_a_number=lambda torch: torch.tensor(1.0).tril(),
    integers_by_zero=lambda torch: torch.arange(3) // 0,
    remainder_of_integers_by_zero=lambda torch: torch.arange(3) % 0,
    minus_bools=lambda torch: -torch.tensor([True]),
    abs_of_bools=lambda torch: torch.tensor([True]).abs(),
    relu_of_bools=lambda torch: torch.tensor([True]).relu(),
    gather_by_floats=lambda torch: torch.ones(2).gather(0, torch.ones(2)),
    gather_by_other_dimensions=lambda torch: torch.ones(2).gather(0, torch.tensor([[0]])),
    gather_by_too_wide_an_index=lambda torch: torch.ones(2, 2).gather(0, torch.tensor([[0, 0, 0]])),
    index_select_by_floats=lambda torch: torch.ones(2).index_select(0, torch.ones(2)),
    index_select_by_a_matrix=lambda torch: torch.ones(2).index_select(0, torch.tensor([[0]])),
    index_select_out_of_the_second_range=lambda torch: torch.ones(2, 2).index_select(1, torch.tensor([2])),
    scatter_add_by_other_dimensions=lambda torch: torch.ones(2).scatter_add(
        0, torch.tensor([[0]]), torch.ones(1, 1)
    ),
    scatter_add_of_too_little=lambda torch: torch.ones(3).scatter_add(0, torch.tensor([0, 1]), torch.ones(1)),
    scatter_add_out_of_range=lambda torch: torch.ones(3).scatter_add(0, torch.tensor([5]), torch.ones(1)),
    index_add_by_a_matrix=lambda torch: torch.ones(2).index_add(0, torch.tensor([[0]]), torch.ones(1)),
    index_add_by_floats=lambda torch: torch.ones(2).index_add(0, torch.ones(1), torch.ones(1)),
    index_add_of_another_length=lambda torch: torch.ones(3).index_add(0, torch.tensor([0, 1]), torch.ones(1)),
    index_add_of_another_shape=lambda torch: torch.ones(2, 3).index_add(0, torch.tensor([0]), torch.ones(1, 2)),
    index_add_out_of_range=lambda torch: torch.ones(3).index_add(0, torch.tensor([7]), torch.ones(1)),
    function_of_a_list=lambda torch: torch.mul([1.0], 2),
    places_with_a_number=lambda torch: torch.ones(2, 2).index_put_((torch.tensor([0]), 1), torch.ones(1)),
    scattered_over_itself=lambda torch: (lambda x: x.scatter_(0, torch.tensor([0, 1]), x))(torch.ones(2)),
    text_added_in_place=lambda torch: torch.ones(2).add_("a"),
    reduction_along_text=lambda torch: torch.amax(torch.ones(2), "a"),
    sizes_with_a_float=lambda torch: torch.roll(torch.ones(2), (1.5,)),
    scale_by_text=lambda torch: torch.nn.functional.elu(torch.ones(2), "a"),
    own_slot_for_text=lambda torch: torch.ones(2).addcmul_(torch.ones(2), torch.ones(2), value="a"),
    reduction_without_dimension=lambda torch: torch.logsumexp(torch.ones(2)),
    comparison_with_text=lambda torch: torch.ones(2).eq("a"),
    tensors_and_a_number=lambda torch: torch.hstack((torch.ones(2), 3)),
    maximum_with_text=lambda torch: torch.maximum(torch.ones(2), "a"),
)


@program
def assign_by_index_what_overlaps(torch):
    x = torch.arange(4.0)
    x[torch.tensor([0])] = x[:1]


@program
def backward_of_a_no_grad_view_of_a_leaf(torch):
    x = leaf(torch)
    with torch.no_grad():
        view = x[0]
    view.backward()


@program
def inference_tensor_saved_by_a_function(torch):
    def forward(ctx, x, c):
        ctx.save_for_backward(c)
        return x * 2

    c = in_inference_mode(torch)
    function(torch, forward).apply(leaf(torch), c)


def square(torch):
    """A matrix of three rows and columns."""
    return torch.ones(3, 3)


def truths(torch):
    return torch.tensor([True, False, True])


def integers(torch):
    return torch.tensor([1, 2, 3])


@program
def calling_the_node_of_a_function(torch):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    Twice.apply(leaf(torch)).grad_fn(torch.ones(3))


@program
def function_with_an_argument_left_out(torch):
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor=1, shift=0):
            return x * factor + shift

    Scaled.apply(leaf(torch), shift=1)


@program
def gradient_edge_of_several_elements(torch):
    edge = torch.autograd.graph.GradientEdge((leaf(torch) * 2).grad_fn, 0)
    torch.autograd.backward(edge)


@program
def zeros_for_a_gradient_edge(torch):
    x = leaf(torch)
    edge = torch.autograd.graph.get_gradient_edge(x * 2)
    torch.autograd.grad(x.sum(), edge, materialize_grads=True)


@program
def saved_argument_of_a_checkpoint_changed(torch):
    from importlib import import_module

    checkpoint = import_module(torch.__name__ + ".utils.checkpoint").checkpoint
    h = computed(torch)
    y = checkpoint(lambda t: t.exp(), h, use_reentrant=False)
    h.add_(1)
    y.sum().backward()


programs(
    difference_with_truths=lambda torch: leaf(torch) - truths(torch),
    lerp_to_another_type=lambda torch: torch.lerp(leaf(torch), torch.ones(3, dtype=torch.float64), 0.5),
    integer_times_float_alpha=lambda torch: torch.add(integers(torch), integers(torch), alpha=1.5),
    integer_times_bool_alpha=lambda torch: torch.add(integers(torch), integers(torch), alpha=True),
    power_of_truths=lambda torch: truths(torch) ** truths(torch),
    product_of_truths=lambda torch: truths(torch) @ truths(torch),
    sigmoid_linear_unit_of_integers=lambda torch: torch.nn.functional.silu(integers(torch)),
    floor_of_truths=lambda torch: truths(torch).floor(),
    largest_of_truths=lambda torch: truths(torch).topk(1),
    bits_of_two_sizes=lambda torch: integers(torch) & torch.tensor([1, 2]),
    closeness_of_two_types=lambda torch: torch.allclose(leaf(torch), integers(torch)),
    dimension_summed_twice=lambda torch: matrix(torch).sum((0, -2)),
    number_times_vector=lambda torch: torch.tensor(1.0).mv(torch.ones(3)),
    vector_plus_vector_times_matrix=lambda torch: torch.ones(3).addmm(torch.ones(3), square(torch)),
    matrices_of_two_types_plus=lambda torch: leaf(torch).addmm(square(torch), square(torch).double()),
    bias_of_another_type=lambda torch: torch.nn.functional.linear(square(torch), square(torch), torch.ones(2).double()),
    a_word_for_requires_grad=lambda torch: torch.tensor([1.0], requires_grad="yes"),
    stacks_of_two_types=lambda torch: torch.bmm(square(torch)[None], square(torch)[None].double()),
    matrix_transpose_of_a_vector=lambda torch: torch.ones(3).mT,
    outer_product_with_a_matrix=lambda torch: torch.outer(torch.ones(3), square(torch)),
    two_places_of_a_number=lambda torch: torch.tensor(1.0).index_select(0, torch.tensor([0, 0])),
    places_along_an_empty_dimension=lambda torch: torch.ones(2, 0).index_select(1, torch.tensor([0])),
    node_called_with_one_gradient=lambda torch: square(torch).requires_grad_().unbind()[0].grad_fn(square(torch)),
    integer_filled_with_infinity=lambda torch: integers(torch).masked_fill(integers(torch) > 1, float("inf")),
    matrices_of_two_types=lambda torch: square(torch) @ square(torch).double(),
    float_of_a_vector=lambda torch: float(torch.ones(3)),
    set_to_another_type=lambda torch: torch.ones(3).set_(torch.ones(3, dtype=torch.float64)),
    backward_through_set=lambda torch: computed(torch).set_(torch.ones(3)).sum().backward(),
    backward_through_floor_division=lambda torch: (leaf(torch) // 2).sum().backward(),
    floor_division_of_two_sizes=lambda torch: torch.ones(3) // torch.ones(2),
)

programs(number_from_what_requires_grad=lambda torch: float(leaf(torch, 2.0)))

# --- what this engine leaves out: no counterpart in PyTorch ------------------------------------------------

# --- hooks, marks and inputs of the wrong kind -------------------------------------------------------------


def _hooked(torch, hook, kind="register_hook", on_node=False):
    """Backward through a product that has this hook."""
    y = leaf(torch) * 3
    getattr(y.grad_fn if on_node else y, kind)(hook)
    y.sum().backward()


def _marked(torch, mark):
    """A Function whose forward marks a number."""

    class Marks(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            getattr(ctx, mark)(3)
            return x * 2

    Marks.apply(leaf(torch))


def _set_on_ctx(torch, name, value):
    """A Function whose forward sets an attribute of ctx by hand."""

    class Sets(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            setattr(ctx, name, value)
            return x * 2

    Sets.apply(leaf(torch))


def _ask_ctx(torch, name):
    """A Function whose forward reads an attribute of ctx."""

    class Asks(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * getattr(ctx, name)

    Asks.apply(leaf(torch))


def _stop(grad):
    raise StopIteration("enough")


programs(
    hook_changes_the_type=lambda torch: _hooked(torch, lambda g: g.double()),
    hook_stops_an_iteration=lambda torch: _hooked(torch, _stop),
    node_hook_returns_no_tuple=lambda torch: _hooked(torch, lambda gi, go: gi[0], on_node=True),
    node_prehook_returns_a_list=lambda torch: _hooked(torch, lambda go: [go[0]], "register_prehook", on_node=True),
    mark_dirty_a_number=lambda torch: _marked(torch, "mark_dirty"),
    mark_non_differentiable_a_number=lambda torch: _marked(torch, "mark_non_differentiable"),
    marks_are_no_tuple=lambda torch: _set_on_ctx(torch, "to_save", [1]),
    materialize_grads_a_number=lambda torch: _set_on_ctx(torch, "materialize_grads", 3),
    materialize_grads_is_asked_for=lambda torch: _ask_ctx(torch, "materialize_grads"),
    inputs_of_numbers=lambda torch: torch.autograd.grad(computed(torch).sum(), [1.0]),
    copy_construct=lambda torch: torch.tensor(torch.ones(2)),
)

# --- shapes, sizes and numbers that do not fit -------------------------------------------------------------

def _loaded_function(torch):
    file = io.BytesIO()
    torch.save(print, file)
    file.seek(0)
    return torch.load(file)


def _hooks_on_what_was_a_leaf(torch):
    x = torch.ones(2)
    y = x * leaf(torch, 1.0, 2.0)
    x.mul_(y)
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)


def _edge_of_a_leaf_in_inference_mode(torch):
    with torch.inference_mode():
        torch.autograd.graph.get_gradient_edge(leaf(torch))


def _write_beyond_shrunken_memory(torch):
    """A backward pass through a write to a view of memory that its base has exchanged for less."""
    x = leaf(torch) * 1
    view = x[1:]
    x.data = torch.ones(1)
    view.mul_(2)
    x.sum().backward()


def _watched_leaf(torch):
    x = leaf(torch)
    with torch.autograd.graph.register_multi_grad_hook([x], lambda grads: None):
        torch.autograd.grad((x * x).sum(), x)


programs(
    no_threads=lambda torch: torch.set_num_threads(0),
    requires_grad_of_a_number=lambda torch: torch.ones(2).requires_grad_(1),
    increment_version_of_a_number=lambda torch: torch.autograd.graph.increment_version(3),
    increment_version_of_numbers=lambda torch: torch.autograd.graph.increment_version([3]),
    split_by_a_negative_size=lambda torch: matrix(torch).split(-1),
    split_into_negative_sizes=lambda torch: torch.ones(2).split([-1, 3]),
    array_walked_backwards=lambda torch: torch.from_numpy(np.ones(3)[::-1]),
    tensor_of_an_array_walked_backwards=lambda torch: torch.tensor(np.ones(3)[::-1]),
    scatter_by_floats=lambda torch: torch.zeros(2).scatter_add(0, torch.ones(1), torch.ones(1)),
    scatter_of_another_type=lambda torch: torch.zeros(2).scatter_add(0, torch.tensor([0]), torch.ones(1).double()),
    multi_grad_hook_of_a_leaf_in_grad=lambda torch: _watched_leaf(torch),
    inner_of_other_lengths=lambda torch: torch.ones(2).inner(torch.ones(3)),
    tensordot_of_other_lengths=lambda torch: torch.tensordot(matrix(torch), matrix(torch), 1),
    tensordot_over_uneven_lists=lambda torch: torch.tensordot(matrix(torch), matrix(torch), ([0], [0, 1])),
    truth_to_the_power_of_truths=lambda torch: True ** torch.tensor([True]),
    remainder_of_truths=lambda torch: torch.tensor([True]) % torch.tensor([True]),
    fmod_of_truths=lambda torch: torch.fmod(torch.tensor([True]), torch.tensor([True])),
    fmod_by_zero=lambda torch: torch.fmod(torch.tensor([1]), 0),
    index_fill_by_floats=lambda torch: matrix(torch).index_fill_(0, torch.tensor([0.0]), 1.0),
    index_fill_beyond=lambda torch: matrix(torch).index_fill_(0, torch.tensor([5]), 1.0),
    index_fill_by_a_matrix=lambda torch: matrix(torch).index_fill_(0, torch.ones(1, 1).long(), 0.0),
    index_fill_with_a_vector=lambda torch: matrix(torch).index_fill_(0, torch.tensor([0]), torch.ones(2)),
    index_copy_of_other_slices=lambda torch: torch.ones(3, 2).index_copy_(0, torch.tensor([0]), torch.ones(1, 3)),
    index_copy_by_floats=lambda torch: matrix(torch).index_copy_(0, torch.tensor([0.0]), torch.ones(1, 3)),
    index_copy_of_another_type=lambda torch: matrix(torch).index_copy_(0, torch.tensor([0]), torch.ones(1, 3).double()),
    index_copy_by_a_matrix=lambda torch: matrix(torch).index_copy_(0, torch.ones(1, 1).long(), torch.ones(1, 3)),
    index_copy_of_a_number=lambda torch: torch.ones(3).index_copy_(0, torch.tensor([0, 1]), torch.tensor(1.0)),
    index_copy_of_fewer_dimensions=lambda torch: matrix(torch).index_copy_(0, torch.tensor([0]), torch.ones(3)),
    index_copy_of_too_many=lambda torch: torch.ones(3).index_copy_(0, torch.tensor([0]), torch.ones(2)),
    index_copy_beyond=lambda torch: matrix(torch).index_copy_(0, torch.tensor([5]), torch.ones(1, 3)),
    index_add_of_a_number=lambda torch: torch.tensor(1.0).index_add(0, torch.tensor([0, 0]), torch.tensor(1.0)),
    take_along_dim_of_a_number=lambda torch: torch.take_along_dim(torch.tensor(1.0), torch.tensor(0), 0),
    take_along_dim_of_fewer=lambda torch: torch.take_along_dim(torch.ones(3), torch.tensor([[0]]), 0),
    diagonal_of_one_dimension=lambda torch: matrix(torch).diagonal(0, 1, 1),
    movedim_of_fewer=lambda torch: matrix(torch).movedim((0, 1), (0,)),
    movedim_of_one_twice=lambda torch: matrix(torch).movedim((0, -2), (0, 1)),
    hstack_of_nothing=lambda torch: torch.hstack([]),
    isclose_by_less_than_nothing=lambda torch: torch.isclose(torch.ones(1), torch.ones(1), rtol=-1.0),
    arange_of_truth_values=lambda torch: torch.arange(0, 2, dtype=torch.bool),
    arange_without_end=lambda torch: torch.arange(0, float("inf")),
    roll_by_nothing=lambda torch: torch.roll(torch.ones(2), ()),
    var_mean_of_integers=lambda torch: torch.var_mean(torch.tensor([1, 2])),
    slices_have_no_derivative=lambda torch: torch.unique(matrix(torch).requires_grad_(), dim=0).sum().backward(),
    cdist_of_two_widths=lambda torch: torch.cdist(torch.ones(2, 3), torch.ones(2, 2)),
    cross_of_fewer=lambda torch: torch.cross(torch.ones(1, 3), torch.ones(3), dim=-1),
    cross_in_the_plane=lambda torch: torch.cross(torch.ones(2), torch.ones(2), dim=-1),
    cross_of_other_lengths=lambda torch: torch.cross(torch.ones(2, 3), torch.ones(4, 3), dim=1),
    cross_without_a_three=lambda torch: torch.cross(torch.ones(2), torch.ones(2)),
    multinomial_of_integers=lambda torch: torch.multinomial(torch.tensor([1, 2]), 1),
    multinomial_of_a_block=lambda torch: torch.multinomial(torch.ones(1, 1, 1), 1),
    multinomial_of_none=lambda torch: torch.multinomial(torch.ones(2), 0),
    multinomial_of_too_many=lambda torch: torch.multinomial(torch.ones(2), 3),
    multinomial_of_negative=lambda torch: torch.multinomial(torch.tensor([-1.0, 2.0]), 1),
    multinomial_of_zeros=lambda torch: torch.multinomial(torch.zeros(2), 1),
    exponential_of_integers=lambda torch: torch.tensor([1]).exponential_(),
    exponential_without_rate=lambda torch: torch.ones(1).exponential_(0.0),
    index_add_of_another_type=lambda torch: matrix(torch).index_add(0, torch.tensor([0]), torch.ones(1, 3).double()),
    einsum_of_too_many=lambda torch: torch.einsum("ij", matrix(torch), torch.ones(2)),
    einsum_of_too_few=lambda torch: torch.einsum("ij,jk", matrix(torch)),
    einsum_of_other_dimensions=lambda torch: torch.einsum("i", matrix(torch)),
    einsum_with_a_new_letter=lambda torch: torch.einsum("i->j", torch.ones(2)),
    einsum_with_a_letter_twice=lambda torch: torch.einsum("ij->ii", torch.ones(2, 2)),
    flip_a_dimension_twice=lambda torch: matrix(torch).flip(0, -2),
    strides_of_another_length=lambda torch: torch.ones(4).as_strided((2,), (1, 1)),
    strides_below_zero=lambda torch: torch.ones(4).as_strided((2,), (-1,)),
    strides_out_of_the_storage=lambda torch: torch.ones(4).as_strided((2, 2), (9, 1)),
    windows_too_long=lambda torch: torch.ones(3).unfold(0, 4, 1),
    windows_without_a_step=lambda torch: torch.ones(3).unfold(0, 2, 0),
    sum_to_a_size_that_does_not_expand=lambda torch: matrix(torch).sum_to_size(2, 2),
    unflatten_into_other_sizes=lambda torch: torch.ones(6).unflatten(0, (4, -1)),
    uniform_upside_down=lambda torch: torch.ones(2).uniform_(3, 1),
    normal_with_a_negative_spread=lambda torch: torch.ones(2).normal_(0, -1),
    text_as_data=lambda torch: torch.tensor("a"),
    text_among_numbers=lambda torch: torch.tensor([1, "a"]),
    none_as_data=lambda torch: torch.tensor([None]),
    zeros_of_a_negative_length=lambda torch: torch.zeros(2, -3),
    ones_of_a_negative_length=lambda torch: torch.ones(2, -3),
    arange_without_a_step=lambda torch: torch.arange(0, 3, 0),
    arange_the_wrong_way=lambda torch: torch.arange(3, 0),
    linspace_of_minus_one=lambda torch: torch.linspace(0, 1, -1),
    eye_of_minus_one=lambda torch: torch.eye(-1),
    random_integers=lambda torch: torch.randn(2, dtype=torch.int64),
    randint_of_nothing=lambda torch: torch.randint(0, (2,)),
    index_by_text=lambda torch: torch.ones(2)["a"],
    assign_text=lambda torch: torch.ones(2).__setitem__(0, "a"),
    weight_that_requires_grad=lambda torch: torch.nn.functional.nll_loss(
        matrix(torch), torch.tensor([0, 1]), leaf(torch)
    ),
    addcdiv_of_integers=lambda torch: torch.ones(2).addcdiv(torch.tensor([1, 2]), torch.tensor([1, 2])),
    addcdiv_by_integers=lambda torch: leaf(torch).addcdiv(leaf(torch), torch.tensor([1, 2, 3])).sum().backward(),
    hooks_on_what_was_a_leaf=lambda torch: _hooks_on_what_was_a_leaf(torch),
    edge_of_a_leaf_in_inference_mode=lambda torch: _edge_of_a_leaf_in_inference_mode(torch),
    write_beyond_shrunken_memory=lambda torch: _write_beyond_shrunken_memory(torch),
    dot_of_two_types=lambda torch: torch.dot(torch.ones(2), torch.ones(2, dtype=torch.float64)),
)

OURS_ONLY = {}


def ours_only(**functions):
    """Programs whose error is this engine's own: PyTorch does something else here, or can do more."""
    for name, function in functions.items():
        OURS_ONLY[name] = function


ours_only(
    left_out_name=lambda torch: torch.compile,
    unknown_name=lambda torch: torch.nothing_of_this_name,
    cuda_tensor=lambda torch: torch.ones(2, device="cuda"),
    to_cuda=lambda torch: torch.ones(2).to("cuda"),
    cuda_device=lambda torch: torch.device("cuda"),
    left_out_of_linalg=lambda torch: torch.linalg.det(torch.ones(1, 1)),
    view_as_another_dtype=lambda torch: torch.ones(2).view(torch.int64),
    norm_of_a_kind=lambda torch: torch.ones(2, 2).norm("nuc"),
    converted_to_int32=lambda torch: torch.ones(2).int(),
    batched_grad=lambda torch: torch.autograd.grad(computed(torch), leaf(torch), is_grads_batched=True),
    element_type=lambda torch: torch.from_numpy(np.zeros(2, np.int8)),
    dtype_by_name=lambda torch: torch.ones(2, dtype="float32"),
    combined_with_text=lambda torch: torch.mul(torch.ones(2), "a"),
    # PyTorch names tensor1
    product_with_text_added=lambda torch: torch.ones(2).addcmul_("a", torch.ones(2)),
    # PyTorch trips over its own search for the position here
    backward_with_the_second_gradient_wrong=lambda torch: torch.autograd.backward(
        [computed(torch), computed(torch)], [torch.ones(3), torch.ones(4)]
    ),
    unknown_name_in_autograd=lambda torch: torch.autograd.nothing_of_this_name,
    subclass_of_tensor=lambda torch: type("Mine", (torch.Tensor,), {})([1.0]),
    unknown_name_in_graph=lambda torch: torch.autograd.graph.nothing_of_this_name,
    left_out_of_autograd=lambda torch: torch.autograd.forward_ad,
    left_out_of_tensor=lambda torch: torch.ones(2).to_sparse,
    arange_without_an_end=lambda torch: torch.arange(),
    clamp_by_a_number_and_a_tensor=lambda torch: torch.ones(3).clamp(0.0, torch.ones(3)),
    inverse_of_a_singular_matrix=lambda torch: torch.linalg.inv(torch.ones(2, 2)),
    load_of_more_than_weights=_loaded_function,
    sizes_of_text=lambda torch: torch.zeros("a"),
    bernoulli_of_more_than_1=lambda torch: torch.bernoulli(torch.tensor([2.0])),
    generator_of_another_kind=lambda torch: torch.rand(2, generator=3),
    state_of_numbers_of_another_size=lambda torch: torch.Generator().set_state(torch.zeros(2)),
    sum_of_a_number=lambda torch: torch.sum(3.0),
    dim_by_name=lambda torch: torch.ones(2).sum("a"),
)


programs(
    notes_of_a_node_replaced=lambda torch: setattr(computed(torch).grad_fn, "metadata", {}),
    edges_of_a_node_deleted=lambda torch: delattr(computed(torch).grad_fn, "next_functions"),
    sum_over_text=lambda torch: torch.ones(2).sum("a"),
    mean_over_a_float=lambda torch: torch.ones(2).mean(1.5),
    sum_that_keeps_1=lambda torch: torch.ones(2).sum(0, keepdim=1),
    sum_that_keeps_what=lambda torch: torch.ones(2).sum(keepdim=True),
    sum_in_no_type=lambda torch: torch.ones(2).sum(0, dtype=3),
    joined_number=lambda torch: torch.vstack(3),
    grid_of_another_indexing=lambda torch: torch.meshgrid(torch.ones(2), torch.ones(2), indexing="zz"),
    windows_of_negative_length=lambda torch: torch.ones(2).unfold(0, -1, 1),
    largest_that_keeps_what=lambda torch: torch.ones(2).max(keepdim=True),
    sum_into_text=lambda torch: torch.add(torch.ones(2), torch.ones(2), out="a"),
    added_along_no_dimension=lambda torch: matrix(torch).index_add(1, torch.tensor([0]), torch.ones(1)),
    split_by_text=lambda torch: torch.ones(2).split(["a"]),
    tensordot_over_text=lambda torch: torch.tensordot(torch.ones(2), torch.ones(2), "a"),
    narrow_from_a_float=lambda torch: torch.ones(2).narrow(0, torch.tensor(1.0), 1),
    type_of_a_number=lambda torch: torch.ones(2).type(3),
    type_of_another_name=lambda torch: torch.ones(2).type("a"),
    to_a_list=lambda torch: torch.ones(2).to([1]),
    inverse_of_a_vector=lambda torch: torch.linalg.inv(torch.ones(2)),
    inverse_of_no_square=lambda torch: torch.linalg.inv(matrix(torch)),
    inverse_of_integers=lambda torch: torch.linalg.inv(torch.tensor([[1, 2], [3, 4]])),
    power_of_two_numbers=lambda torch: torch.pow(2.0, 3),
    fmod_of_a_number=lambda torch: torch.fmod(2, torch.ones(2)),
    truths_among_truths=lambda torch: torch.isin(torch.ones(2) > 0, torch.ones(2) > 0),
    repeated_less_than_never=lambda torch: torch.ones(2).repeat_interleave(-1),
    repeated_by_a_matrix=lambda torch: torch.ones(2).repeat_interleave(torch.tensor([[1, 2]]), 0),
    repeated_by_a_longer_vector=lambda torch: torch.ones(2).repeat_interleave(torch.tensor([1, 2, 3])),
    repeated_by_floats=lambda torch: torch.repeat_interleave(torch.ones(2)),
    repeated_by_negative_numbers=lambda torch: torch.repeat_interleave(torch.tensor([-1])),
    einsum_without_an_equation=lambda torch: torch.einsum(None, torch.ones(2)),
    einsum_of_text=lambda torch: torch.einsum("i->i", "a"),
    distances_of_a_negative_power=lambda torch: torch.cdist(matrix(torch), matrix(torch), -1.0),
    distances_of_a_vector=lambda torch: torch.cdist(torch.ones(3), matrix(torch)),
    ones_in_a_type_by_name=lambda torch: torch.ones(2, dtype="float32"),
)

ours_only(
    tensor_in_a_type_by_name=lambda torch: torch.tensor(1, dtype="float32"),
    tensor_that_requires_grad_1=lambda torch: torch.tensor(1.0, requires_grad=1),
    ones_that_require_grad_1=lambda torch: torch.ones(2, requires_grad=1),
    random_integers_below_text=lambda torch: torch.randint("a", (2,)),
    grid_of_a_matrix=lambda torch: torch.meshgrid(matrix(torch), indexing="ij"),
)


# --- relics and what is no function ------------------------------------------------------------------------


def opened(block):
    with block:
        return None


@program
def gradients_under_two_names(torch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the old name alone is a warning
        torch.autograd.backward([computed(torch)], torch.ones(2), grad_variables=torch.ones(2))


@program
def raw_slots_of_several_after_release(torch):
    y = leaf(torch)[torch.tensor([0, 1])]
    y.sum().backward()
    return y.grad_fn._raw_saved_indices


@program
def raw_slots_of_a_function_after_release(torch):
    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    y = Keeps.apply(leaf(torch))
    y.sum().backward()
    return y.grad_fn._raw_saved_tensors


programs(
    only_inputs_warns=lambda torch: torch.autograd.grad(computed(torch).sum(), leaf(torch), only_inputs=False),
    function_instance_warns=lambda torch: type("Mine", (torch.autograd.Function,), {"__module__": "lesson"})(),
    decorated_class_warns=lambda torch: torch.no_grad()(int),
    register_hooks_takes_functions=lambda torch: leaf(torch).exp().grad_fn._raw_saved_result.register_hooks(1, 2),
    saved_tensors_hooks_takes_functions=lambda torch: opened(torch.autograd.graph.saved_tensors_hooks(1, 2)),
)


# --- nothing where something is needed ---------------------------------------------------------------------


programs(
    too_large_an_integer=lambda torch: torch.tensor([2**70]),
    tensor_of_vectors=lambda torch: torch.tensor([torch.ones(2), torch.ones(2)]),
    median_along_nothing=lambda torch: torch.ones(0, 3).median(0),
    norm_of_nothing=lambda torch: torch.ones(0).norm(-1),
    norm_along_nothing=lambda torch: torch.ones(0, 3).norm(float("inf"), 0),
    place_along_a_missing_dimension=lambda torch: torch.ones(()).argmax(1),
    roll_by_two_along_one=lambda torch: torch.ones(2, 2).roll((1, 1), 0),
    scatter_add_of_a_longer_source=lambda torch: leaf(torch)
    .scatter_add(0, torch.tensor([0]), leaf(torch)).sum().backward(),
    new_of_another_type=lambda torch: torch.ones(1).new(torch.ones(1, dtype=torch.int64)) and None,
    flatten_backwards=lambda torch: torch.ones(2, 2).flatten(1, 0),
    random_of_nothing=lambda torch: torch.zeros(2).random_(5, 5),
    bernoulli_of_two=lambda torch: torch.zeros(2).bernoulli_(2.0),
    variance_of_one=lambda torch: torch.ones(1).var(),
    unique_has_no_derivative=lambda torch: leaf(torch).unique().sum().backward(),
)


# --- numbers, limits and sources of random numbers ---------------------------------------------------------


programs(
    einsum_of_other_lengths=lambda torch: torch.einsum("i,i", torch.ones(2), torch.ones(3)),
    full_of_text=lambda torch: torch.full((2,), "a"),
    full_without_a_shape=lambda torch: torch.full(2, 3.0),
    zeros_of_no_shape=lambda torch: torch.zeros(),
    ones_of_no_shape=lambda torch: torch.ones(),
    power_of_none=lambda torch: torch.ones(2) ** None,
    remainder_of_text=lambda torch: torch.ones(2) % "a",
    sum_of_a_leaf_as_integers=lambda torch: leaf(torch).sum(dtype=torch.int64),
    norm_of_integers_as_floats=lambda torch: torch.tensor([3, 4]).norm(dtype=torch.float32),
    norm_of_doubles_as_floats=lambda torch: torch.ones(2).double().norm(dtype=torch.float32),
    topk_of_fewer_than_none=lambda torch: torch.ones(2).topk(-1),
    split_by_a_float=lambda torch: torch.ones(4).split(2.0),
    deleted_item=lambda torch: _deleted(torch.ones(2)),
    text_in_a_tensor=lambda torch: "a" in torch.ones(2),
    array_assigned=lambda torch: torch.ones(2).__setitem__(slice(None), np.ones(2)),
    take_along_dim_of_other_lengths=lambda torch: torch.take_along_dim(matrix(torch, 3), torch.zeros(2, 1).long(), 1),
    normal_with_a_negative_deviation=lambda torch: torch.normal(0.0, -1.0, (2,)),
    normal_with_negative_deviations=lambda torch: torch.normal(torch.zeros(2), torch.tensor([1.0, -1.0])),
    finfo_of_integers=lambda torch: torch.finfo(torch.int64),
    iinfo_of_floats=lambda torch: torch.iinfo(torch.float32),
    iinfo_of_truth=lambda torch: torch.iinfo(torch.bool),
    finfo_of_a_number=lambda torch: torch.finfo(3),
    seed_too_large=lambda torch: torch.manual_seed(2**64),
    seed_of_text=lambda torch: torch.Generator().manual_seed("a"),
    state_of_numbers_in_a_list=lambda torch: torch.Generator().set_state([1]),
    list_not_copied=lambda torch: torch.asarray([1], copy=False),
    array_of_another_type_not_copied=lambda torch: torch.asarray(np.ones(1), dtype=torch.int64, copy=False),
)


def _deleted(tensor):
    del tensor[0]


# --- the tests ---------------------------------------------------------------------------------------------


def outcome(run, torch):
    """What a program raises, as 'Type: first line'; C++ adds to warnings where they come from, which is cut."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run(torch)
    except Exception as error:
        text = str(error).split(" (Triggered internally at ")[0].splitlines() or [""]
        return f"{type(error).__name__}: {text[0]}", error
    return "nothing raised", None


def read_golden():
    lines = GOLDEN.read_text(encoding="utf-8").splitlines()
    return dict(line.split(" | ", 1) for line in lines)


EXPECTED = read_golden() if GOLDEN.exists() else {}


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_error_as_pytorch(torch, name):
    """Our engine and PyTorch raise the same type with the same text, character by character."""
    said, _ = outcome(PROGRAMS[name], torch)

    assert EXPECTED[name] == said


@pytest.mark.parametrize("name", OURS_ONLY)
def test_own_error_keeps_its_text(name):
    """Errors about what this engine leaves out keep their text too."""
    said, _ = outcome(OURS_ONLY[name], course_lib)

    assert EXPECTED["ours: " + name] == said


def test_every_error_text_belongs_to_a_program():
    """The list of expected texts holds one line for each program and nothing else."""
    assert sorted([*PROGRAMS, *("ours: " + name for name in OURS_ONLY)]) == sorted(EXPECTED)


# --- no error escapes the list -----------------------------------------------------------------------------

# Raised only where no program can get, or tested in the file named here.
ELSEWHERE = {
    ("engine/graph.py", "apply"): "every kind of node has its own",
    ("engine/threads.py", "on_another_stack"): "tests/engine/test_nested_passes.py",
    ("engine/ops.py", "__getattr__"): "what no row has, only Python itself asks for: a copy, a pickle",
}
NN = ("kernels_nn.py", "derivatives_nn.py")
FOLDERS = ".", "arrays", "engine", "surface"
LISTED_FILES = [p for folder in FOLDERS for p in sorted(ENGINE.glob(f"{folder}/*.py")) if p.name not in NN]
LISTED_FILES += [ENGINE / "autograd/__init__.py", ENGINE / "autograd/graph.py", ENGINE / "autograd/function.py"]


def raise_sites():
    """(file, first line, last line, function) of every raise statement in the engine."""
    sites = []
    for path in LISTED_FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and node.exc is not None:
                around = [f.name for f in functions if f.lineno <= node.lineno <= f.end_lineno]
                sites.append((path, node.lineno, node.end_lineno, around[-1] if around else ""))
    return sites


def test_every_raise_of_the_engine_has_a_program():
    """Each raise statement in the engine is reached by one of the programs: its text is therefore pinned."""
    reached = set()
    for run in (*PROGRAMS.values(), *OURS_ONLY.values()):
        error = outcome(run, course_lib)[1]
        while error is not None:
            for frame in traceback.extract_tb(error.__traceback__):
                reached.add((frame.filename, frame.lineno))
            error = error.__context__
    missed = [
        f"{path.relative_to(ENGINE)}:{first} in {function}"
        for path, first, last, function in raise_sites()
        if not any((str(path), line) in reached for line in range(first, last + 1))
        and (path.relative_to(ENGINE).as_posix(), function) not in ELSEWHERE
    ]

    assert missed == []


def test_every_message_constant_is_pinned():
    """Each text in errors.py and arrays/messages.py occurs in one of the expected messages, up to its first blank."""
    written = {**vars(course_lib.arrays.errors), **vars(course_lib.arrays.messages)}
    texts = {n: re.split(r"\{\w*\}", v)[0] for n, v in written.items() if n.isupper() and isinstance(v, str)}
    texts = {name: text for name, text in texts.items() if name[0] != "_"}
    first_lines = {name: text.strip().splitlines()[0] for name, text in texts.items()}
    missed = [name for name, line in first_lines.items() if not any(line in said for said in EXPECTED.values())]

    assert texts and missed == []


if __name__ == "__main__":
    import torch as real

    texts = {name: outcome(run, real)[0] for name, run in PROGRAMS.items()}
    texts |= {"ours: " + name: outcome(run, course_lib)[0] for name, run in OURS_ONLY.items()}
    GOLDEN.write_text("".join(f"{name} | {text}\n" for name, text in texts.items()), encoding="utf-8")
