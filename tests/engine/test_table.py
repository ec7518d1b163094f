"""Every row of the derivative table: value, gradient, second derivative, what it saves, its in-place variant.

The tests go through the rows of derivatives.py and its second page, surface/derivatives.py: a row that is added
without a sample here fails. Of the rows of nn/derivatives.py a few functions of one number are here, and the others in
test_nn.py.
"""

import inspect
import re

import numpy as np
import pytest

import course_lib
from course_lib.engine import derivatives, ops
from course_lib.engine.build import rows
from course_lib.engine.tensor import Tensor
from course_lib.nn import derivatives as rows_of_nn  # noqa: F401  (fills the table)
from course_lib.surface import derivatives as second_page
from tests.engine.facts import name_of, same, saved_by, value_of

PAGES = "".join(inspect.getsource(page) for page in (derivatives, second_page))
ACTIVATIONS = ["gelu", "softplus", "leaky_relu", "leaky_relu_backward", "silu"]
ROWS = {name: ops.ROWS[name] for name in re.findall(r'^row\("(\w+)\(', PAGES, re.MULTILINE)}
ROWS |= {name: ops.ROWS[name] for name in ACTIVATIONS}
del ROWS["floor_divide"]  # has no derivative: tests/programs/ops.py

MATRIX = [[0.5, 1.25, 2.0], [3.0, 0.8, 0.3]]
OTHER = [[1.5, 0.75, 0.2], [2.5, 1.1, 0.6]]
SIGNED = [[0.55, -1.25, 2.1], [-3.2, 0.8, -0.3]]
SQUARE = [[2.0, -0.5], [0.75, 1.5]]
LOW = [[1.0, -1.5, 0.1], [-0.7, 0.9, -0.2]]
SMALL = [[0.5, -0.25, 0.1], [-0.7, 0.8, -0.3]]


def sample(call, *inputs):
    """How to reach a row by public names, and arrays to do it with. Floating inputs get gradients."""
    return call, [np.array(value) for value in inputs]


def with_number(name):
    """An operation with a number as PyTorch's own formulas use it; no public name leads there."""

    def call(torch, x):
        own = getattr(rows, name + "_number") if torch is course_lib else getattr(torch.ops.aten, name).Scalar
        return own(x, 3.0)

    return call


def functional(name):
    """An operation that is public only in nn.functional."""

    def call(torch, *tensors):
        return (getattr(rows, name) if torch is course_lib else getattr(torch.nn.functional, name))(*tensors)

    return call


def gradient_operation(name, *numbers, theirs="", more=lambda torch: ()):
    """An operation that formulas are made of, public only in torch.ops: there under `theirs` and with `more`."""

    def call(torch, *tensors):
        if torch is course_lib:
            return getattr(rows, name)(*tensors, *numbers)
        return getattr(torch.ops.aten, theirs or name)(*tensors, *numbers, *more(torch))

    return call


def softmax_gradient(name):
    """The gradient of a kind of softmax along dimension 1."""
    return gradient_operation(name, 1, theirs=f"_{name}_data", more=lambda torch: [torch.float64])


def functional_of(name):
    """A function of `torch` by its name."""
    return lambda torch, *tensors: getattr(torch, name)(*tensors)


def of_one(name, values=SIGNED):
    return sample(functional_of(name), values)


def derived(row):
    """The sample of a row that is a function of one tensor or of two, by its public name; None for any other.

    Its values are the first for which the result is a number everywhere: log gets positive ones, asin small ones.
    """
    if not row.is_function or len(row.operands) != len(row.names) - sum("=" in p for p in row.parameters):
        return None
    call = functional_of(row.name)
    for values in ([SIGNED, OTHER], [MATRIX, OTHER], [SMALL, OTHER]):
        inputs = [np.array(each) for each in values[: len(row.operands)]]
        if np.isfinite(call(course_lib, *map(course_lib.tensor, inputs)).array).all():
            return call, inputs
    return None


SAMPLES = {
    **{name: found for name, row in ROWS.items() if (found := derived(row))},
    "round": of_one("round"),
    **{name: sample(functional(name), SIGNED) for name in "gelu softplus leaky_relu silu".split()},
    **{f"{name}_number": sample(with_number(name), SIGNED) for name in ("add", "mul", "div")},
    "add": sample(lambda torch, x, y: x + y, SIGNED, OTHER),
    "sub": sample(lambda torch, x, y: x - y, SIGNED, OTHER),
    "squeeze_fresh": sample(lambda torch, x, y: x[:, 0] @ y, SIGNED, OTHER),
    "rsub": sample(lambda torch, x: 2 - x, SIGNED),
    "mul": sample(lambda torch, x, y: x * y, SIGNED, OTHER),
    "div": sample(lambda torch, x, y: x / y, SIGNED, OTHER),
    "add_scaled": sample(lambda torch, x, y: torch.add(x, y, alpha=3), SIGNED, OTHER),
    "sub_scaled": sample(lambda torch, x, y: torch.sub(x, y, alpha=3), SIGNED, OTHER),
    "pow_number": sample(lambda torch, x: x**3, SIGNED),
    "pow_tensor": sample(lambda torch, x, y: x**y, MATRIX, OTHER),
    "number_pow": sample(lambda torch, x: 2**x, SIGNED),
    "remainder": sample(lambda torch, x: x % 0.37, SIGNED),
    "remainder_tensor": sample(lambda torch, x, y: x % y, SIGNED, OTHER),
    "div_rounded": sample(lambda torch, x, y: torch.div(x, y, rounding_mode="trunc"), SIGNED, OTHER),
    "clamp_min_tensor": sample(lambda torch, x, low: x.clamp_min(low), SIGNED, LOW),
    "clamp_max_tensor": sample(lambda torch, x, high: x.clamp_max(high), SIGNED, OTHER),
    "lerp": sample(lambda torch, x, y: torch.lerp(x, y, 0.3), SIGNED, OTHER),
    "lerp_tensor": sample(lambda torch, x, y, w: torch.lerp(x, y, w), SIGNED, OTHER, MATRIX),
    "addcmul": sample(lambda torch, x, y, z: x.addcmul(y, z, value=2), SIGNED, OTHER, MATRIX),
    "addcdiv": sample(lambda torch, x, y, z: x.addcdiv(y, z, value=2), SIGNED, OTHER, MATRIX),
    "tanh_backward": sample(gradient_operation("tanh_backward"), OTHER, SIGNED),
    "sigmoid_backward": sample(gradient_operation("sigmoid_backward"), OTHER, SIGNED),
    "threshold_backward": sample(gradient_operation("threshold_backward", 0), SIGNED, OTHER),
    "softmax_backward": sample(softmax_gradient("softmax_backward"), OTHER, SIGNED),
    "log_softmax_backward": sample(softmax_gradient("log_softmax_backward"), OTHER, SIGNED),
    "select_backward": sample(gradient_operation("select_backward", [2, 2, 3], 1, 0), OTHER),
    "slice_backward": sample(gradient_operation("slice_backward", [2, 5], 1, 1, 4, 1), OTHER),
    "diagonal_backward": sample(gradient_operation("diagonal_backward", [2, 3, 3], 0, 1, 2), OTHER),
    "leaky_relu_backward": sample(
        gradient_operation("leaky_relu_backward", 0.1, more=lambda torch: [False]), OTHER, SIGNED
    ),
    "sgn": sample(lambda torch, x: (rows if torch is course_lib else torch).sgn(x), SIGNED),
    "clamp": sample(lambda torch, x: x.clamp(-0.6, 1.0), SIGNED),
    "clamp_min": sample(lambda torch, x: x.clamp_min(-0.6), SIGNED),
    "clamp_max": sample(lambda torch, x: x.clamp_max(0.6), SIGNED),
    "maximum": sample(lambda torch, x, y: torch.maximum(x, y), SIGNED, OTHER),
    "minimum": sample(lambda torch, x, y: torch.minimum(x, y), SIGNED, OTHER),
    "select_where": sample(lambda torch, x, y, c: torch.where(c, x, y), SIGNED, OTHER, np.array(SIGNED) > 0),
    "masked_fill": sample(lambda torch, x, mask: x.masked_fill(mask, 0.5), SIGNED, np.array(SIGNED) > 0),
    "masked_fill_tensor": sample(lambda torch, x, mask, v: x.masked_fill(mask, v), SIGNED, np.array(SIGNED) > 0, 0.5),
    "sum_all": sample(lambda torch, x: x.sum(), SIGNED),
    "sum_dim": sample(lambda torch, x: x.sum(1), SIGNED),
    "mean_all": sample(lambda torch, x: x.mean(), SIGNED),
    "mean_dim": sample(lambda torch, x: x.mean(0, keepdim=True), SIGNED),
    "prod_all": sample(lambda torch, x: x.prod(), SIGNED),
    "prod_dim": sample(lambda torch, x: x.prod(1), SIGNED),
    "var": sample(lambda torch, x: x.var(1), SIGNED),
    "std": sample(lambda torch, x: x.std(0), SIGNED),
    "norm": sample(lambda torch, x: x.norm(), SIGNED),
    "max_all": sample(lambda torch, x: x.max(), SIGNED),
    "min_all": sample(lambda torch, x: x.min(), SIGNED),
    "amax": sample(lambda torch, x: torch.amax(x, 1), SIGNED),
    "amin": sample(lambda torch, x: torch.amin(x, 0), SIGNED),
    "max_dim": sample(lambda torch, x: x.max(1).values, SIGNED),
    "min_dim": sample(lambda torch, x: x.min(1, keepdim=True).values, SIGNED),
    "sort_dim": sample(lambda torch, x: x.sort(1).values, SIGNED),
    "topk_dim": sample(lambda torch, x: x.topk(2, 1).values, SIGNED),
    "logsumexp": sample(lambda torch, x: torch.logsumexp(x, 1), SIGNED),
    "cumsum": sample(lambda torch, x: x.cumsum(1), SIGNED),
    "cumprod": sample(lambda torch, x: x.cumprod(1), SIGNED),
    "softmax": sample(lambda torch, x: x.softmax(1), SIGNED),
    "log_softmax": sample(lambda torch, x: x.log_softmax(1), SIGNED),
    "mm": sample(lambda torch, a, b: torch.mm(a, b), SIGNED, np.array(OTHER).T),
    "mv": sample(lambda torch, a, v: torch.mv(a, v), SIGNED, [0.5, -1.0, 2.0]),
    "dot": sample(lambda torch, v, w: torch.dot(v, w), [1.0, 2.0, -0.5], [0.5, -1.0, 2.0]),
    "bmm": sample(lambda torch, a, b: torch.bmm(a, b), [SIGNED, MATRIX], [np.array(OTHER).T, np.array(SMALL).T]),
    "addmm": sample(lambda torch, c, a, b: c.addmm(a, b), [[0.1, 0.2], [0.3, 0.4]], SIGNED, np.array(OTHER).T),
    "view": sample(lambda torch, x: x.view(3, 2), SIGNED),
    "reshape_alias": sample(lambda torch, x: x[:, ::2].reshape(2, 2), SIGNED),
    "t": sample(lambda torch, x: x.t(), SIGNED),
    "transpose": sample(lambda torch, x: x.transpose(0, 1), SIGNED),
    "permute": sample(lambda torch, x: x.permute(2, 0, 1), [SIGNED, MATRIX]),
    "unsqueeze": sample(lambda torch, x: x.unsqueeze(1), SIGNED),
    "squeeze": sample(lambda torch, x: x.squeeze(), [SIGNED]),
    "squeeze_dim": sample(lambda torch, x: x.squeeze(0), [SIGNED]),
    "expand": sample(lambda torch, x: x.expand(2, 3, 4), [[[0.5], [-1.0], [2.0]]]),
    "select": sample(lambda torch, x: x.select(1, 2), SIGNED),
    "slice_dim": sample(lambda torch, x: x[:, 1:], SIGNED),
    "diagonal": sample(lambda torch, x: x.diagonal(1), SIGNED),
    "as_strided": sample(lambda torch, x: x.as_strided((2, 2), (1, 2), 1), SIGNED),
    "alias": sample(lambda torch, x: x[...], SIGNED),
    "unbind": sample(lambda torch, x: x.unbind(0), SIGNED),
    "split": sample(lambda torch, x: x.split(2, 1), SIGNED),
    "split_with_sizes": sample(lambda torch, x: x.split([2, 1], 1), SIGNED),
    "clone": sample(lambda torch, x: x.clone(), SIGNED),
    "clone_contiguous": sample(lambda torch, x: x.t().contiguous(), SIGNED),
    "unsafe_view": sample(lambda torch, x: x.t().reshape(6), SIGNED),
    "to_copy": sample(lambda torch, x: x.float(), SIGNED),
    "repeat": sample(lambda torch, x: x.repeat(2, 1, 2), SIGNED),
    "flip": sample(lambda torch, x: x.flip(1), SIGNED),
    "triu": sample(lambda torch, x: x.triu(), SIGNED),
    "tril": sample(lambda torch, x: x.tril(1), SIGNED),
    "index_select": sample(lambda torch, x, i: x.index_select(1, i), SIGNED, [2, 0, 0]),
    "gather": sample(lambda torch, x, i: x.gather(1, i), SIGNED, [[2, 0], [1, 1]]),
    "scatter_add": sample(lambda torch, x, i, y: x.scatter_add(1, i, y), SIGNED, [[2, 0, 0], [1, 1, 1]], OTHER),
    "index_add": sample(lambda torch, x, i, y: x.index_add(0, i, y), SIGNED, [1, 1], OTHER),
    "roll": sample(lambda torch, x: x.roll((1, 2), (0, 1)), SIGNED),
    "scatter_tensor": sample(lambda torch, x, i, y: x.scatter(1, i, y), SIGNED, [[2, 0, 1], [1, 2, 0]], OTHER),
    "scatter": sample(lambda torch, x, i: x.scatter(1, i, 0.5), SIGNED, [[2, 0], [1, 2]]),
    "inv": sample(lambda torch, a: torch.linalg.inv(a), SQUARE),
    "solve": sample(lambda torch, a, b: torch.linalg.solve(a, b), SQUARE, SIGNED),
    "copy": sample(lambda torch, x, y: (x * 1).copy_(y), SIGNED, OTHER),
    "fill": sample(lambda torch, x: (x * 1).fill_(0.5), SIGNED),
    "fill_tensor": sample(lambda torch, x, v: (x * 1).fill_(v), SIGNED, 0.5),
    "zero": sample(lambda torch, x: (x * 1).zero_(), SIGNED),
    "bernoulli": sample(lambda torch, x: torch.bernoulli(x), np.ones((2, 3)).tolist()),
}

# How to reach the in-place variant by public names: the rest are the row's name with an underscore.
IN_PLACE = {
    "remainder": lambda x: x.__imod__(0.37),
    "remainder_tensor": lambda x, y: x.__imod__(y),
    "add_scaled": lambda x, y: x.add_(y, alpha=3),
    "sub_scaled": lambda x, y: x.sub_(y, alpha=3),
    "pow_number": lambda x: x.pow_(3),
    "pow_tensor": lambda x, y: x.pow_(y),
    "lerp": lambda x, y: x.lerp_(y, 0.3),
    "lerp_tensor": lambda x, y, w: x.lerp_(y, w),
    "div_rounded": lambda x, y: x.div_(y, rounding_mode="trunc"),
    "addcmul": lambda x, y, z: x.addcmul_(y, z, value=2),
    "addcdiv": lambda x, y, z: x.addcdiv_(y, z, value=2),
    "clamp": lambda x: x.clamp_(-0.6, 1.0),
    "masked_fill": lambda x, mask: x.masked_fill_(mask, 0.5),
    "masked_fill_tensor": lambda x, mask, v: x.masked_fill_(mask, v),
    "scatter_add": lambda x, i, y: x.scatter_add_(1, i, y),
    "index_add": lambda x, i, y: x.index_add_(0, i, y),
    "scatter_tensor": lambda x, i, y: x.scatter_(1, i, y),
    "scatter": lambda x, i: x.scatter_(1, i, 0.5),
    "copy": lambda x, y: x.copy_(y),
    "fill": lambda x: x.fill_(0.5),
    "fill_tensor": lambda x, v: x.fill_(v),
    "zero": lambda x: x.zero_(),
}
SOLVING = {"solve", "inv"}  # PyTorch keeps a decomposition, or the inverse under another name
ONE_ROW = [name for name in SAMPLES if ROWS[name].in_place != "only"]
PUBLIC_IN_PLACE = [name for name in ROWS if name in IN_PLACE or hasattr(Tensor, name + "_")]
WITH_IN_PLACE = [name for name in PUBLIC_IN_PLACE if ROWS[name].in_place]


def tensors(torch, name, dtype=None, only=None):
    """The sample's inputs as leaves; with `only`, just that one requires grad."""
    made = []
    for position, array in enumerate(SAMPLES[name][1]):
        tensor = torch.tensor(array.tolist(), dtype=dtype or torch.float64) if array.dtype.kind == "f" else None
        if tensor is None:
            tensor = torch.tensor(array.tolist())
        elif only is None or only == position:
            tensor.requires_grad_()
        made.append(tensor)
    return made


def outputs_of(result):
    """A tuple of results, also for operations with one."""
    return tuple(result) if isinstance(result, tuple | list) else (result,)


def weighted(torch, outputs):
    """A scalar in which every element of every output counts differently."""
    total = 0
    for number, output in enumerate(outputs):
        weights = torch.arange(1, output.numel() + 1).reshape(output.shape).to(output.dtype)
        total = total + ((weights * 0.7 + number) * output).sum()
    return total


def run(torch, name, inputs):
    return outputs_of(SAMPLES[name][0](torch, *inputs))


def wanted(inputs):
    return [x for x in inputs if x.requires_grad]


def gradients(torch, name, inputs, create_graph=False):
    """The first derivatives of the weighted results, None where nothing arrives."""
    loss = weighted(torch, run(torch, name, inputs))
    return torch.autograd.grad(loss, wanted(inputs), create_graph=create_graph, allow_unused=True)


def second(torch, name, inputs):
    """The derivatives of the weighted gradients; None where the gradient is a constant."""
    first = [g for g in gradients(torch, name, inputs, create_graph=True) if g is not None and g.requires_grad]
    if not first:
        return [None] * len(wanted(inputs))
    return torch.autograd.grad(weighted(torch, first), wanted(inputs), allow_unused=True)


def values(grads):
    """Values; PyTorch has zeros without memory, which a sum brings to life."""
    return [None if g is None else value_of(g.detach() + 0) for g in grads]


def zeros_for_none(grads):
    """Values, where no gradient and a gradient of zeros are the same: PyTorch chooses between them row by row."""
    return [None if g is None or not g.abs().sum().item() else value_of(g.detach() + 0) for g in grads]


def test_every_row_has_a_sample():
    """Each row of the table is tested below, and each sample belongs to a row."""
    assert set(ROWS) == set(SAMPLES)


@pytest.mark.parametrize("name", SAMPLES)
def test_row_makes_its_own_node(name):
    """The public name that the sample uses leads to the row: the node has the row's name."""
    (output, *_) = run(course_lib, name, tensors(course_lib, name))

    assert ROWS[name].node == type(output.grad_fn).__name__


@pytest.mark.parametrize("name", SAMPLES)
def test_value_node_and_saved_as_in_pytorch(name, real_torch):
    """Value, element type, node and saved tensors are PyTorch's."""
    ours, theirs = (run(torch, name, tensors(torch, name)) for torch in (course_lib, real_torch))

    assert same([value_of(x) for x in ours], [value_of(x) for x in theirs])
    assert name_of(ours[0].grad_fn) == name_of(theirs[0].grad_fn)
    assert name in SOLVING or same(saved_by(ours[0].grad_fn, course_lib), saved_by(theirs[0].grad_fn, real_torch))


@pytest.mark.parametrize("name", SAMPLES)
def test_saves_only_what_is_needed(name, real_torch):
    """When one input alone requires grad, the node saves what PyTorch's saves then."""
    for position, array in enumerate(SAMPLES[name][1]):
        if array.dtype.kind != "f":
            continue
        ours, theirs = (
            run(torch, name, tensors(torch, name, only=position))[0].grad_fn for torch in (course_lib, real_torch)
        )

        assert name in SOLVING or same(saved_by(ours, course_lib), saved_by(theirs, real_torch)), position
        assert [name_of(n) for n, _ in ours.next_functions] == [name_of(n) for n, _ in theirs.next_functions]


@pytest.mark.parametrize("name", SAMPLES)
def test_gradients_as_in_pytorch(name, real_torch):
    """First and second derivatives are PyTorch's, also when the pass that computes the first is recorded."""
    for dtype in ("float64", "float32"):
        ours, theirs = (tensors(torch, name, getattr(torch, dtype)) for torch in (course_lib, real_torch))
        expected = gradients(real_torch, name, theirs)
        assert same(values(gradients(course_lib, name, ours)), values(expected))
        assert same(values(gradients(course_lib, name, ours, create_graph=True)), values(expected), 1e-4)
        assert same(
            zeros_for_none(second(course_lib, name, ours)), zeros_for_none(second(real_torch, name, theirs)),
            1e-3, 1e-4,
        )  # fmt: skip


NO_SLOPES = "to_copy", "bernoulli"  # a copy in float32 is too coarse; a chance above 1 is refused


@pytest.mark.parametrize("name", [n for n in SAMPLES if n not in NO_SLOPES])
def test_gradients_are_slopes(name):
    """First and second derivatives are what small differences say, without any other library."""
    inputs = tensors(course_lib, name)

    assert course_lib.autograd.gradcheck(lambda *given: run(course_lib, name, given), inputs, rtol=1e-5, atol=1e-6)
    assert course_lib.autograd.gradgradcheck(lambda *given: run(course_lib, name, given), inputs, rtol=1e-4)


def change_in_place(torch, name, inputs):
    """The in-place variant applied to a computed copy of the first input."""
    target = inputs[0] * 1
    change = IN_PLACE.get(name) or (lambda x, *others: getattr(x, name + "_")(*others))
    return target, change(target, *inputs[1:])


@pytest.mark.parametrize("name", WITH_IN_PLACE)
def test_in_place_variant_as_in_pytorch(name, real_torch):
    """The in-place variant returns the tensor itself, saves what PyTorch's saves, and has the same gradients."""
    found = []
    for torch in (course_lib, real_torch):
        inputs = tensors(torch, name)
        target, result = change_in_place(torch, name, inputs)
        assert result is target
        saved = saved_by(target.grad_fn, torch)
        grads = torch.autograd.grad(weighted(torch, [target]), wanted(inputs), allow_unused=True)
        found.append((value_of(target), target._version, name_of(target.grad_fn), saved, values(grads)))

    assert same(*found)


@pytest.mark.parametrize("name", WITH_IN_PLACE)
def test_in_place_variant_under_no_grad(name):
    """Under no_grad the in-place variant writes to a leaf, counts it, and leaves it a leaf."""
    with course_lib.no_grad():
        inputs = tensors(course_lib, name)
        change = IN_PLACE.get(name) or (lambda x, *others: getattr(x, name + "_")(*others))
        change(*inputs)

    assert inputs[0]._version == 1
    assert inputs[0].is_leaf and inputs[0].requires_grad
    assert same([value_of(x) for x in run(course_lib, name, tensors(course_lib, name))], [value_of(inputs[0])])


def resized(torch, name, *shapes):
    """The sample's call, and its inputs in these shapes by turns."""
    call, arrays = SAMPLES[name]
    inputs = []
    for position, array in enumerate(arrays):
        shape = shapes[position % len(shapes)]
        dtype = torch.bool if array.dtype == bool else torch.float64
        tensor = torch.tensor(np.resize(array, shape).tolist(), dtype=dtype).reshape(shape)
        inputs.append(tensor.requires_grad_(array.dtype.kind == "f"))
    return call, inputs


BROADCASTING = [name for name, row in ROWS.items() if len(row.operands) > 1]
SHAPES = [((2, 3), (3,)), ((3,), (2, 3)), ((2, 1), (1, 3)), ((), (2, 3)), ((2, 3), ()), ((0, 3), (3,)), ((1,), ())]


@pytest.mark.parametrize("name", BROADCASTING)
def test_broadcasting_as_in_pytorch(name, real_torch):
    """Operands are broadcast, and each gradient comes back in its own operand's shape."""
    for shapes in SHAPES:
        found = []
        for torch in (course_lib, real_torch):
            call, inputs = resized(torch, name, *shapes)
            result = call(torch, *inputs)
            grads = torch.autograd.grad(weighted(torch, [result]), wanted(inputs))
            found.append((value_of(result), values(grads)))

        assert same(*found), shapes


ELEMENTWISE = [name for name, row in ROWS.items() if row.operands and row.in_place != "only"]


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1, 1)], ids=str)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_small_shapes_as_in_pytorch(name, shape, real_torch):
    """Nothing special happens to a single number, to nothing, and to lengths of one."""
    found = []
    for torch in (course_lib, real_torch):
        call, inputs = resized(torch, name, shape)
        result = call(torch, *inputs)
        result.sum().backward()
        found.append((value_of(result), values([x.grad for x in wanted(inputs)])))

    assert same(*found)


@pytest.mark.parametrize("name", ONE_ROW)
def test_nothing_is_recorded_without_need(name):
    """Without an input that requires grad, and under no_grad, the result is a plain leaf that keeps nothing."""
    plain = run(course_lib, name, [x.detach() for x in tensors(course_lib, name)])
    with course_lib.no_grad():
        inputs = tensors(course_lib, name)
        unrecorded = run(course_lib, name, inputs)

    for result in plain:
        assert result.is_leaf and not result.requires_grad and result.grad_fn is None
    for result in unrecorded:
        assert result.grad_fn is None
        assert result.requires_grad == (result._base is not None)  # a view shows its base's flag, as in PyTorch


VIEWS = [name for name, row in ROWS.items() if row.view]


@pytest.mark.parametrize("name", ONE_ROW)
def test_who_shares_memory(name):
    """Views, and only views, look at their input's memory; everything else has memory of its own."""
    inputs = [x.detach() for x in tensors(course_lib, name)]
    place = inputs[0].untyped_storage().data_ptr()
    for result in run(course_lib, name, inputs):
        assert (name in VIEWS) == (result.untyped_storage().data_ptr() == place)
        assert (name in VIEWS) == result._is_view()
