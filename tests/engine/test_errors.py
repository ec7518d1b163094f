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
PROGRAMS, OURS_ONLY = {}, {}


def programs(into=PROGRAMS, **functions):
    """Add functions of `torch` that must raise to the table, under their own names."""
    assert not set(into) & set(functions)
    into.update(functions)


# --- what programs are made of -----------------------------------------------------------------------------


def leaf(torch, *values, **options):
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True, **options)


def computed(torch, *values, **options):
    """A tensor with history that nothing has saved."""
    return leaf(torch, *values, **options) + 0


def made_in(mode, make):
    """What `make` gives in a grad mode."""
    with mode:
        return make()


def quietly(make):
    """What `make` does without its warnings: the program is about the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


def stale(h, use, *writes):
    """A backward pass through use(h), after writes to h."""
    y = use(h)
    for write in writes:
        write(h)
    y.sum().backward()
    return y


def after_backward(y, use=lambda y: y.backward()):
    """What is done with a result whose graph has been released."""
    y.sum().backward()
    return use(y)


def hooked(y, hook, kind="register_hook", on_node=False):
    """A backward pass through a result that has this hook."""
    getattr(y.grad_fn if on_node else y, kind)(hook)
    y.sum().backward()


def given_hooks(y, slot, *pairs):
    """Pairs of hooks given to one slot of a node. (The node must live on: PyTorch's slots only point into it.)"""
    raw = getattr(y.grad_fn, "_raw_saved_" + slot)
    for pair in pairs:
        raw.register_hooks(*pair)


def packed(torch, pack, unpack, use, inside=lambda y: None):
    """A result whose saved tensors went through hooks."""
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = use(leaf(torch))
        inside(y)
    return y


def same(tensor):
    """A hook that changes nothing."""
    return tensor


SAME = same, same


def function(torch, forward, backward=lambda ctx, *grads: grads[0], name="Fn", **more):
    """A Function class with the given methods."""
    methods = {"forward": staticmethod(forward), **{key: staticmethod(method) for key, method in more.items()}}
    if backward is not None:
        methods["backward"] = staticmethod(backward)
    return type(torch.autograd.Function)(name, (torch.autograd.Function,), methods)


def run(torch, forward, backward, *extra, **more):
    """Forward and backward of a Function of a vector."""
    return after_backward(function(torch, forward, backward, **more).apply(leaf(torch), *extra), same)


def twice(ctx, x, *others):
    return x * 2


def saves(what=None):
    """A forward that saves `what`, or else its last argument."""

    def forward(ctx, *tensors):
        ctx.save_for_backward(tensors[-1] if what is None else what)
        return tensors[0] * 2

    return forward


def marks(marked, returned, mark="mark_dirty"):
    """A forward that marks what `marked` gives, and returns what `returned` makes of its input and that."""

    def forward(ctx, x):
        which = marked(x)
        getattr(ctx, mark)(which)
        return returned(x, which)

    return forward


def second_saved(ctx, x):
    """A forward with two results, of which it saves the second."""
    a, b = x + 1, x + 2
    ctx.save_for_backward(b)
    return a, b


# --- the version check: who was changed, when, and how often -----------------------------------------------


def version_of_the_second_output_of_a_function(torch):
    a, b = function(torch, second_saved, lambda ctx, g, h: g * ctx.saved_tensors[0] + h, name="Two").apply(leaf(torch))
    stale(b, lambda b: a + b, lambda b: b.mul_(3))


programs(
    version_of_a_leaf=lambda torch: stale(leaf(torch), lambda h: h * h, lambda h: h.detach().mul_(2)),
    version_names_the_last_writer=lambda torch: stale(
        computed(torch), lambda h: h.cos(), lambda h: h.mul_(2), lambda h: h.neg_()
    ),
    version_of_an_own_result=lambda torch: after_backward(leaf(torch).exp().mul_(2), same),
    version_of_a_number=lambda torch: stale(computed(torch, 2.0)[0] * 1, lambda h: h * h, lambda h: h.add_(1)),
    version_of_the_second_output_of_a_function=version_of_the_second_output_of_a_function,
)

# --- released graphs and slots -----------------------------------------------------------------------------


def freed_copy_slices(torch):
    h = computed(torch)
    h[0] = 1.0
    after_backward(h.sum())


def hooks_on_what_was_a_leaf(torch):
    x = torch.ones(2)
    y = x * leaf(torch, 1.0, 2.0)
    x.mul_(y)
    given_hooks(y, "self", SAME)


programs(
    freed_second_backward=lambda torch: after_backward((leaf(torch) ** 2).sum()),
    freed_ctx=lambda torch: run(
        torch, saves(), lambda ctx, grad: 2 * grad * ctx.saved_tensors[0], name="Square"
    ).grad_fn.saved_tensors,
    freed_copy_slices=freed_copy_slices,
    freed_slot_cannot_be_given_hooks=lambda torch: after_backward(
        leaf(torch).exp(), lambda y: given_hooks(y, "result", SAME)
    ),
    raw_slots_of_several_after_release=lambda torch: after_backward(
        leaf(torch)[torch.tensor([0, 1])], lambda y: y.grad_fn._raw_saved_indices
    ),
    raw_slots_of_a_function_after_release=lambda torch: run(
        torch, saves(), lambda ctx, grad: grad * 2, name="Keeps"
    ).grad_fn._raw_saved_tensors,
    slot_has_hooks_already=lambda torch: given_hooks(leaf(torch).exp(), "result", SAME, SAME),
    slot_with_nothing_in_it_cannot_be_given_hooks=lambda torch: given_hooks(leaf(torch) * 2, "self", SAME),
    hooks_on_what_was_a_leaf=hooks_on_what_was_a_leaf,
    saved_input_was_detached=lambda torch: stale(computed(torch), lambda h: h.sin(), lambda h: h.detach_()),
    register_hooks_takes_functions=lambda torch: given_hooks(leaf(torch).exp(), "result", (1, 2)),
    pack_hook_writes=lambda torch: packed(torch, lambda t: t.mul_(2), same, lambda x: (x + 0).sin()),
    unpack_hook_returns_a_number=lambda torch: packed(torch, lambda t: 3, same, lambda x: x.sin()).sum().backward(),
    saved_tensors_hooks_are_disabled=lambda torch: made_in(
        torch.autograd.graph.disable_saved_tensors_hooks("not here"), lambda: packed(torch, same, same, same)
    ),
    saved_tensors_hooks_disabled_inside=lambda torch: packed(
        torch, same, same, same,
        lambda y: made_in(torch.autograd.graph.disable_saved_tensors_hooks("too late"), lambda: None),
    ),
    saved_tensors_hooks_takes_functions=lambda torch: packed(torch, 1, 2, same),
)  # fmt: skip

# --- writing in place --------------------------------------------------------------------------------------


def hook_makes_a_gradient_where_none_arrived(torch):
    first, second = (torch.ones(2, 2, requires_grad=True) * 1).unbind()
    first.register_hook(lambda grad: torch.ones(2))
    second.sum().backward()


def a_leaf_in_the_interior_of_the_graph(torch):
    x = leaf(torch)
    y = x.sum()
    x.requires_grad_(False)
    x.mul_(leaf(torch))
    y.backward()


programs(
    write_to_a_leaf=lambda torch: leaf(torch).add_(1),
    write_to_a_view_of_a_leaf=lambda torch: leaf(torch)[1:].mul_(2),
    write_wider_than_the_target=lambda torch: torch.ones(1).add_(torch.ones(3)),
    fractions_written_to_integers=lambda torch: torch.ones(2, dtype=torch.int64).add_(0.5),
    hook_makes_a_gradient_where_none_arrived=hook_makes_a_gradient_where_none_arrived,
    backward_after_a_leaf_took_longer_data=lambda torch: stale(
        leaf(torch), lambda x: x.sin(), lambda x: setattr(x, "data", torch.ones(4))
    ),
    a_leaf_in_the_interior_of_the_graph=a_leaf_in_the_interior_of_the_graph,
)

# --- views that may not be written to ----------------------------------------------------------------------


def base_written(y, view, use):
    """What is done with a view after its base was written to."""
    v = view(y)
    y.mul_(2)
    return use(v)


def view_from(torch, mode, tensor):
    """Part of a tensor, taken in a grad mode."""
    return made_in(getattr(torch, mode)(), lambda: tensor[1:])


def returned_part(torch, h):
    return function(torch, lambda ctx, x: x[:1], lambda ctx, grad: grad.expand(3), name="Part").apply(h)


programs(
    write_to_an_output_of_unbind=lambda torch: computed(torch).unbind()[1].mul_(2),
    write_to_an_output_of_split=lambda torch: computed(torch).split(2)[0].mul_(2),
    write_to_a_view_of_an_output_of_unbind=lambda torch: computed(torch).view(1, 3).unbind()[0][1:].mul_(2),
    write_to_the_base_of_unbind=lambda torch: base_written(
        computed(torch), lambda y: y.unbind(), lambda outputs: outputs[1].grad_fn
    ),
    use_an_output_of_unbind_after_a_write_to_its_base=lambda torch: base_written(
        computed(torch), lambda y: y.split(1), lambda outputs: outputs[0] * 2
    ),
    write_to_a_no_grad_view=lambda torch: view_from(torch, "no_grad", computed(torch)).mul_(2),
    write_to_the_base_of_a_no_grad_view=lambda torch: base_written(
        computed(torch), lambda y: view_from(torch, "no_grad", y), lambda view: view.is_leaf
    ),
    write_to_an_input_that_a_function_returned=lambda torch: function(torch, lambda ctx, x: x, name="Same")
    .apply(computed(torch))
    .mul_(2),
    write_to_the_base_of_a_view_that_a_function_returned=lambda torch: base_written(
        computed(torch), lambda h: returned_part(torch, h), lambda part: part.sum()
    ),
    view_made_in_inference_mode_is_written=lambda torch: view_from(torch, "inference_mode", computed(torch)).mul_(2),
)

# --- inference mode ----------------------------------------------------------------------------------------


def in_inference_mode(torch):
    return made_in(torch.inference_mode(), lambda: torch.ones(3))


programs(
    inference_tensor_has_no_version=lambda torch: in_inference_mode(torch)._version,
    inference_tensor_written_outside=lambda torch: in_inference_mode(torch).add_(1),
    inference_tensor_saved=lambda torch: leaf(torch) * in_inference_mode(torch),
    inference_tensor_saved_by_a_function=lambda torch: run(torch, saves(), same, in_inference_mode(torch)),
    edge_of_a_leaf_in_inference_mode=lambda torch: made_in(
        torch.inference_mode(), lambda: torch.autograd.graph.get_gradient_edge(leaf(torch))
    ),
)

# --- .grad, backward and grad ------------------------------------------------------------------------------


def grad_is_the_tensor_itself(torch):
    x = leaf(torch)
    x.grad = x


def zeros_for_a_gradient_edge(torch):
    x = leaf(torch)
    edge = torch.autograd.graph.get_gradient_edge(x * 2)
    torch.autograd.grad(x.sum(), edge, materialize_grads=True)


def grad(torch, inputs, outputs=None, *arguments, **options):
    return torch.autograd.grad(computed(torch).sum() if outputs is None else outputs, inputs, *arguments, **options)


def nan_found(torch):
    x = leaf(torch, 0.0, 1.0)
    with torch.autograd.set_detect_anomaly(True):
        (x.sqrt() * torch.tensor([0.0, 1.0])).sum().backward()


programs(
    grad_is_a_number=lambda torch: setattr(leaf(torch), "grad", 1.0),
    grad_has_the_wrong_shape=lambda torch: setattr(leaf(torch), "grad", torch.ones(1, 3)),
    grad_has_the_wrong_dtype=lambda torch: setattr(leaf(torch), "grad", torch.ones(3, dtype=torch.float64)),
    grad_is_integers=lambda torch: setattr(leaf(torch), "grad", torch.arange(3)),
    grad_is_the_tensor_itself=grad_is_the_tensor_itself,
    backward_of_a_vector=lambda torch: computed(torch).backward(),
    backward_of_a_plain_tensor=lambda torch: torch.tensor(1.0).backward(),
    backward_with_a_number=lambda torch: computed(torch).backward(1.0),
    backward_with_a_list=lambda torch: torch.autograd.backward([computed(torch)], [[1.0]]),
    backward_with_too_short_a_gradient=lambda torch: computed(torch).backward(torch.ones(2)),
    backward_with_no_inputs=lambda torch: computed(torch).sum().backward(inputs=[]),
    gradients_under_two_names=lambda torch: quietly(  # the old name alone is a warning
        lambda: torch.autograd.backward([computed(torch)], torch.ones(2), grad_variables=torch.ones(2))
    ),
    grad_of_no_inputs=lambda torch: grad(torch, []),
    grad_for_a_plain_tensor=lambda torch: grad(torch, torch.ones(3)),
    grad_for_an_unused_input=lambda torch: grad(torch, leaf(torch)),
    grad_with_contradicting_flags=lambda torch: grad(torch, leaf(torch), allow_unused=False, materialize_grads=True),
    grad_with_too_few_gradients=lambda torch: grad(
        torch, leaf(torch), [computed(torch), computed(torch)], [torch.ones(3)]
    ),
    gradient_of_no_tensor=lambda torch: grad(torch, leaf(torch), [3]),
    inputs_of_numbers=lambda torch: grad(torch, [1.0]),
    only_inputs_warns=lambda torch: grad(torch, leaf(torch), only_inputs=False),
    gradient_edge_of_a_plain_tensor=lambda torch: torch.autograd.graph.get_gradient_edge(torch.ones(3)),
    gradient_edge_of_a_view_from_no_grad=lambda torch: torch.autograd.graph.get_gradient_edge(
        view_from(torch, "no_grad", leaf(torch))
    ),
    gradient_edge_of_several_elements=lambda torch: torch.autograd.backward(
        torch.autograd.graph.GradientEdge((leaf(torch) * 2).grad_fn, 0)
    ),
    zeros_for_a_gradient_edge=zeros_for_a_gradient_edge,
    node_called_with_one_gradient=lambda torch: leaf(torch).unbind()[0].grad_fn(torch.ones(3)),
    anomaly_mode_finds_nan=lambda torch: quietly(lambda: nan_found(torch)),  # PyTorch warns where the forward was
    anomaly_mode_of_a_number=lambda torch: torch.autograd.set_detect_anomaly(1),
)

# --- hooks -------------------------------------------------------------------------------------------------


def shorten(grad):
    """A hook with a name."""
    return grad[:1]


def multi_grad_hook_of_a_leaf_in_grad(torch):
    x = leaf(torch)
    with torch.autograd.graph.register_multi_grad_hook([x], lambda grads: None):
        torch.autograd.grad((x * x).sum(), x)


programs(
    hook_returns_a_number=lambda torch: hooked(computed(torch), lambda grad: 3),
    hook_with_a_name_changes_the_shape=lambda torch: hooked(computed(torch), shorten),
    hook_changes_the_type=lambda torch: hooked(computed(torch), lambda g: g.double()),
    post_accumulate_hook_returns_something=lambda torch: hooked(
        leaf(torch), lambda leaf: leaf.grad, "register_post_accumulate_grad_hook"
    ),
    node_hook_returns_too_many=lambda torch: hooked(leaf(torch).exp(), lambda gi, go: (*go, *go), on_node=True),
    node_hook_returns_no_tuple=lambda torch: hooked(computed(torch), lambda gi, go: gi[0], on_node=True),
    node_prehook_returns_a_list=lambda torch: hooked(computed(torch), lambda go: [go[0]], "register_prehook", True),
    increment_version_of_numbers=lambda torch: torch.autograd.graph.increment_version([3]),
    multi_grad_hook_of_a_leaf_in_grad=multi_grad_hook_of_a_leaf_in_grad,
)

# --- custom Functions --------------------------------------------------------------------------------------


def once_differentiable_twice(torch):
    x, once = leaf(torch), torch.autograd.function.once_differentiable
    y = function(torch, saves(), once(lambda ctx, g: 2 * ctx.saved_tensors[0] * g)).apply(x)
    (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    g.sum().backward()


programs(
    function_without_forward=lambda torch: type("Fn", (torch.autograd.Function,), {}).apply(leaf(torch)),
    function_without_backward=lambda torch: run(torch, twice, None),
    function_returns_too_many_gradients=lambda torch: run(torch, twice, lambda ctx, g: (g, g)),
    function_returns_a_gradient_for_a_number=lambda torch: run(torch, twice, lambda ctx, g: (g, g), 3),
    function_returns_a_number=lambda torch: run(torch, twice, lambda ctx, g: 1.0),
    function_returns_a_list=lambda torch: run(torch, twice, lambda ctx, g: [g]),
    function_returns_too_long_a_gradient=lambda torch: run(torch, twice, lambda ctx, g: torch.ones(4)),
    function_saves_a_number=lambda torch: run(torch, saves(3), same),
    function_with_an_unknown_keyword=lambda torch: function(torch, lambda ctx, x: x * 2).apply(leaf(torch), nope=1),
    function_called=lambda torch: quietly(lambda: function(torch, twice)()(leaf(torch))),  # making it is a warning
    calling_the_node_of_a_function=lambda torch: run(torch, twice, lambda ctx, g: g, name="Twice").grad_fn(1),
    function_with_backward_and_vjp=lambda torch: run(torch, twice, lambda ctx, g: g, vjp=lambda ctx, g: g),
    function_with_setup_context_missing=lambda torch: run(
        torch, lambda x: x * 2, None, setup_context=lambda *given: torch.autograd.Function.setup_context(*given)
    ),
    function_marks_a_leaf_dirty=lambda torch: function(torch, marks(same, lambda x, _: x.mul_(2))).apply(leaf(torch)),
    function_does_not_return_what_it_marked_dirty=lambda torch: function(
        torch, marks(same, lambda x, _: x.mul_(2) * 1)
    ).apply(computed(torch)),
    function_marks_an_inference_tensor_dirty=lambda torch: function(torch, marks(same, lambda x, _: x)).apply(
        in_inference_mode(torch)
    ),
    function_marks_a_view_that_was_no_input=lambda torch: function(
        torch, marks(lambda x: (x * 2)[:1], lambda x, view: view)
    ).apply(computed(torch)),
    function_writes_to_a_view_and_returns_two=lambda torch: function(
        torch, marks(same, lambda x, _: (x.mul_(2), x * 2))
    ).apply(computed(torch)[1:]),
    mark_dirty_a_number=lambda torch: run(torch, marks(lambda x: 3, lambda x, _: x * 2), None),
    mark_non_differentiable_a_number=lambda torch: run(
        torch, marks(lambda x: 3, lambda x, _: x * 2, "mark_non_differentiable"), None
    ),
    function_saves_a_returned_input_in_setup_context=lambda torch: run(
        torch, same, None, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output)
    ),
    once_differentiable_twice=once_differentiable_twice,
)

# --- arguments ---------------------------------------------------------------------------------------------

programs(
    sum_in_no_type=lambda torch: torch.ones(2).sum(0, dtype=3),
    numpy_of_a_leaf=lambda torch: leaf(torch).numpy(),
    shapes_that_do_not_broadcast=lambda torch: torch.ones(2, 3) + torch.ones(2, 2),
    factor_of_text=lambda torch: torch.ones(2).addcmul(torch.ones(2), torch.ones(2), value="a"),
)

# --- this engine's own: PyTorch does something else here, or can do more -----------------------------------


def load_of_more_than_weights(torch):
    file = io.BytesIO()
    torch.save(print, file)
    file.seek(0)
    return torch.load(file)


programs(
    OURS_ONLY,
    left_out_name=lambda torch: torch.compile,
    unknown_name=lambda torch: torch.nothing_of_this_name,
    cuda_tensor=lambda torch: torch.ones(2, device="cuda"),
    left_out_of_linalg=lambda torch: torch.linalg.det(torch.ones(1, 1)),
    norm_of_a_kind=lambda torch: torch.ones(2, 2).norm("nuc"),
    converted_to_int32=lambda torch: torch.ones(2).int(),
    batched_grad=lambda torch: torch.autograd.grad(computed(torch), leaf(torch), is_grads_batched=True),
    element_type=lambda torch: torch.from_numpy(np.zeros(2, np.int8)),
    dtype_by_name=lambda torch: torch.ones(2, dtype="float32"),
    function_with_an_argument_twice=lambda torch: function(torch, lambda ctx, x: x * 2).apply(1, x=leaf(torch)),
    function_with_an_argument_left_out=lambda torch: function(torch, lambda ctx, x, y=1, z=0: x).apply(1, z=2),
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
    inverse_of_a_singular_matrix=lambda torch: torch.linalg.inv(torch.ones(2, 2)),
    load_of_more_than_weights=load_of_more_than_weights,
    sizes_of_text=lambda torch: torch.zeros("a"),
    bernoulli_of_more_than_1=lambda torch: torch.bernoulli(torch.tensor([2.0])),
    generator_of_another_kind=lambda torch: torch.rand(2, generator=3),
    state_of_numbers_of_another_size=lambda torch: torch.Generator().set_state(torch.zeros(2)),
    sum_of_a_number=lambda torch: torch.sum(3.0),
    exponential_of_text=lambda torch: torch.exp("a"),
    dim_that_is_not_there=lambda torch: torch.ones(2).cumsum(1),
    dim_by_name=lambda torch: torch.ones(2).cumsum("a"),
    tensor_that_requires_grad_1=lambda torch: torch.tensor(1.0, requires_grad=1),
    ones_that_require_grad_1=lambda torch: torch.ones(2, requires_grad=1),
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
    """Our engine raises the type and text of PyTorch, character by character; it may stop after a sentence."""
    said, _ = outcome(PROGRAMS[name], torch)

    assert EXPECTED[name] == said or said.endswith(".") and EXPECTED[name].startswith(said + " ")


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
    ("autograd/graph.py", "__enter__"): "tests/engine/test_saved.py",
    ("autograd/graph.py", "node_of"): "tests/programs/tools.py",
    ("autograd/graph.py", "register_multi_grad_hook"): "tests/programs/tools.py",
    ("autograd/graph.py", "unpack"): "tests/programs/gradchecks.py",
    ("autograd/graph.py", "allow_mutation_on_saved_tensors"): "tests/programs/gradchecks.py",
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
