"""PyTorch's functions as plain functions over rows: they sort out arguments and pick the row, no more.

PyTorch: aten/src/ATen/native (ReduceOps.cpp, LinearAlgebra.cpp, TensorShape.cpp, TensorCompare.cpp).
"""

import builtins
import functools
import math
import warnings

import numpy as np

from course_lib.arrays import dtypes, kernels, messages
from course_lib.arrays.memory import check_cast, check_overlap, resized
from course_lib.engine import errors
from course_lib.engine.arguments import (
    broadcast_error,
    known_dtype,
    number_of,
    operands,
    promote,
    tensor_argument,
    type_name,
)
from course_lib.engine.build import mark_inference, rows
from course_lib.engine.grad_mode import OFF, state
from course_lib.engine.graph import public_edge
from course_lib.engine.tensor import Tensor, counter_of, memory_of, new_tensor
from course_lib.engine.views import requires_grad
from course_lib.surface import creation
from course_lib.surface.indexing import dimension

_renamed = {}


def rename_node(node, name):
    """Give a node the name PyTorch has for another form of its operation."""
    cls = type(node)
    node.__class__ = _renamed.setdefault((cls, name), type(name, (cls,), {"__slots__": ()}))


def show_edges(result, name, *places):
    """A result whose node has the name and the edges of PyTorch's, which are these of the row's; None: to nowhere."""
    node, cls = result.node, type(result.node)
    if node is not None:
        shown = property(lambda node: tuple(public_edge(None if p is None else node.edges[p]) for p in places))
        parts = {"__slots__": (), "next_functions": shown}
        node.__class__ = _renamed.setdefault((cls, name, places), type(name, (cls,), parts))
    return result


ONE_LIMIT = {"clamp_lower": (0, 1, None), "clamp_upper": (0, None, 1)}  # rows of two inputs, for a node of three


def part_from_inference(input, result, part):
    """The same, where the copy is a part of the result: part(result) is the view that it is written through."""
    if not input.is_inference() or state.recording <= 0 or not requires_grad(input):
        return result
    whole = new_tensor(np.array(result.array))
    rows.copy_(part(whole), input)
    return whole


def number_from_inference(input, result, write="fill_tensor_"):
    """The same, where only the result of a number begins as a copy."""
    if input.array.ndim or not input.is_inference() or state.recording <= 0 or not requires_grad(input):
        return result
    return getattr(rows, write)(new_tensor(np.array(input.array)), input)


def without_gradient(array):
    """The result of an operation that has no gradient."""
    result = new_tensor(array)
    return mark_inference(result) if state.inference else result


def numpy_names(function):
    """Let a function take NumPy's words too: axis for dim, keepdims for keepdim."""

    @functools.wraps(function)
    def call(*args, **options):
        if options:
            options = {{"axis": "dim", "keepdims": "keepdim"}.get(name, name): v for name, v in options.items()}
        return function(*args, **options)

    return call


# --- arithmetic --------------------------------------------------------------------------------------------


def add(input, other, *, alpha=1, out=None):
    """input + alpha * other."""
    plain = alpha == 1 and alpha is not True
    result = checked("add", other, rows.add(input, other) if plain else rows.add_scaled(input, other, alpha))
    return result if out is None else store("add", out, result, input, other)


def sub(input, other, *, alpha=1, out=None):
    """input - alpha * other."""
    plain = alpha == 1 and alpha is not True
    result = checked("sub", other, rows.sub(input, other) if plain else rows.sub_scaled(input, other, alpha))
    return result if out is None else store("sub", out, result, input, other)


def mul(input, other, *, out=None):
    """input * other."""
    result = checked("mul", other, rows.mul(input, other))
    return result if out is None else store("mul", out, result, input, other)


def checked(name, other, result):
    """The result of an operator called by name; TypeError for an operand that it left to the other side."""
    if result is NotImplemented:
        position = 1 if name.endswith("_") else 2
        raise TypeError(f"{name}(): argument 'other' (position {position}) must be Tensor, not {type_name(other)}")
    return result


def fits(input, other):
    """True for two tensors of one floating type and shape."""
    one, two = input.array, other.array
    return one.dtype is two.dtype and one.shape == two.shape and one.dtype.kind == "f"


def add_(input, other, *, alpha=1):
    """Add alpha * other to the tensor's own memory."""
    plain = alpha == 1 and alpha is not True
    if type(alpha) is float and state.recording == OFF and type(other) is Tensor and fits(input, other):
        plain, other = True, new_tensor(alpha * other.array)  # how an optimizer steps: one array less than by the row
    return checked("add_", other, rows.add_(input, other) if plain else rows.add_scaled_(input, other, alpha))


def sub_(input, other, *, alpha=1):
    """Subtract alpha * other from the tensor's own memory."""
    plain = alpha == 1 and alpha is not True
    if type(alpha) is float and state.recording == OFF and type(other) is Tensor and fits(input, other):
        plain, other = True, new_tensor(alpha * other.array)  # how an optimizer steps: one array less than by the row
    return checked("sub_", other, rows.sub_(input, other) if plain else rows.sub_scaled_(input, other, alpha))


def mul_(input, other):
    """Multiply the tensor's own memory."""
    return checked("mul_", other, rows.mul_(input, other))


def div_(input, other, *, rounding_mode=None):
    """Divide the tensor's own memory."""
    if rounding_mode is not None:
        return rows.div_rounded_(input, other, known_rounding(rounding_mode))
    return checked("div_", other, rows.div_(input, other))


def store(name, out, result, *inputs):
    """Write a result into `out`; RuntimeError when an argument requires grad, as that write is not recorded."""
    if state.grad_enabled and builtins.any(isinstance(t, Tensor) and requires_grad(t) for t in (*inputs, out)):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type_name(out)}")
    check_cast(result.array.dtype, out.array.dtype)
    sizes = result.array.shape
    if out.array.shape != sizes:
        check_overlap(out, [t for t in inputs if isinstance(t, Tensor)])
        if out.array.size:
            warnings.warn(messages.OUT_RESIZED.format(list(out.array.shape), list(sizes)), UserWarning, stacklevel=3)
        out.array = resized(memory_of(out), sizes)
    return rows.copy_(out, result.detach())


def div(input, other, *, rounding_mode=None):
    """input / other; rounded down ("floor") or towards zero ("trunc") on request."""
    if rounding_mode is None:
        return checked("div", other, rows.div(input, other))
    return rows.div_rounded(input, other, known_rounding(rounding_mode))


def known_rounding(mode):
    """The mode; RuntimeError when there is no such."""
    if mode not in ("floor", "trunc"):
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'")
    return mode


def pow(input, exponent):
    """input ** exponent, where either may be a number."""
    if not isinstance(exponent, Tensor):
        if type(exponent) is not int:
            exponent = plain_number("** or pow()", exponent)
            if type(exponent) is float and input.array.dtype.kind != "f":
                input = input.to(dtypes.default)
        if input.array.dtype.kind == "b" and not isinstance(exponent, bool):
            input = input.long()
        return rows.pow_number(input, exponent)
    if not isinstance(input, Tensor):
        if exponent.array.dtype.kind != "f" and isinstance(input, float):
            exponent = exponent.to(dtypes.default)
        return rows.number_pow(input, exponent)
    return rows.pow_tensor(input, exponent)


def plain_number(operator, value):
    """A number as Python's, so that NumPy's do not widen the result; TypeError for what is no number."""
    value = number_of(value)
    if not isinstance(value, int | float):
        raise TypeError(f"unsupported operand type(s) for {operator}: 'Tensor' and '{type(value).__name__}'")
    return value


def pow_(input, exponent):
    """Raise the tensor's own memory to a power."""
    exponent = number_of(exponent)
    if input.array.dtype.kind == "b" and type(exponent) is int:
        check_cast(dtypes.I64, input.array.dtype)
    if isinstance(exponent, float) and input.array.dtype.kind != "f":
        check_cast(dtypes.F32, input.array.dtype)
    return rows.pow_tensor_(input, exponent) if isinstance(exponent, Tensor) else rows.pow_number_(input, exponent)


def lerp(input, end, weight):
    """The way from input to end, as far as weight (a number or a tensor) says."""
    return rows.lerp_tensor(input, end, weight) if isinstance(weight, Tensor) else rows.lerp(input, end, weight)


def lerp_(input, end, weight):
    """The same in the tensor's own memory."""
    return rows.lerp_tensor_(input, end, weight) if isinstance(weight, Tensor) else rows.lerp_(input, end, weight)


def square(input):
    """input ** 2."""
    return pow(input, 2)


LIMITS = frozenset({int, float, bool, type(None)})


def clamp(input, min=None, max=None):
    """input limited to [min, max]; tensors as limits are compared element by element."""
    operation, limits = clamp_operation(min, max)
    result = getattr(rows, operation)(input, *limits)
    return show_edges(result, "ClampBackward0", *ONE_LIMIT[operation]) if operation in ONE_LIMIT else result


def clamp_(input, min=None, max=None):
    """Limit the tensor's own memory to [min, max]."""
    operation, limits = clamp_operation(min, max)
    if operation not in ONE_LIMIT:
        return getattr(rows, operation + "_")(input, *limits)
    before = input.node
    result = getattr(rows, operation + "_")(input, *limits)
    return result if result.node is before else show_edges(result, "ClampBackward0", *ONE_LIMIT[operation])


def clamp_operation(min, max):
    """The row that limits by these, numbers or tensors, and its arguments; TypeError for one of each."""
    if type(min) in LIMITS and type(max) in LIMITS:
        return "clamp", (min, max)
    min, max = (number_of(limit) for limit in (min, max))
    tensors = [limit for limit in (min, max) if isinstance(limit, Tensor)]
    if not tensors:
        return "clamp", (min, max)
    if len(tensors) == 2:
        return "clamp_tensors", (min, max)
    if max is None:
        return "clamp_lower", (min,)
    if min is None:
        return "clamp_upper", (max,)
    if tensors[0].array.ndim == 0:
        return "clamp", [limit.item() if isinstance(limit, Tensor) else limit for limit in (min, max)]
    got = f"(Tensor, {type_name(min)}, {type_name(max)})"
    raise TypeError(f"clamp() received an invalid combination of arguments - got {got}, but expected one of:")


def masked_fill(input, mask, value):
    """input with `value`, a number or a tensor without dimensions, wherever the mask is True."""
    return (rows.masked_fill_tensor if isinstance(value, Tensor) else rows.masked_fill)(input, mask, value)


def masked_fill_(input, mask, value):
    """Write `value` wherever the mask is True."""
    if 0 in input.array.strides and mask.array.dtype.kind == "b" and kernels.can_be_summed(input.shape, mask.shape):
        mask = new_tensor(kernels.mask_of_shared(input.array, mask.array))
    return (rows.masked_fill_tensor_ if isinstance(value, Tensor) else rows.masked_fill_)(input, mask, value)


def where(condition, input=None, other=None):
    """input where the condition holds, other elsewhere; either may be a number."""
    if input is None and other is None:
        return tuple(without_gradient(places) for places in np.nonzero(np.atleast_1d(condition.array)))
    if condition.array.dtype.kind != "b":
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.title}"
        )
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        input = creation.tensor(number_of(input))
    return rows.select_where(condition, input, other)


# --- reductions --------------------------------------------------------------------------------------------


def dims_of(tensor, dim):
    """Dimensions from an int, a tuple, a list or None, counted from the front; () and None mean all."""
    if dim is OMITTED or dim is None:
        return None
    if type(dim) is int or not isinstance(dim, tuple | list):
        dim = (dim,)
    if not tensor.array.ndim:
        check_distinct([dimension(tensor, d) for d in dim])  # raises for anything but 0 or -1, once
        return None
    dims = tuple(dimension(tensor, d) for d in dim)
    check_distinct(dims)
    return dims or None


def check_distinct(dims):
    """RuntimeError for a dimension that is named twice."""
    for d in dims if len(set(dims)) < len(dims) else ():
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")


def every(tensor):
    """All dimensions of a tensor."""
    return tuple(range(tensor.array.ndim))


class _Omitted:
    """The default of a dimension that may be given as None: `x.sum(None, True)` is right, `x.sum(keepdim=True)` not."""

    def __repr__(self):
        return "None"


OMITTED = _Omitted()


def sum(input, dim=OMITTED, keepdim=False, *, dtype=None, axis=None, keepdims=False):
    """The sum over the given dimensions (`axis` is NumPy's word), or over all."""
    if axis is not None or keepdims is not False or keepdim is not False:
        dim, keepdim = reduction("sum", dim if axis is None else axis, keepdim if keepdims is False else keepdims)
    if not isinstance(input, Tensor):
        tensor_argument("sum", "input", input, position=1)
    if dtype is not None:
        input = to_kind_of_sum(input, known_dtype("sum", dtype))
    try:
        dims = dims_of(input, dim)
    except TypeError:
        raise TypeError(wrong_form("sum", dim)) from None
    if dims is None:
        whole = (dim is OMITTED or dim is None) and not keepdim
        return rows.sum_all(input) if whole else rows.sum_dim(input, every(input), keepdim)
    return rows.sum_dim(input, dims, keepdim)


def to_kind_of_sum(input, dtype):
    """What a sum in another type adds up. RuntimeError if it is recorded and that type has no gradients."""
    if not dtype.is_floating_point and requires_grad(input):
        raise RuntimeError(f"Autograd not support dtype: {dtype.title}")
    return input.to(dtype)


def reduction(name, dim, keepdim):
    """The dimensions and keepdim; TypeError for a keepdim that is no truth value, or given without dimensions."""
    if dim is OMITTED:
        raise TypeError(wrong_form(name, keepdim, "keepdim="))
    if not isinstance(keepdim, bool):
        raise TypeError(f"{name}(): argument 'keepdim' must be bool, not {type_name(keepdim)}")
    return dim, keepdim


def wrong_form(name, value, place=""):
    """What is said of an argument that no form of a function takes."""
    got = f"got ({place}{type_name(value)}{', ' if place else ''})"
    return f"{name}() received an invalid combination of arguments - {got}, but expected one of:"


def mean(input, dim=OMITTED, keepdim=False, *, dtype=None, axis=None, keepdims=False):
    """The mean over the given dimensions (`axis` is NumPy's word), or over all."""
    if axis is not None or keepdims is not False or keepdim is not False:
        dim, keepdim = reduction("mean", dim if axis is None else axis, keepdim if keepdims is False else keepdims)
    if not isinstance(input, Tensor):
        tensor_argument("mean", "input", input, position=1)
    if dtype is not None:
        input = input.to(known_dtype("mean", dtype))
    if not (dim is OMITTED or dim is None) and input.array.dtype.kind != "f":
        kernels.mean(input.array)  # raises, before dimensions are looked at
    try:
        dims = dims_of(input, dim)
    except TypeError:
        raise TypeError(wrong_form("mean", dim)) from None
    if dims is None:
        whole = (dim is OMITTED or dim is None) and not keepdim
        return rows.mean_all(input) if whole else rows.mean_dim(input, every(input), keepdim)
    return rows.mean_dim(input, dims, keepdim)


class _Pair(tuple):
    """(values, indices), as max, min, sort and topk return them along a dimension."""

    __slots__ = ()
    values = property(lambda pair: pair[0])
    indices = property(lambda pair: pair[1])

    def __repr__(self):
        return f"torch.return_types.{type(self).__name__}(\nvalues={self[0]!r},\nindices={self[1]!r})"


@functools.cache
def kind_of_pair(name):
    """The type of an operation's pairs, named after it."""
    return type(name, (_Pair,), {"__slots__": (), "__module__": "torch.return_types"})


def pair(name, values):
    """A pair of results, as a type of its own that prints as PyTorch's does."""
    return kind_of_pair(name)(values)


def check_kept(name, keepdim):
    """TypeError for a keepdim without a dimension."""
    if keepdim:
        missing = f'{name}() missing 1 required positional arguments: "dim"' if "median" in name else None
        raise TypeError(missing or wrong_form(name, keepdim, "keepdim="))


@numpy_names
def max(input, dim=None, keepdim=False):
    """The largest element of all; the larger of two tensors; or (values, indices) along a dimension."""
    if dim is None:
        check_kept("max", keepdim)
        return rows.max_all(input)
    if isinstance(dim, Tensor):
        return rows.maximum(input, dim)
    values, places = rows.max_dim(input, dimension(input, dim), keepdim)
    return pair("max", (number_from_inference(input, values), places))


@numpy_names
def min(input, dim=None, keepdim=False):
    """The smallest element of all; the smaller of two tensors; or (values, indices) along a dimension."""
    if dim is None:
        check_kept("min", keepdim)
        return rows.min_all(input)
    if isinstance(dim, Tensor):
        return rows.minimum(input, dim)
    values, places = rows.min_dim(input, dimension(input, dim), keepdim)
    return pair("min", (number_from_inference(input, values), places))


def _arg(find, input, dim, keepdim):
    name = find.__name__
    if input.array.dtype.kind == "b":
        raise RuntimeError(f"{name}(): does not support bool input")
    if dim is None:
        if not input.array.size:
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        place = np.int64(find(input.array))
        return without_gradient(np.full((1,) * input.array.ndim, place) if keepdim and input.array.ndim else place)
    dim = dimension(input, dim)
    if not input.array.ndim:
        return without_gradient(np.int64(0))
    if not input.array.shape[dim]:
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
    return without_gradient(find(input.array, axis=dim, keepdims=keepdim))


@numpy_names
def argmax(input, dim=None, keepdim=False):
    """The place of the first largest element."""
    return _arg(np.argmax, input, dim, keepdim)


@numpy_names
def argmin(input, dim=None, keepdim=False):
    """The place of the first smallest element."""
    return _arg(np.argmin, input, dim, keepdim)


@numpy_names
def all(input, dim=None, keepdim=False):
    """True where every element is true."""
    return without_gradient(np.all(input.array, axis=dims_of(input, dim), keepdims=keepdim))


@numpy_names
def any(input, dim=None, keepdim=False):
    """True where some element is true."""
    return without_gradient(np.any(input.array, axis=dims_of(input, dim), keepdims=keepdim))


@numpy_names
def softmax(input, dim=None, dtype=None):
    """exp(input) divided by its sum along a dimension."""
    input = input if dtype is None else input.to(known_dtype("softmax", dtype))
    return rows.softmax(input, softmax_dim("softmax", input, dim))


@numpy_names
def log_softmax(input, dim=None, dtype=None):
    """The logarithm of softmax, computed without overflow."""
    input = input if dtype is None else input.to(known_dtype("log_softmax", dtype))
    return rows.log_softmax(input, softmax_dim("log_softmax", input, dim))


def softmax_dim(name, input, dim):
    """The dimension to normalise along; TypeError when it is not given."""
    if dim is None:
        raise TypeError(f'{name}() missing 1 required positional arguments: "dim"')
    return dimension(input, dim)


# --- matrices ----------------------------------------------------------------------------------------------


def mm(input, mat2):
    """The product of two matrices."""
    check_matrices("mat1", "mat2", input, mat2)
    return rows.mm(input, mat2)


def check_matrices(first, second, a, b):
    """RuntimeError unless a's rows fit b's columns."""
    sizes, others = a.array.shape, b.array.shape
    if len(sizes) != 2 or len(others) != 2:
        wrong = "self" if len(sizes) != 2 else "mat2"
        raise RuntimeError(f"{wrong} must be a matrix")
    if sizes[1] != others[0]:
        (m, n), (p, q) = sizes, others
        raise RuntimeError(f"{first} and {second} shapes cannot be multiplied ({m}x{n} and {p}x{q})")


def mv(input, vec):
    """A matrix times a vector."""
    if input.array.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    check_matrix_and_vector(input.array.shape[:1], input, vec)
    return rows.mv(input, vec)


def check_matrix_and_vector(shape, mat, vec):
    """RuntimeError unless a matrix, a vector and the shape of what is added to their product go together."""
    if len(shape) > 1 or mat.array.ndim != 2 or vec.array.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {len(shape)}, {mat.array.ndim}, {vec.array.ndim}")
    (m, n), p = mat.array.shape, vec.array.shape[0]
    if n != p or shape not in ((m,), (1,), ()):
        raise RuntimeError(f"size mismatch, got input ({math.prod(shape)}), mat ({m}x{n}), vec ({p})")


def dot(input, tensor):
    """The inner product of two vectors."""
    if input.array.ndim != 1 or tensor.array.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {input.array.ndim}D and {tensor.array.ndim}D tensors")
    if input.array.shape != tensor.array.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{input.array.size}] and src [{tensor.array.size}] to have the "
            "same number of elements, but got "
            f"{input.array.size} and {tensor.array.size} elements respectively"
        )
    return rows.dot(input, tensor)


def bmm(input, mat2):
    """Products of matrices, pair by pair."""
    if input.array.ndim != 3 or mat2.array.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor" if input.array.ndim != 3 else "batch2 must be a 3D tensor")
    (b, _, k), (b2, k2, _) = input.array.shape, mat2.array.shape
    if b != b2 or k != k2:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{b}, {k}] but got: [{b2}, {k2}]."
        )
    return rows.bmm(input, mat2)


def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    """beta * input + alpha * (mat1 @ mat2)."""
    for name, t in (("self", input), ("mat1", mat1)):
        if t.array.dtype != mat2.array.dtype:
            kinds = t.dtype.title, mat2.dtype.title
            raise RuntimeError(f"{name} and mat2 must have the same dtype, but got {kinds[0]} and {kinds[1]}")
    for name, matrix in (("mat1", mat1), ("mat2", mat2)):
        if matrix.array.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {matrix.array.ndim}-D tensor")
    check_matrices("mat1", "mat2", mat1, mat2)
    if mat1.array.dtype.kind == "b" and input.array.size:
        kernels.floats(mat1.array, "addmm_impl_cpu_")
    if beta != 1 or alpha != 1:
        return rows.addmm_scaled(input, mat1, mat2, beta, alpha)
    return rows.addmm(input, mat1, mat2)


def matmul(input, other):
    """The product of vectors, matrices and stacks of matrices, chosen by the numbers of dimensions."""
    try:
        a, b = input.array.ndim, other.array.ndim
    except AttributeError:
        tensor_argument("matmul", "input", input), tensor_argument("matmul", "other", other)
        raise
    if a == b == 2:
        if input.array.shape[1] == other.array.shape[0]:
            return rows.mm(input, other)
        return mm(input, other)  # raises, and says why: shapes come before types
    if a == 0 or b == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D")
    if a == 1 and b == 1:
        return dot(input, other)
    if a == 2 and b == 1:
        return mv(input, other)
    if a == 1 and b == 2:
        result = rows.squeeze_fresh(mm(rows.unsqueeze(input, 0), other), 0)
        counter_of(result).value += 1  # PyTorch drops the extra dimension in place
        return result
    if folds(input, other):
        return fold_batches(input, other)
    return matmul_batches(input, other)


def folds(input, other):
    """True when a stack of matrices times one matrix or vector (or the reverse) is computed as one product of two.

    PyTorch (should_fold in LinearAlgebra.cpp) does so when the stack's memory allows it without a copy, or when the
    single matrix requires grad: its gradient would otherwise be as large as the stack's.
    """
    left = input.array.ndim >= other.array.ndim
    stack, single = (input, other) if left else (other, input)
    if single.array.ndim > 2:
        return False
    if requires_grad(single):
        return True
    if input.array.ndim == 2:
        return False
    sizes, strides = stack.array.shape, stack.stride()
    if not left:
        sizes, strides = (*sizes[:-2], sizes[-1], sizes[-2]), (*strides[:-2], strides[-1], strides[-2])
    return not stack.array.size or builtins.all(
        strides[d] == strides[d + 1] * sizes[d + 1] for d in range(len(sizes) - 2)
    )


def fold_batches(input, other):
    """A stack of matrices times one matrix or vector: one product of two matrices between two reshapes."""
    turned = other.array.ndim > input.array.ndim
    if turned:
        input, other = mT(other), rows.t(input) if input.array.ndim == 2 else input
    lead = input.array.shape[:-1]
    flat = reshape(input, (math.prod(lead), input.array.shape[-1]))
    if other.array.ndim == 1:
        return reshape_fresh(mv(flat, other), lead)
    result = reshape_fresh(mm(flat, other), (*lead, other.array.shape[1]))
    return mT(result).contiguous() if turned else result


def reshape_fresh(product, shape):
    """A product nobody else sees, reshaped: recorded as UnsafeViewBackward0, and not a view."""
    return rows.unsafe_view(product, shape)


def matmul_batches(input, other):
    """Stacks of matrices on both sides, broadcast against each other; a vector counts as one matrix."""
    sizes, others = input.array.shape, other.array.shape
    if len(sizes) == len(others) == 3 and sizes[0] != others[0]:
        if sizes[0] == 1 and requires_grad(input):
            return matmul(rows.squeeze_dim(input, 0), other)
        if others[0] == 1 and requires_grad(other):
            return matmul(input, rows.squeeze_dim(other, 0))
    (m, k), right = (1, *sizes)[-2:], others[-2:]
    try:
        lead = np.broadcast_shapes(sizes[:-2], others[:-2])
    except ValueError:
        raise kernels.sizes_differ(sizes[:-2], others[:-2]) from None
    count = math.prod(lead)
    a = reshape(expand(input, (*lead, m, k)), (count, m, k))
    b = reshape(expand(other, (*lead, *right)), (count, *right))
    shape = (*lead, m, *right[1:]) if len(sizes) > 1 else (*lead, *right[1:])
    if len(others) == 1:
        return reshape_fresh(rows.squeeze_dim(bmm(a, rows.unsqueeze(b, 2)), 2), shape)
    return reshape_fresh(bmm(a, b), shape)


# --- shapes ------------------------------------------------------------------------------------------------


def shape_arguments(shape):
    """A shape from `(2, 3)` or `((2, 3),)`."""
    return creation.sizes_from(shape)


def view(input, *shape, size=None):
    """The same memory in another shape; RuntimeError when that would need a copy."""
    shape = shape if size is None else (size,)
    if len(shape) == 1 and isinstance(shape[0], dtypes.dtype):
        raise errors.not_supported("view(dtype)", "Use .to(dtype) to convert the elements.")
    shape = shape_arguments(shape)
    return rows.view(input, kernels.complete_shape(input.array.size, shape))


def reshape(input, *sizes, shape=None):
    """Another shape: a view when the memory allows it, otherwise a copy."""
    shape = shape_arguments(sizes if shape is None else (shape,))
    array, shape = memory_of(input), kernels.complete_shape(input.array.size, shape)
    if array.flags.c_contiguous:
        return rows.view(input, shape)
    try:
        kernels.view(array, shape)
    except RuntimeError:
        return rows.unsafe_view(input.clone(), shape)
    return rows.reshape_alias(input, shape)


def flatten(input, start_dim=0, end_dim=-1):
    """Several dimensions made one; the tensor itself when there is nothing to do."""
    start, end = dimension(input, start_dim), dimension(input, end_dim)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if input.array.ndim == 0:
        return reshape(input, 1)
    if start == end:
        return input
    sizes = input.array.shape
    return reshape(input, (*sizes[:start], math.prod(sizes[start : end + 1]), *sizes[end + 1 :]))


def t(input):
    """A matrix with rows and columns exchanged."""
    if input.array.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.array.ndim}D")
    return rows.t(input)


def mT(input):
    """The last two dimensions exchanged."""
    if input.array.ndim == 0:
        return input
    if input.array.ndim == 1:
        raise RuntimeError("tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return rows.transpose(input, input.array.ndim - 2, input.array.ndim - 1)


def transpose(input, dim0, dim1):
    """Two dimensions exchanged."""
    return rows.transpose(input, dimension(input, dim0), dimension(input, dim1))


def permute(input, *order, dims=None):
    """The dimensions in another order."""
    dims = shape_arguments(order if dims is None else (dims,))
    if len(dims) != input.array.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {input.array.ndim} is not equal to len(dims) = {len(dims)}"
        )
    dims = tuple(dimension(input, d) for d in dims)
    if len(set(dims)) != len(dims):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return rows.permute(input, dims)


@numpy_names
def unsqueeze(input, dim):
    """A new dimension of length 1."""
    return rows.unsqueeze(input, dimension(input, dim, extra=1))


@numpy_names
def squeeze(input, dim=None):
    """Without dimensions of length 1: all of them, or those named."""
    if dim is None:
        return rows.squeeze(input)
    if not isinstance(dim, tuple | list):
        return rows.squeeze_dim(input, dimension(input, dim))
    result = rows.squeeze_dim(input, dims_of(input, dim) or ())
    if result.node is not None:
        rename_node(result.node, "SqueezeBackward2")
    return result


def expand(input, *sizes, size=None):
    """The tensor seen with dimensions repeated; -1 keeps a length."""
    return rows.expand(input, shape_arguments(sizes if size is None else (size,)))


def select(input, dim, index):
    """One place along a dimension, as a view."""
    if input.array.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = dimension(input, dim)
    length = input.array.shape[dim]
    if not -length <= index < length:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.array.shape)} at dimension {dim}"
        )
    return rows.select(input, dim, int(index) % length)


@numpy_names
def unbind(input, dim=0):
    """All places along a dimension, as a tuple of views from one node."""
    if input.array.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return tuple(rows.unbind(input, dimension(input, dim)))


def index_select(input, dim, index):
    """The places that an index tensor names along a dimension, in new memory."""
    return rows.index_select(input, dimension(input, dim), index)


def gather(input, dim, index):
    """Elements picked along a dimension, one for each element of index."""
    return rows.gather(input, dimension(input, dim), index)


# --- comparisons: no gradient ------------------------------------------------------------------------------


def compare(name, function):
    """A comparison of two tensors, or of a tensor and a number, element by element."""

    def comparison(input, other):
        if not isinstance(other, Tensor | int | float | np.number | np.bool_):
            if not isinstance(other, np.ndarray) or name not in ("eq", "ne"):
                return NotImplemented
            other = creation.from_numpy(other)
        a, b = operands(name, input, other)
        if a.array.dtype is not b.array.dtype:
            x, y = promote(a, b)
        else:
            x, y = a.array, b.array
        try:
            result = function(x, y)
        except ValueError:
            raise broadcast_error(a, b) from None
        if x.ndim > 1 and not x.flags.c_contiguous:
            result = kernels.in_order_of(x, result)
        return without_gradient(result)

    comparison.__name__ = name
    comparison.__doc__ = f"Element by element: {function.__name__.replace('_', ' ')}. The result is bool."
    return comparison


eq, ne = compare("eq", np.equal), compare("ne", np.not_equal)
lt, le = compare("lt", np.less), compare("le", np.less_equal)
gt, ge = compare("gt", np.greater), compare("ge", np.greater_equal)


def logical_not(input):
    """True where the element is zero."""
    return without_gradient(np.logical_not(input.array))


def isnan(input):
    """True where the element is not a number."""
    return without_gradient(np.isnan(input.array))


def isinf(input):
    """True where the element is infinite."""
    return without_gradient(np.isinf(input.array))


def isfinite(input):
    """True where the element is neither infinite nor NaN."""
    return without_gradient(np.isfinite(input.array))


def equal(input, other):
    """True when two tensors have the same shape and elements."""
    return input.array.shape == other.array.shape and bool(np.all(input.array == other.array))


def is_tensor(obj):
    """True for tensors."""
    return isinstance(obj, Tensor)


def numel(input):
    """The number of elements."""
    return input.array.size
