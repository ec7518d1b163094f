"""Every error of engine/: its exact text, the same on real PyTorch, and no error that is not listed here.

The expected texts stand in golden/errors.txt, one line for each program below. After changing a program,
`python tests/engine/test_errors.py` writes that file again from real PyTorch.
"""

import ast
import io
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


def matrix(torch, rows=2, columns=3):
    return torch.arange(float(rows * columns)).reshape(rows, columns)


def view_from_no_grad(torch):
    """Part of a leaf, taken while nothing is recorded."""
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        return x[1:]


def same(tensor):
    """A hook that changes nothing."""
    return tensor


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


# --- the version check: who was changed, when, and how often -----------------------------------------------


@program
def version_of_a_leaf(torch):
    x = leaf(torch)
    y = x * x
    x.detach().mul_(2)
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
def version_of_a_base_written_through_a_view(torch):
    h = computed(torch)
    y = h * h
    h[0] = 5.0
    y.sum().backward()


@program
def version_of_the_second_output_of_a_function(torch):
    def forward(ctx, x):
        a, b = x + 1, x + 2
        ctx.save_for_backward(b)
        return a, b

    Two = function(torch, forward, lambda ctx, grad_a, grad_b: grad_a * ctx.saved_tensors[0] + grad_b, name="Two")

    a, b = Two.apply(leaf(torch))
    b.mul_(3)
    (a + b).sum().backward()


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
def freed_ctx(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    Square = function(torch, forward, lambda ctx, grad: 2 * grad * ctx.saved_tensors[0], name="Square")

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
    write_to_a_view_of_a_leaf=lambda torch: leaf(torch)[1:].mul_(2),
    write_wider_than_the_target=lambda torch: torch.ones(1).add_(torch.ones(3)),
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


# --- views that may not be written to ----------------------------------------------------------------------

programs(
    write_to_an_output_of_unbind=lambda torch: computed(torch).unbind()[1].mul_(2),
    write_to_an_output_of_split=lambda torch: computed(torch).split(2)[0].mul_(2),
    write_to_a_view_of_an_output_of_unbind=lambda torch: computed(torch).view(1, 3).unbind()[0][1:].mul_(2),
)


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
def write_to_the_base_of_a_no_grad_view(torch):
    y = computed(torch)
    with torch.no_grad():
        view = y[1:]
    y.mul_(2)
    view.is_leaf  # noqa: B018


@program
def write_to_an_input_that_a_function_returned(torch):
    Same = function(torch, lambda ctx, x: x, name="Same")

    Same.apply(computed(torch)).mul_(2)


@program
def write_to_the_base_of_a_view_that_a_function_returned(torch):
    Part = function(torch, lambda ctx, x: x[:1], lambda ctx, grad: grad.expand(3), name="Part")

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
)


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
    grad_is_a_number=lambda torch: setattr(leaf(torch), "grad", 1.0),
    grad_is_a_list=lambda torch: setattr(leaf(torch), "grad", [1.0, 2.0, 3.0]),
    grad_has_the_wrong_shape=lambda torch: setattr(leaf(torch), "grad", torch.ones(1, 3)),
    grad_has_the_wrong_dtype=lambda torch: setattr(leaf(torch), "grad", torch.ones(3, dtype=torch.float64)),
    grad_is_integers=lambda torch: setattr(leaf(torch), "grad", torch.arange(3)),
    gradient_edge_of_a_plain_tensor=lambda torch: torch.autograd.graph.get_gradient_edge(torch.ones(3)),
)


@program
def grad_is_the_tensor_itself(torch):
    x = leaf(torch)
    x.grad = x


# --- backward and grad -------------------------------------------------------------------------------------

programs(
    backward_of_a_vector=lambda torch: computed(torch).backward(),
    backward_of_a_plain_tensor=lambda torch: torch.tensor(1.0).backward(),
    backward_of_two_the_second_plain=lambda torch: torch.autograd.backward([computed(torch).sum(), torch.tensor(1.0)]),
    backward_with_a_number=lambda torch: computed(torch).backward(1.0),
    backward_with_a_list=lambda torch: torch.autograd.backward([computed(torch)], [[1.0]]),
    backward_with_too_short_a_gradient=lambda torch: computed(torch).backward(torch.ones(2)),
    backward_with_no_inputs=lambda torch: computed(torch).sum().backward(inputs=[]),
    grad_of_no_inputs=lambda torch: torch.autograd.grad(computed(torch).sum(), []),
    grad_for_a_plain_tensor=lambda torch: torch.autograd.grad(computed(torch).sum(), torch.ones(3)),
    grad_for_an_unused_input=lambda torch: torch.autograd.grad(computed(torch).sum(), leaf(torch)),
    grad_with_contradicting_flags=lambda torch: torch.autograd.grad(
        computed(torch).sum(), leaf(torch), allow_unused=False, materialize_grads=True
    ),
    grad_with_too_few_gradients=lambda torch: torch.autograd.grad(
        [computed(torch), computed(torch)], leaf(torch), [torch.ones(3)]
    ),
)


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
    hook_with_a_name_changes_the_shape=lambda torch: with_hook(torch, shorten),
)


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


# --- custom Functions --------------------------------------------------------------------------------------


def save(what):
    def forward(ctx, x):
        ctx.save_for_backward(what)
        return x * 2

    return forward


programs(
    function_without_forward=lambda torch: type(torch.autograd.Function)("Fn", (torch.autograd.Function,), {}).apply(
        leaf(torch)
    ),
    function_without_backward=lambda torch: function(torch, twice, None).apply(leaf(torch)).sum().backward(),
    function_returns_too_many_gradients=lambda torch: run(torch, twice, lambda ctx, g: (g, g)),
    function_returns_a_gradient_for_a_number=lambda torch: run(torch, twice, lambda ctx, g: (g, g), 3),
    function_returns_a_number=lambda torch: run(torch, twice, lambda ctx, g: 1.0),
    function_returns_a_list=lambda torch: run(torch, twice, lambda ctx, g: [g]),
    function_returns_too_long_a_gradient=lambda torch: run(torch, twice, lambda ctx, g: torch.ones(4)),
    function_saves_a_number=lambda torch: run(torch, save(3), lambda ctx, g: g),
    function_saves_a_list=lambda torch: run(torch, save([1.0]), lambda ctx, g: g),
    function_with_an_unknown_keyword=lambda torch: function(torch, lambda ctx, x: x * 2).apply(leaf(torch), nope=1),
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
def once_differentiable_twice(torch):
    once = torch.autograd.function.once_differentiable

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    x = leaf(torch)
    y = function(torch, forward, once(lambda ctx, g: 2 * ctx.saved_tensors[0] * g)).apply(x)
    (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    g.sum().backward()


# --- reductions, products ----------------------------------------------------------------------------------

programs(
    gradient_edge_of_a_view_from_no_grad=lambda torch: torch.autograd.graph.get_gradient_edge(view_from_no_grad(torch)),
)

# --- arguments of single operations ------------------------------------------------------------------------

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


@program
def calling_the_node_of_a_function(torch):
    Twice = function(torch, lambda ctx, x: x * 2, name="Twice")

    Twice.apply(leaf(torch)).grad_fn(torch.ones(3))


@program
def function_with_an_argument_left_out(torch):
    Scaled = function(torch, lambda ctx, x, factor=1, shift=0: x * factor + shift, name="Scaled")

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


programs(
    node_called_with_one_gradient=lambda torch: square(torch).requires_grad_().unbind()[0].grad_fn(square(torch)),
)


# --- hooks, marks and inputs of the wrong kind -------------------------------------------------------------


def _hooked(torch, hook, kind="register_hook", on_node=False):
    """Backward through a product that has this hook."""
    y = leaf(torch) * 3
    getattr(y.grad_fn if on_node else y, kind)(hook)
    y.sum().backward()


def _marked(torch, mark):
    """A Function whose forward marks a number."""

    def forward(ctx, x):
        getattr(ctx, mark)(3)
        return x * 2

    Marks = function(torch, forward, name="Marks")

    Marks.apply(leaf(torch))


programs(
    hook_changes_the_type=lambda torch: _hooked(torch, lambda g: g.double()),
    node_hook_returns_no_tuple=lambda torch: _hooked(torch, lambda gi, go: gi[0], on_node=True),
    node_prehook_returns_a_list=lambda torch: _hooked(torch, lambda go: [go[0]], "register_prehook", on_node=True),
    mark_dirty_a_number=lambda torch: _marked(torch, "mark_dirty"),
    mark_non_differentiable_a_number=lambda torch: _marked(torch, "mark_non_differentiable"),
    inputs_of_numbers=lambda torch: torch.autograd.grad(computed(torch).sum(), [1.0]),
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


def _watched_leaf(torch):
    x = leaf(torch)
    with torch.autograd.graph.register_multi_grad_hook([x], lambda grads: None):
        torch.autograd.grad((x * x).sum(), x)


programs(
    increment_version_of_a_number=lambda torch: torch.autograd.graph.increment_version(3),
    increment_version_of_numbers=lambda torch: torch.autograd.graph.increment_version([3]),
    multi_grad_hook_of_a_leaf_in_grad=lambda torch: _watched_leaf(torch),
    hooks_on_what_was_a_leaf=lambda torch: _hooks_on_what_was_a_leaf(torch),
    edge_of_a_leaf_in_inference_mode=lambda torch: _edge_of_a_leaf_in_inference_mode(torch),
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
    inverse_of_a_singular_matrix=lambda torch: torch.linalg.inv(torch.ones(2, 2)),
    load_of_more_than_weights=_loaded_function,
    sizes_of_text=lambda torch: torch.zeros("a"),
    bernoulli_of_more_than_1=lambda torch: torch.bernoulli(torch.tensor([2.0])),
    generator_of_another_kind=lambda torch: torch.rand(2, generator=3),
    state_of_numbers_of_another_size=lambda torch: torch.Generator().set_state(torch.zeros(2)),
    sum_of_a_number=lambda torch: torch.sum(3.0),
    exponential_of_text=lambda torch: torch.exp("a"),
    dim_that_is_not_there=lambda torch: torch.ones(2).cumsum(1),
    dim_by_name=lambda torch: torch.ones(2).cumsum("a"),
)


programs(
    sum_in_no_type=lambda torch: torch.ones(2).sum(0, dtype=3),
)

ours_only(
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
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    Keeps = function(torch, forward, lambda ctx, grad: grad * 2, name="Keeps")

    y = Keeps.apply(leaf(torch))
    y.sum().backward()
    return y.grad_fn._raw_saved_tensors


programs(
    only_inputs_warns=lambda torch: torch.autograd.grad(computed(torch).sum(), leaf(torch), only_inputs=False),
    register_hooks_takes_functions=lambda torch: leaf(torch).exp().grad_fn._raw_saved_result.register_hooks(1, 2),
    saved_tensors_hooks_takes_functions=lambda torch: opened(torch.autograd.graph.saved_tensors_hooks(1, 2)),
)


# --- numbers, limits and sources of random numbers ---------------------------------------------------------


def made_in_inference_mode(torch):
    with torch.inference_mode():
        return torch.ones(3)


programs(
    inference_tensor_saved=lambda torch: leaf(torch) * made_in_inference_mode(torch),
    numpy_of_a_leaf=lambda torch: leaf(torch).numpy(),
    shapes_that_do_not_broadcast=lambda torch: torch.ones(2, 3) + torch.ones(2, 2),
    fractions_written_to_integers=lambda torch: torch.ones(2, dtype=torch.int64).add_(0.5),
    factor_of_text=lambda torch: torch.ones(2).addcmul(torch.ones(2), torch.ones(2), value="a"),
)


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
    ("autograd/graph.py", "__enter__"): "tests/engine/test_saved.py",
    ("autograd/graph.py", "node_of"): "tests/programs/gradchecks.py",
    ("autograd/graph.py", "register_multi_grad_hook"): "tests/programs/gradchecks.py",
    ("autograd/graph.py", "unpack"): "tests/programs/gradchecks.py",
    ("autograd/graph.py", "allow_mutation_on_saved_tensors"): "tests/programs/gradchecks.py",
    ("engine/ops.py", "__getattr__"): "what no row has, only Python itself asks for: a copy, a pickle",
}
LISTED_FILES = sorted(ENGINE.glob("engine/*.py"))
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


if __name__ == "__main__":
    import torch as real

    texts = {name: outcome(run, real)[0] for name, run in PROGRAMS.items()}
    texts |= {"ours: " + name: outcome(run, course_lib)[0] for name, run in OURS_ONLY.items()}
    GOLDEN.write_text("".join(f"{name} | {text}\n" for name, text in texts.items()), encoding="utf-8")
