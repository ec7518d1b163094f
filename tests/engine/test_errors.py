"""The errors of engine/ that no program of tests/programs meets: their exact text, which is that of real PyTorch.

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
from tests.engine.facts import leaf
from tests.programs import kit

HERE = Path(__file__).parent
GOLDEN = HERE / "golden" / "errors.txt"
ENGINE = Path(course_lib.__file__).parent
PROGRAMS, OURS_ONLY = {}, {}


def programs(into=PROGRAMS, **functions):
    """Add functions of `torch` that must raise to the table, under their own names."""
    assert not set(into) & set(functions)
    into.update(functions)


# --- what programs are made of -----------------------------------------------------------------------------


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


def after_backward(y, use=lambda y: y):
    """What is done with a result whose graph has been released."""
    y.sum().backward()
    return use(y)


def run(torch, forward, backward, name="Fn", **more):
    """Forward and backward of a Function of a vector."""
    more = {key: staticmethod(method) for key, method in more.items()}
    return after_backward(kit.fn(torch, forward, backward, name, **more).apply(leaf(torch)))


def twice(ctx, x):
    return x * 2


def saves(ctx, x):
    ctx.save_for_backward(x)
    return x * 2


def marks(ctx, x, new=False):
    """A forward that says of its input, or of a view that it has made, that it wrote to it."""
    written = (x * 2)[:1] if new else x
    ctx.mark_dirty(written)
    return written


# --- the version check: who was changed, when, and how often -----------------------------------------------


def saves_its_second_result(ctx, x):
    first, second = x + 1, x + 2
    ctx.save_for_backward(second)
    return first, second


def version_of_the_second_output_of_a_function(torch):
    fn = kit.fn(torch, saves_its_second_result, lambda ctx, g, h: g * ctx.saved_tensors[0] + h, name="Two")
    first, second = fn.apply(leaf(torch))
    stale(second, lambda second: first + second, lambda second: second.mul_(3))


programs(
    version_of_the_second_output_of_a_function=version_of_the_second_output_of_a_function,
    version_names_the_last_writer=lambda torch: stale(
        computed(torch), lambda h: h.cos(), lambda h: h.mul_(2), lambda h: h.neg_()
    ),
    version_of_a_number=lambda torch: stale(computed(torch, 2.0)[0] * 1, lambda h: h * h, lambda h: h.add_(1)),
)

# --- released graphs and slots -----------------------------------------------------------------------------


def freed_copy_slices(torch):
    h = computed(torch)
    h[0] = 1.0
    after_backward(h.sum(), lambda y: y.backward())


def hooks_on_what_was_a_leaf(torch):
    x = torch.ones(2)
    y = x * leaf(torch, 1.0, 2.0)
    x.mul_(y)
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)


programs(
    freed_ctx=lambda torch: (
        run(torch, saves, lambda ctx, grad: 2 * grad * ctx.saved_tensors[0], "Square").grad_fn.saved_tensors
    ),
    freed_copy_slices=freed_copy_slices,
    raw_slots_of_several_after_release=lambda torch: after_backward(
        leaf(torch)[torch.tensor([0, 1])], lambda y: y.grad_fn._raw_saved_indices
    ),
    raw_slots_of_a_function_after_release=lambda torch: run(torch, saves, twice, "Keeps").grad_fn._raw_saved_tensors,
    hooks_on_what_was_a_leaf=hooks_on_what_was_a_leaf,
)

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
    write_wider_than_the_target=lambda torch: torch.ones(1).add_(torch.ones(3)),
    hook_makes_a_gradient_where_none_arrived=hook_makes_a_gradient_where_none_arrived,
    backward_after_a_leaf_took_longer_data=lambda torch: stale(
        leaf(torch), lambda x: x.sin(), lambda x: setattr(x, "data", torch.ones(4))
    ),
    a_leaf_in_the_interior_of_the_graph=a_leaf_in_the_interior_of_the_graph,
)

# --- views that may not be written to ----------------------------------------------------------------------


def base_written(y, view):
    """The history of a view after its base was written to."""
    v = view(y)
    y.mul_(2)
    return v.grad_fn


def view_from(torch, mode, tensor):
    """Part of a tensor, taken in a grad mode."""
    return made_in(getattr(torch, mode)(), lambda: tensor[1:])


programs(
    write_to_a_view_of_an_output_of_unbind=lambda torch: computed(torch).view(1, 3).unbind()[0][1:].mul_(2),
    write_to_a_no_grad_view=lambda torch: view_from(torch, "no_grad", computed(torch)).mul_(2),
    write_to_the_base_of_a_no_grad_view=lambda torch: base_written(
        computed(torch), lambda y: view_from(torch, "no_grad", y)
    ),
    write_to_an_input_that_a_function_returned=lambda torch: (
        kit.fn(torch, lambda ctx, x: x, name="Same").apply(computed(torch)).mul_(2)
    ),
    write_to_the_base_of_a_view_that_a_function_returned=lambda torch: base_written(
        computed(torch), kit.fn(torch, lambda ctx, x: x[:1], name="Part").apply
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


programs(
    grad_is_a_number=lambda torch: setattr(leaf(torch), "grad", 1.0),
    grad_has_the_wrong_shape=lambda torch: setattr(leaf(torch), "grad", torch.ones(1, 3)),
    grad_has_the_wrong_dtype=lambda torch: setattr(leaf(torch), "grad", torch.ones(3, dtype=torch.float64)),
    grad_is_the_tensor_itself=grad_is_the_tensor_itself,
    gradients_under_two_names=lambda torch: quietly(  # the old name alone is a warning
        lambda: torch.autograd.backward([computed(torch)], torch.ones(2), grad_variables=torch.ones(2))
    ),
    gradient_of_no_tensor=lambda torch: torch.autograd.grad([3], leaf(torch)),
    inputs_of_numbers=lambda torch: torch.autograd.grad(computed(torch).sum(), [1.0]),
    only_inputs_warns=lambda torch: torch.autograd.grad(computed(torch), leaf(torch), only_inputs=False),
    gradient_edge_of_a_view_from_no_grad=lambda torch: torch.autograd.graph.get_gradient_edge(
        view_from(torch, "no_grad", leaf(torch))
    ),
    gradient_edge_of_several_elements=lambda torch: torch.autograd.backward(
        torch.autograd.graph.GradientEdge((leaf(torch) * 2).grad_fn, 0)
    ),
    edge_of_a_leaf_in_inference_mode=lambda torch: made_in(
        torch.inference_mode(), lambda: torch.autograd.graph.get_gradient_edge(leaf(torch))
    ),
    zeros_for_a_gradient_edge=zeros_for_a_gradient_edge,
    anomaly_mode_of_a_number=lambda torch: torch.autograd.set_detect_anomaly(1),
)

# --- hooks -------------------------------------------------------------------------------------------------


def multi_grad_hook_of_a_leaf_in_grad(torch):
    x = leaf(torch)
    with torch.autograd.graph.register_multi_grad_hook([x], lambda grads: None):
        torch.autograd.grad((x * x).sum(), x)


programs(
    increment_version_of_numbers=lambda torch: torch.autograd.graph.increment_version([3]),
    multi_grad_hook_of_a_plain_tensor=lambda torch: torch.autograd.graph.register_multi_grad_hook([torch.ones(3)], abs),
    multi_grad_hook_of_a_leaf_in_grad=multi_grad_hook_of_a_leaf_in_grad,
)

# --- custom Functions --------------------------------------------------------------------------------------


programs(
    function_called=lambda torch: quietly(lambda: kit.fn(torch, twice)()(leaf(torch))),  # making it is a warning
    calling_the_node_of_a_function=lambda torch: run(torch, twice, twice, "Twice").grad_fn(1),
    function_with_backward_and_vjp=lambda torch: run(torch, twice, twice, vjp=twice),
    function_with_setup_context_missing=lambda torch: run(
        torch, lambda x: x * 2, None, setup_context=lambda *given: torch.autograd.Function.setup_context(*given)
    ),
    function_marks_an_inference_tensor_dirty=lambda torch: kit.fn(torch, marks).apply(
        made_in(torch.inference_mode(), lambda: torch.ones(3))
    ),
    function_marks_a_view_that_was_no_input=lambda torch: kit.fn(torch, marks).apply(computed(torch), True),
    function_saves_a_returned_input_in_setup_context=lambda torch: run(
        torch, lambda x: x, None, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output)
    ),
)

# --- arguments ---------------------------------------------------------------------------------------------

programs(
    sum_in_no_type=lambda torch: torch.ones(2).sum(0, dtype=3),
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
    combined_with_text=lambda torch: torch.mul(torch.ones(2), "a"),
    # PyTorch names tensor1
    product_with_text_added=lambda torch: torch.ones(2).addcmul_("a", torch.ones(2)),
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


@pytest.fixture
def met(monkeypatch):
    """The errors that the programs of this file and of tests/programs meet on our engine."""
    errors = [outcome(run, course_lib)[1] for run in (*PROGRAMS.values(), *OURS_ONLY.values())]
    words = kit.words
    monkeypatch.setattr(kit, "words", lambda message: errors.append(message) or words(message))
    files = (HERE.parent / "programs").glob("*.py")
    topics = [path.stem for path in files if path.stem[:4] not in ("__in", "kit", "test")]
    for program in kit.load(topics, "errors").values():
        quietly(lambda program=program: kit.run(program, course_lib))
    return [error for error in errors if isinstance(error, Exception)]


def test_every_raise_of_the_engine_has_a_program(met):
    """Each raise statement in the engine is reached by one of the programs: its text is therefore PyTorch's."""
    reached = set()
    for error in met:
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
