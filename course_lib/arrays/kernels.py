"""The arithmetic behind the table where one NumPy expression is not enough: plain functions of arrays.

PyTorch: aten/src/ATen/native (ReduceOps.cpp, TensorShape.cpp, Activation.cpp), torch/csrc/autograd/FunctionsManual.cpp.

The first part computes values. The second part, `restore_dim` and below, holds what gradient formulas call. A
formula runs on arrays, or on tensors when the backward pass is itself recorded. Functions written with operators
and with each other's names do for both (`twin_of` in build.py); those that call NumPy have a twin in twins.py.
"""

import functools
import math
import re
from sys import getrefcount

import numpy as np

from course_lib.arrays.dtypes import BOOL, F32
from course_lib.arrays.dtypes import of_array as title
from course_lib.arrays.memory import UNSHARED, check_cast, is_dense

# --- values ------------------------------------------------------------------------------------------------


def subtract(a, b):
    """a - b, where a may be a Python number; RuntimeError for truth values, which have no difference."""
    if "b" in (b.dtype.kind, "b" if type(a) is bool else ""):
        check_difference(a, b)
    return a - b


def check_difference(*operands):
    """RuntimeError for a difference of truth values, in arrays or alone."""
    wrong = [type(x) is bool or getattr(x, "dtype", None) == np.bool_ for x in operands]
    if all(wrong):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    if any(wrong):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )


def scaled(x, alpha):
    """alpha * x in x's own type; RuntimeError for a factor that x's type cannot hold."""
    if x.dtype.kind != "f" and isinstance(alpha, float):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if x.dtype.kind == "b":
        return x & bool(alpha)
    if x.dtype.kind == "i" and isinstance(alpha, bool):
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    return alpha * x


def lerp(start, end, weight):
    """start + weight * (end - start), computed from the nearer end, as PyTorch does."""
    weight = getattr(weight, "array", weight)
    if np.ndim(weight):
        return np.where(abs(weight) < 0.5, start + weight * (end - start), end - (end - start) * (1 - weight))
    return start + weight * (end - start) if abs(weight) < 0.5 else end - (end - start) * (1 - weight)


def power(base, exponent):
    """base ** exponent; an integer raised to a negative integer is 0, or RuntimeError if that one is a number."""
    if base.dtype.kind in "ib" and np.asarray(exponent).dtype.kind in "ib":
        if not isinstance(exponent, np.ndarray | np.generic):
            if exponent < 0:
                raise RuntimeError("Integers to negative integer powers are not allowed.")
            if base.dtype.kind == "b" and type(exponent) is bool:
                return base if exponent else np.ones_like(base)
        elif base.dtype.kind == "b":
            sizes_of_both(base, exponent)
            raise NotImplementedError("\"pow\" not implemented for 'Bool'")
        else:
            odd = np.where(exponent % 2, -1, 1)
            inverse = np.where(base == 1, 1, np.where(base == -1, odd, 0))
            return np.where(exponent < 0, inverse, base ** np.maximum(exponent, 0))
    if type(exponent) is float and abs(exponent) == 0.5 and base.dtype.kind == "f":
        root = np.sqrt(base)  # which keeps the sign of zero
        return root if exponent > 0 else 1 / root
    if not isinstance(exponent, np.ndarray | np.generic):
        if base.dtype.kind == "f" and exponent in (3, -2):  # as PyTorch; NumPy's way takes a hundred times as long
            return base * base * base if exponent == 3 else 1 / (base * base)
        return base**exponent
    repeated = exponent.shape != base.shape or exponent.size < 2 or 0 in exponent.strides
    if repeated and base.dtype.kind == "f" and np.any(exponent == 0.5):  # NumPy takes the root, another one at -inf
        base = np.where((exponent == 0.5) & ((base == 0) | (base == -math.inf)), np.abs(base), base)
    return np.power(base, exponent)


def running(function, x, dim):
    """np.cumsum or np.cumprod along a dimension."""
    if not x.ndim:
        return np.asarray(x, np.int64 if x.dtype.kind == "b" else x.dtype).copy()
    result = np.ascontiguousarray(function(x, axis=dim))
    return result + x.dtype.type(0) if function is np.cumsum and x.dtype.kind == "f" else result  # from 0: never -0.0


def logistic(x):
    """1 / (1 + exp(-x)), without overflow warnings at either end."""
    return 1 / (1 + np.exp(-x))


def error_function(x):
    """erf, element by element: Python's for few elements, for many a series around the nearest place of a table.

    That takes a tenth of the time, and differs in the last bit at most.
    """
    if x.size < 200:
        result = np.asarray(np.vectorize(math.erf, otypes=[np.float64])(x)).astype(x.dtype)
        return laid_out_like(result, x) if result.ndim else result
    size = np.fmin(np.abs(x), x.dtype.type(ERF_END))  # NaN as well, for the moment
    nearest = np.rint(size * x.dtype.type(ERF_STEPS))
    distance = (size - nearest / x.dtype.type(ERF_STEPS)).astype(np.float64)  # nothing is rounded so far
    places = nearest.astype(np.intp)
    coefficients = erf_table()[: 4 if x.dtype == np.float32 else None]
    result = coefficients[-1][places]
    for each in coefficients[-2::-1]:
        result *= distance
        result += each[places]
    return np.where(np.isnan(x), x, np.copysign(result, x)).astype(x.dtype, copy=False)


ERF_END, ERF_STEPS = 6, 128  # beyond 6 erf is 1 in double precision, too


@functools.cache
def erf_table():
    """At every 128th from 0 to 6 the Taylor coefficients of erf; those after the first are Hermite polynomials."""
    at = np.arange(ERF_END * ERF_STEPS + 1) / ERF_STEPS
    slope, hermite = 2 / math.sqrt(math.pi) * np.exp(-at * at), [np.ones_like(at), 2 * at]
    for n in range(1, 5):
        hermite.append(2 * at * hermite[n] - 2 * n * hermite[n - 1])
    terms = [(-1) ** n / math.factorial(n + 1) * slope * h for n, h in enumerate(hermite)]
    return [np.array([math.erf(x) for x in at]), *terms]


def clip(x, low, high):
    """x limited to [low, high]; either limit may be None."""
    if low is None and high is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if x.dtype.kind != "f" and any(isinstance(limit, float) for limit in (low, high)):
        x = x.astype(np.float32)
    return np.clip(x, low, high)


def masked_fill(x, mask, value):
    """x with `value` wherever the mask is True."""
    if mask.dtype.kind != "b":
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {title(mask).c_name}")
    value = getattr(value, "array", value)
    if np.ndim(value):
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{np.ndim(value)} dimension(s)."
        )
    try:
        mask = np.broadcast_to(mask, np.broadcast_shapes(mask.shape, x.shape))
    except ValueError:
        raise sizes_differ(mask.shape, x.shape) from None
    return np.asarray(np.where(mask, whole(value, x.dtype), x), order="C")


def mask_of_shared(x, mask):
    """The mask for elements of x that share a place: True for all of them if it is for one."""
    mask, shared = np.broadcast_to(mask, x.shape), tuple(d for d, step in enumerate(x.strides) if step == 0)
    return np.broadcast_to(mask.any(shared, keepdims=True), mask.shape)


NO_ABS = "\"abs_cpu\" not implemented for 'Bool'"
NO_ADDCMUL = "\"addcmul_cpu_out\" not implemented for 'Bool'"
NO_NEGATIVE = (
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead."
)


def no_quotient():
    """The RuntimeError of addcdiv for a quotient of integers."""
    raise RuntimeError(
        "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
        "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
        "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) "
        "for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * tensor1 / "
        "tensor2), for all dtypes."
    )


def sizes_of_both(a, b):
    """RuntimeError unless the shapes of two arrays go together."""
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        raise sizes_differ(a.shape, b.shape) from None


def floats(x, kernel):
    """x, unless it holds integers: PyTorch's kernel of that name does not take them, and neither do we."""
    if x.dtype.kind != "f":
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{title(x).title}'")
    return x


def truth_refused(x, message, error=RuntimeError):
    """x, unless it holds truth values, for which there is no such operation."""
    if x.dtype.kind == "b":
        raise error(message)
    return x


def in_order_of(first, result):
    """The result of an operation on several operands, its dimensions in memory in the order of the first operand's.

    PyTorch: aten/src/ATen/TensorIterator.cpp (reorder_dimensions). Where operands disagree NumPy decides otherwise.
    """
    if first.shape != result.shape or 0 in first.strides or not result.size:
        return result
    inner_first = sorted(range(first.ndim - 1, -1, -1), key=lambda d: (first.strides[d], first.shape[d]))
    order = inner_first[::-1]
    laid_out = np.empty([result.shape[d] for d in order], result.dtype).transpose(np.argsort(order))
    if laid_out.strides == result.strides:
        return result
    laid_out[...] = result
    return laid_out


def relu(x):
    """The larger of x and 0, a NaN staying NaN; RuntimeError for truth values."""
    if type(x) is not np.ndarray or x.dtype not in ZERO:
        return np.maximum(0, truth_refused(x, "Boolean inputs not supported for relu"))
    return np.maximum(ZERO[x.dtype], x)


# Note [Sums of short rows and columns are matrix products]
# BLAS multiplies a 32 x 16 matrix by a vector of ones in 0.5 µs; np.add.reduce needs 1.5 µs for the same sums. Long
# rows are left to NumPy, which adds them pairwise and so more exactly.

SHORT = 1024
ZERO = {np.dtype(each): np.zeros((), each) for each in ("f4", "f8")}  # NumPy takes them quicker than a Python 0
ONES = {dtype: np.ones(SHORT, dtype) for dtype in ZERO}  # nobody may write to these


NUMBERS = np.arange(4096)


def counting(stop, step=1):
    """0, step, 2 * step ... below stop. Nobody may write to them: small ones are cut out of one array of numbers."""
    return NUMBERS[:stop:step] if stop <= len(NUMBERS) else np.arange(0, stop, step)


def sum_of_all(x):
    """The sum of all elements."""
    if type(x) is np.ndarray and x.size <= SHORT and x.dtype in ONES and x.flags.c_contiguous:
        return x.reshape(-1).dot(ONES[x.dtype][: x.size]) or x.dtype.type()  # the sum of -0.0 is 0.0
    return np.add.reduce(x, axis=None) or x.dtype.type()


def sum_of_rows(x):
    """The sum of each row of a matrix, as a column."""
    n = x.shape[1]
    return x.dot(ONES[x.dtype][:n])[:, None] if n <= SHORT else np.add.reduce(x, axis=1, keepdims=True)


def sum_of_columns(x):
    """The sum of each column of a matrix, as a vector."""
    n = len(x)
    return ONES[x.dtype][:n].dot(x) if n <= SHORT and x.dtype in ONES else np.add.reduce(x, axis=0)


def largest_of_rows(x):
    """The largest element of each row of a matrix, as a column: found by argmax, in half the time of np.max."""
    if x.size and x.flags.c_contiguous:
        n, width = x.shape
        places = x.argmax(1)
        places += counting(n * width, width)
        return x.take(places)[:, None]
    return np.maximum.reduce(x, axis=1, keepdims=True, initial=-math.inf)


def total(x, dim=None, keepdim=False):
    """The sum over some dimensions, or all; truth values are counted."""
    if x.dtype in ONES:
        if dim is None and not keepdim:
            return sum_of_all(x)
        if x.ndim == 2:
            if dim in (1, (1,)):
                return sum_of_rows(x) if keepdim else sum_of_rows(x)[:, 0]
            if dim in (0, (0,)):
                return sum_of_columns(x)[None] if keepdim else sum_of_columns(x)
        return in_rows(np.add.reduce(x, axis=dim, keepdims=keepdim))
    return in_rows(np.add.reduce(x, axis=dim, keepdims=keepdim, dtype=np.int64 if x.dtype.kind in "bi" else None))


def in_rows(result):
    """The result of a reduction in row-major order, whatever the order of what was reduced."""
    return result if result.ndim < 2 or result.flags.c_contiguous else np.ascontiguousarray(result)


def packed(x):
    """x in row-major order, with the strides of rows also along dimensions of length 1, for which NumPy takes any."""
    x = np.ascontiguousarray(x)
    return x.reshape(-1).reshape(x.shape) if 1 in x.shape else x


def mean(x, dim=None, keepdim=False):
    """The mean over some dimensions, or all; NaN for nothing. RuntimeError for integers."""
    if x.dtype.kind != "f":
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {title(x).title}"
        )
    return np.true_divide(total(x, dim, keepdim), x.dtype.type(numel(x.shape, dim)))


def extreme_along(x, find, dim, keepdim):
    """(values, indices) of the first largest or smallest element along one dimension."""
    if x.ndim == 0:
        return x.copy(), np.int64(0)
    if not x.shape[dim]:
        name = find.__name__.removeprefix("arg")
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
    indices = np.expand_dims(find(x, axis=dim), dim)
    values = np.take_along_axis(x, indices, axis=dim)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


def laid_out_like(values, x):
    """Values of x's shape in new memory laid out as x's elements lie; in rows for an expanded array."""
    if x.flags.c_contiguous or 0 in x.strides:
        return np.array(values, order="C")
    result = np.empty_like(x, values.dtype)
    if 1 in x.shape and is_dense(x):  # NumPy chooses the strides of single elements, PyTorch keeps them
        steps = [step // x.itemsize * result.itemsize for step in x.strides]
        result = np.ndarray(x.shape, result.dtype, np.empty(x.size, result.dtype), 0, steps)
    result[...] = values
    return result


def floats_only(name, x, dim):
    """NotImplementedError for integers (if there are any elements), in the words of PyTorch's kernels."""
    if x.dtype.kind != "f" and x.size:
        kernel = "lastdim_kernel_impl" if dim == x.ndim - 1 else "kernel_impl"
        raise NotImplementedError(f'"{name}_{kernel}" not implemented for \'{title(x).title}\'')


def softmax(x, dim):
    """exp(x) divided by its sum along one dimension."""
    floats_only("softmax", x, dim)
    if x.ndim == 0:
        return np.exp(x - x)
    if not x.size:
        return np.ascontiguousarray(x)
    e = np.exp(x - largest(x, dim))
    result = e / total(e, dim, True)
    return result if result.flags.c_contiguous else np.ascontiguousarray(result)


def log_softmax(x, dim):
    """x minus the logarithm of the sum of its exponentials along one dimension."""
    floats_only("log_softmax", x, dim)
    if x.ndim == 0:
        return x - x
    if not x.size:
        return np.ascontiguousarray(x)
    result = x - largest(x, dim)
    np.subtract(result, np.log(total(np.exp(result), dim, True)), result)
    return result if result.flags.c_contiguous else np.ascontiguousarray(result)


def largest(x, dim):
    """The largest element along one dimension, which is kept; -inf where there are none."""
    if dim == 1 and x.ndim == 2:
        return largest_of_rows(x)
    return np.maximum.reduce(x, axis=dim, keepdims=True, initial=-math.inf)


def matrix_product(a, b):
    """a @ b; RuntimeError for shapes or element types that do not go together."""
    if a.dtype is not b.dtype or a.dtype is BOOL:
        if a.ndim == 3 and not (a.size and b.size):
            return np.zeros((*a.shape[:2], b.shape[2]), b.dtype)  # of nothing PyTorch does not ask for the type
        if a.dtype is BOOL and a.ndim == 3:
            floats(a, "bmm")
        same_type(a, b)
        if a.dtype is BOOL and (a.size or a.ndim != 2 or b.ndim != 2):
            floats(a, {(1, 1): "dot", (2, 1): "addmv_impl_cpu"}.get((a.ndim, b.ndim), "addmm_impl_cpu_"))
    return a.dot(b) if b.ndim < 3 else a @ b  # for matrices dot takes half the time of @


def is_quicker_turned(a, b):
    """True for a few rows times a large transposed weight: BLAS takes 0.5 to 0.95 of the time for (b.T @ a.T).T."""
    return 4 < len(a) <= 64 and (len(a) > 16 or b.size > 65_000) and b.flags.f_contiguous


def matrix_product_plus(bias, a, b):
    """a @ b + bias, the bias added in place on the fresh product."""
    if not a.dtype is b.dtype is bias.dtype:
        same_type(a, b)
        if bias.dtype != b.dtype:
            kinds = f"{title(bias).title} and {title(b).title}"
            raise RuntimeError(f"self and mat2 must have the same dtype, but got {kinds}")
    if b.size > 30_000 and is_quicker_turned(a, b) and bias.shape == b.shape[1:]:
        return np.add(b.T.dot(a.T).T, bias, order="C")  # the addition puts it in rows
    product = a.dot(b)
    try:
        product += bias
    except ValueError:
        product += broadcast(bias, product.shape)  # raises, and says why
    return product


def same_type(a, b):
    """RuntimeError unless both matrices hold the same element type: products do not promote."""
    if a.dtype != b.dtype:
        if a.ndim == b.ndim == 1:
            names = f"{title(a).title} and {title(b).title}"
            raise RuntimeError(f"dot : expected both vectors to have same dtype, but found {names}")
        if a.ndim == 3:
            raise RuntimeError(f"expected scalar type {title(a).title} but found {title(b).title}")
        if b.ndim == 1:
            names = f"{title(b).title}, {title(a).title}, and {title(b).title}"
            raise RuntimeError(f"addmv input tensors must have the same dtype, but got {names}")
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {title(a).c_name} != {title(b).c_name}"
        )


def copy(x):
    """The same values in memory of their own; the layout is kept when it is dense."""
    return np.array(x, order="C" if 0 in x.strides else "K") if type(x) is np.ndarray else x


def copy_of_gradient(x):
    """The same for a gradient, of which elements that share a place go on sharing one: nobody may write to it."""
    if type(x) is not np.ndarray or 0 not in x.strides:
        return copy(x)
    once = x[tuple(slice(None) if step else slice(1) for step in x.strides)]
    return expand(copy(once), x.shape)


def astype(x, dtype):
    """The values converted to a NumPy type, laid out as they are; in rows when the array is expanded."""
    return x.astype(dtype, order="C" if 0 in x.strides else "K")


def whole(value, dtype):
    """A number as an element of a type; RuntimeError for one that is too large for integers."""
    if dtype.kind == "i" and not -(2.0**63) <= value < 2.0**63:
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    return dtype.type(value)


def full_like(x, value):
    """An array like x with one value everywhere."""
    return np.full(x.shape, whole(getattr(value, "array", value), x.dtype)).astype(x.dtype)


def only_number(value, like):
    """A value without dimensions seen as having the shape and type of `like`; RuntimeError for any other."""
    if value.ndim:
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
        )
    return broadcast_like(value, like)


def same_memory(a, b):
    """True for two arrays that look at the same elements in the same way."""
    places = [array.__array_interface__["data"] for array in (a, b)]
    return places[0] == places[1] and (a.shape, a.strides, a.dtype) == (b.shape, b.strides, b.dtype)


def broadcast_like(x, like):
    """x seen as having the shape and type of `like`; RuntimeError when it does not fit."""
    if x is like or 0 in like.strides and same_memory(x, like):
        return like
    try:
        shape = np.broadcast_shapes(x.shape, like.shape)
    except ValueError:
        raise sizes_differ(like.shape, x.shape) from None
    if shape != like.shape:
        raise RuntimeError(f"output with shape {list(like.shape)} doesn't match the broadcast shape {list(shape)}")
    return np.broadcast_to(x, like.shape).astype(like.dtype, copy=False)


# --- looking at the same memory ----------------------------------------------------------------------------


def view(x, shape):
    """The same memory with another shape; RuntimeError when that needs a copy."""
    shape = complete_shape(x.size, shape)
    if x.flags.c_contiguous:
        return x.reshape(shape)
    try:
        return x.view().reshape(shape, copy=False)
    except ValueError:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across "
            "two contiguous subspaces). Use .reshape(...) instead."
        ) from None


def complete_shape(size, shape):
    """The shape with -1 worked out; RuntimeError when the number of elements does not fit."""
    shape = tuple([int(n) for n in shape])
    if math.prod(shape) == size and min(shape, default=0) >= 0:
        return shape
    for d, n in enumerate(shape):
        if n < -1:
            raise RuntimeError(f"invalid shape dimension {n} at index {d} of shape {list(shape)}")
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    known = math.prod(n for n in shape if n != -1)
    if -1 in shape and known and size % known == 0:
        return tuple(size // known if n == -1 else n for n in shape)
    if -1 in shape and known == 0 and size == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 "
            "can be any value and is ambiguous"
        )
    if -1 in shape or known != size:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")
    return shape


def copy_shaped(x, shape):
    """The elements in row-major order in another shape; only used on memory that nobody else sees."""
    return np.ascontiguousarray(x).reshape(complete_shape(x.size, shape))


def swap(x, dim0, dim1):
    """Two dimensions exchanged; a number is its own transpose."""
    return x.swapaxes(dim0, dim1) if x.ndim else np.asarray(x)[...]


def add_dim(x, dim):
    """x with a new dimension of length 1."""
    return x.reshape((*x.shape[:dim], 1, *x.shape[dim:]))


def squeeze(x, dim=None):
    """x without dimensions of length 1: all of them, or those named."""
    if dim is None:
        return x.squeeze()
    return np.squeeze(x, tuple(d for d in (dim if isinstance(dim, tuple) else (dim,)) if x.ndim and x.shape[d] == 1))


def broadcast(x, sizes):
    """x seen with dimensions repeated; -1 keeps a length. RuntimeError when the lengths do not fit.

    PyTorch: aten/src/ATen/ExpandUtils.cpp (inferExpandGeometry). np.broadcast_to gives dimensions of length 1 other
    strides, and takes ten times as long.
    """
    x, sizes = np.asarray(x), [int(n) for n in sizes]
    shape, strides, lead = x.shape, x.strides, len(sizes) - x.ndim
    if lead < 0:
        kind = "CPUBoolType" if x.dtype is BOOL else title(x).tensor_type
        raise RuntimeError(
            f"expand({kind}{{{list(shape)}}}, size={sizes}): the number of sizes provided ({len(sizes)}) must be "
            f"greater or equal to the number of dimensions in the tensor ({x.ndim})"
        )
    wanted, steps, step_of_new = list(sizes), [0] * len(sizes), x.itemsize if x.ndim else 0
    for d in range(len(sizes) - 1, -1, -1):
        n, steps[d] = (shape[d - lead], strides[d - lead]) if d >= lead else (1, step_of_new)
        if sizes[d] == -1 and d >= lead:
            wanted[d] = n
        elif sizes[d] != n:
            steps[d] = 0
            size = f"The expanded size of the tensor ({sizes[d]})"
            if sizes[d] < 0 and d < lead:
                raise RuntimeError(f"{size} isn't allowed in a leading, non-existing dimension {d}")
            if n != 1 or sizes[d] < 0:
                raise RuntimeError(
                    f"{size} must match the existing size ({n}) at non-singleton dimension {d}.  Target sizes: "
                    f"{sizes}.  Tensor sizes: {list(shape)}"
                )
        step_of_new = wanted[d] * steps[d]
    if x.flags.c_contiguous and x.size and 0 not in wanted:
        return np.ndarray(wanted, x.dtype, x, 0, steps)
    return np.lib.stride_tricks.as_strided(x, wanted, steps)


def take_index(x, dim, index):
    """x at one place along a dimension; a view."""
    return x[(slice(None),) * dim + (index,) + (...,)]


def take_slice(x, dim, start, end, step):
    """x between two places along a dimension; a view."""
    return x[(slice(None),) * dim + (slice(start, end, step),)]


def unbind(x, dim):
    """One view for each place along a dimension."""
    return [take_index(x, dim, i) for i in range(x.shape[dim])]


def as_line(x):
    """A number as a vector of one element, which it is wherever places along a dimension are named."""
    return x if np.ndim(x) else np.reshape(x, 1)


def pick(x, dim, index):
    """Elements of x at the places index names along a dimension; RuntimeError for a place that is not there."""
    if index.dtype.kind != "i":
        raise RuntimeError("gather(): Expected dtype int32/int64 for index")
    if not index.size:
        return np.zeros(index.shape, x.dtype)
    if not (x.ndim and index.ndim):
        return pick(as_line(x), dim, as_line(index)).reshape(index.shape)
    if x.ndim != index.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for d, (i, n) in enumerate(zip(index.shape, x.shape, strict=True)):
        if d != dim and i > n:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger than self "
                f"{list(x.shape)} apart from dimension {dim}"
            )
    x = x[tuple(slice(None) if d == dim else slice(n) for d, n in enumerate(index.shape))]
    check_places(index, x.shape[dim], dim)
    return np.take_along_axis(x, index, axis=dim)


def check_places(index, length, dim):
    """RuntimeError for an index outside [0, length)."""
    wrong = index[(index < 0) | (index >= length)]
    if wrong.size:
        raise RuntimeError(f"index {wrong.flat[0]} is out of bounds for dimension {dim} with size {length}")


def take_places(x, dim, index):
    """The slices of x at the places index names; IndexError for a place that is not there."""
    if index.dtype.kind != "i":
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if x.ndim == 0:
        if index.size != 1:
            raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
        return x.copy()
    wrong = index[(index < 0) | (index >= x.shape[dim])]
    if wrong.size and dim and not x.shape[dim]:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    if wrong.size and dim:
        raise RuntimeError(f"INDICES element is out of DATA bounds, id={wrong[0]} axis_dim={x.shape[dim]}")
    if wrong.size:
        raise IndexError("index out of range in self")
    return np.take(x, np.atleast_1d(index), axis=dim)


def scatter_add(x, dim, index, src):
    """A copy of x with src[i] added at index[i] along a dimension; RuntimeError for shapes that do not fit."""
    if index.dtype.kind != "i":
        raise RuntimeError("scatter(): Expected dtype int32/int64 for index")
    if x.dtype != src.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if not index.size:
        return np.array(x, order="C")
    check_scattered(x, dim, index, src)
    check_places(index, x.shape[dim] if x.ndim else 1, dim)
    result = np.array(x, order="C")
    np.add.at(as_line(result), *scattered(dim, as_line(index), as_line(src)))
    return result


def check_scattered(x, dim, index, src):
    """RuntimeError, or IndexError, for an index that names more places than there are, or has not enough sources."""
    sizes, places, given = (np.shape(each) or (1,) for each in (x, index, src))
    if len(sizes) != len(places):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    fits = all(d == dim or i <= n for d, (i, n) in enumerate(zip(places, sizes, strict=True)))
    fits = fits and all(i <= n for i, n in zip(places, given, strict=False))
    if fits and np.ndim(src) and len(places) > len(given):
        n = len(given)
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {n})")
    if len(places) != len(given):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if not fits:
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self {list(x.shape)} apart from dimension {dim} "
            f"and to be no larger size than src {list(np.shape(src))}"
        )


def scattered(dim, index, src):
    """(the places in NumPy's words, the part of src that goes there)."""
    places = list(np.indices(index.shape, sparse=True))
    places[dim] = index
    return tuple(places), src[tuple(slice(n) for n in index.shape)]


def index_add(x, dim, index, source, alpha=1):
    """A copy of x with alpha * source[i] added at place index[i] of a dimension; errors for what does not fit."""
    if index.ndim > 1:
        raise IndexError(
            f"index_add_(): Index is supposed to be a vector, but got dim: {index.ndim} with type: "
            f"{title(index).title} and size: {list(index.shape)}"
        )
    if index.dtype.kind != "i":
        raise RuntimeError(f"index_add_(): Expected dtype int32/int64 for index but got: {title(index).title}")
    if x.dtype != source.dtype:
        kinds = title(x).title, title(source).title
        raise RuntimeError(f"index_add_(): self ({kinds[0]}) and source ({kinds[1]}) must have the same scalar type")
    if dim and dim >= source.ndim:
        raise RuntimeError(
            f"index_add_(): Indexing dim {dim} is out of bounds of the source tensor with dim {source.ndim}"
        )
    if not source.ndim and index.size != 1:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if source.ndim and index.size != source.shape[dim]:
        raise RuntimeError(
            f"index_add_(): Number of indices ({index.size}) should be equal to source.size(dim): "
            f"({source.shape[dim]}), for dim: {dim}"
        )
    sizes = [t.shape[:dim] + t.shape[dim + 1 :] if x.ndim and source.ndim else t.shape for t in (x, source)]
    if sizes[0] != sizes[1]:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(x.shape)} source.shape = {list(source.shape)}"
        )
    if x.ndim <= 1 and index.size and not (0 <= index.min() and index.max() < x.size):
        raise IndexError("index out of range in self")
    check_places(index, x.shape[dim] if x.ndim else 1, dim)
    result, source = np.array(x, order="C"), as_line(source)
    add_rows(np.moveaxis(as_line(result), dim, 0), as_line(index), np.moveaxis(source, dim, 0), alpha)
    return result


def add_rows(whole, places, rows, alpha=1):
    """Add each row, times alpha, at its place. For more than a few, np.add.at does it in seven times the time.

    What goes to one place is summed first, in the order of the rows.
    """
    rows = rows if alpha == 1 else rows * alpha
    if rows.size < 1000 or rows.dtype.kind == "b":
        return np.add.at(whole, places, rows)
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    new = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))[: len(ordered)]
    if len(new) == len(places):
        whole[places] += rows
    elif len(new):
        whole[ordered[new]] += np.add.reduceat(rows[order], new, axis=0)


# --- what gradient formulas call ---------------------------------------------------------------------------


def t(x):
    """A matrix with rows and columns exchanged."""
    return x.T


# From so many elements on, `dot` loses more by filling its result with zeros first than `@` by its slower start; but
# matrices that lie in memory with gaps `@` multiplies 20 times slower.
LARGE = 20_000


def grad_of_left(grad, b, sizes, strides):
    """grad @ b.T, laid out in memory as the left factor with these sizes and strides: by columns where that one is.

    The weight of a linear layer is used transposed. Laid out like that, its gradient becomes `.grad` without a copy,
    which makes a training step of a large network 1.2 times faster.
    """
    if grad.dtype is not b.dtype:
        same_type(grad, b)
    by_columns = strides[0] == 1 and strides[1] == sizes[0]
    if sizes[0] * sizes[1] < LARGE or not (grad.flags.forc and b.flags.forc):
        return b.dot(grad.T).T if by_columns else grad.dot(b.T)
    return (b @ grad.T).T if by_columns else grad @ b.T


def grad_of_right(a, grad, sizes, strides):
    """a.T @ grad, laid out like the right factor."""
    if grad.dtype is not a.dtype:
        same_type(a, grad)
    by_columns = strides[0] == 1 and strides[1] == sizes[0]
    if sizes[0] * sizes[1] < LARGE or not (grad.flags.forc and a.flags.forc):
        return grad.T.dot(a).T if by_columns else a.T.dot(grad)
    return (grad.T @ a).T if by_columns else a.T @ grad


def mv(a, b):
    return matrix_product(a, b)


bmm = mv


BITS = {np.dtype("f4"): np.dtype("i4"), np.dtype("f8"): np.dtype("i8")}
ONE_BYTE = np.ones((), np.int8)


def threshold_backward(grad, x, threshold):
    """The gradient where x is above the threshold (or NaN), 0 elsewhere.

    Large arrays are masked bit by bit: np.where guesses wrongly at every other element, and takes 2.7 times as long.
    A product with the mask would do as well, but for infinite gradients.
    """
    limit = ZERO[x.dtype] if threshold == 0 and x.dtype in ZERO else threshold
    kept_out = np.less_equal(x, limit)
    alike = type(grad) is np.ndarray and grad.shape == x.shape
    ours_alone = alike and grad.base is None and getrefcount(grad) <= UNSHARED  # nobody will miss it
    if x.size < 1500 or not alike or grad.dtype not in BITS:
        if ours_alone:
            np.putmask(grad, kept_out, ZERO.get(grad.dtype, 0))  # in half the time of np.where
            return grad
        return np.where(kept_out, ZERO.get(grad.dtype, 0), grad)
    mask = kept_out.view(np.int8)
    np.subtract(mask, ONE_BYTE, mask)  # -1, all bits set, where the gradient passes
    bits = grad.view(BITS[grad.dtype])
    if ours_alone:  # where it lies, masking is 1.3 times faster
        np.bitwise_and(bits, mask, bits)
        return grad
    return np.bitwise_and(bits, mask).view(grad.dtype)


def restore_dim(x, sizes, dim, keepdim):
    """A reduced array with the dimensions it lost put back, at length 1."""
    if keepdim or dim is None or not sizes:
        return x
    lost = {d % len(sizes) for d in (dim if isinstance(dim, tuple) else (dim,))}
    for d in sorted(lost):
        x = unsqueeze(x, d)
    return x


def mean_grad(grad, sizes, count):
    """The gradient of a mean: the same for each element, in memory of its own."""
    result = np.empty(sizes, grad.dtype)
    result[...] = grad / count
    return result


def unsqueeze(x, dim):
    """The same with another dimension of length 1; on tensors an operation, with a node."""
    return x[(slice(None),) * dim + (None,)]


def unsqueeze_to(x, sizes, dim=None):
    """An array with the dimensions of length 1 that it lost put back."""
    return x.reshape(sizes)


def expand(x, sizes):
    """x repeated to a shape without a copy: who would write to such a gradient is refused, as in PyTorch."""
    x = np.asarray(x)
    lead = len(sizes) - x.ndim
    steps = tuple(0 if d < lead or x.shape[d - lead] != n else x.strides[d - lead] for d, n in enumerate(sizes))
    return np.ndarray(sizes, x.dtype, x, 0, steps) if x.flags.c_contiguous else np.broadcast_to(x, sizes)


def numel(sizes, dim=None):
    """How many elements a reduction over `dim` puts into one."""
    if dim is None:
        return math.prod(sizes)
    return math.prod(sizes[d] for d in (dim if isinstance(dim, tuple) else (dim,))) if sizes else 1


def reshape(x, sizes):
    return x.reshape(sizes)


def where(condition, a, b):
    """Element-wise choice in the type of whichever of a and b is an array."""
    kind = getattr(a, "dtype", None) or b.dtype
    return np.where(condition, a, b).astype(kind, copy=False)


def zeros_like(x):
    return np.zeros_like(x)


def zeros_of(x, sizes):
    """Zeros of a shape, in x's element type."""
    return np.zeros(sizes, x.dtype)


def within(x, low, high):
    """1 where x lies in [low, high], bounds included, else 0."""
    inside = x == x if low is None else x >= low
    return inside if high is None else inside & (x <= high)


def share_of_larger(grad, a, b):
    """What maximum(a, b) passes back to a: all where a is larger, half where they are equal, else nothing."""
    return where(a < b, 0.0, where(a == b, grad * 0.5, grad))


def raised(base, exponent):
    """base ** exponent, for arrays."""
    return power(base, exponent)


def typed(grad, x):
    """A gradient in the type of x."""
    return grad.astype(x.dtype, copy=False)


def number_over(number, x):
    """A number divided by x; RuntimeError for integers, which PyTorch would have divide in place."""
    if x.dtype.kind != "f":
        check_cast(F32, x.dtype)
    return number / x


def one_less(x):
    """x - 1; RuntimeError for truth values."""
    return subtract(1, x) if x.dtype.kind == "b" else x - 1


def power_grad(grad, base, exponent):
    """The gradient of base ** number; 0 for the exponent 0, even at 0."""
    return zeros_like(grad) if exponent == 0 else grad * mul_number(power(base, exponent - 1), exponent)


def mul_number(x, number):
    """A tensor times a number: in PyTorch's formulas this is a node of its own, which has one edge."""
    return x * number


def one_minus(x):
    """1 - x; on tensors a node of its own kind."""
    return 1 - x


def by_factor(grad, factor):
    """A gradient times a number; itself for the number 1."""
    return grad if factor == 1 else mul_number(grad, factor)


def sign(x):
    """-1, 0 or 1, and 0 for NaN."""
    if x.dtype.kind == "f":
        return np.where(np.isnan(x), x.dtype.type(0), np.sign(x))
    return np.sign(x) if x.dtype.kind != "b" else copy(x)


sgn = sign


def can_be_summed(got, shape):
    """True when broadcasting can have made `got` of a shape."""
    try:
        return np.broadcast_shapes(got, shape) == got
    except ValueError:
        return False


def put_along(grad, sizes, dim, indices, keepdim):
    """Zeros, with the gradient at the given indices along a dimension."""
    result = np.zeros(sizes, grad.dtype)
    if not sizes:
        return grad
    if not keepdim:
        grad, indices = np.expand_dims(grad, dim), np.expand_dims(indices, dim)
    np.put_along_axis(result, indices, grad, axis=dim)
    return result


def outer_product(a, b):
    return a.reshape(-1, 1) * b


def inverse_order(dims):
    """The permutation that undoes another."""
    order = [0] * len(dims)
    for place, d in enumerate(dims):
        order[d % len(dims)] = place
    return tuple(order)


def squeeze_dim(x, dim):
    return np.squeeze(x, dim)


def sum_to(x, sizes):
    """x summed over the dimensions along which `sizes` was expanded."""
    lead = x.ndim - len(sizes)
    extra = tuple(range(lead)) + tuple(d + lead for d, n in enumerate(sizes) if n == 1 and x.shape[d + lead] != 1)
    return np.add.reduce(x, axis=extra, keepdims=True).reshape(sizes) if extra else x.reshape(sizes)


def slice_of(start, end, step):
    return slice(start, end, step)


def place(grad, sizes, dim, where):
    """Zeros, with the gradient at one index or slice of a dimension."""
    result = zeros_of(grad, sizes)
    result[(slice(None),) * dim + (where,)] = grad
    return result


def stack_grads(grads, sizes, dim):
    """The gradients of all outputs of unbind, zeros for those that got none, put together."""
    known = next(g for g in grads if g is not None)
    result = np.zeros(sizes, known.dtype)
    pieces = np.moveaxis(result, dim, 0)  # a view: what is put there is in the result
    for number, g in enumerate(grads):
        if g is not None:
            pieces[number] = g
    return result


def flip(x, dims):
    """The elements in reverse order along dimensions, in new memory."""
    return laid_out_like(np.flip(x, dims) if x.ndim else x, x)


def named_sizes(error):
    """NumPy's error for shapes that do not go together, in PyTorch's words; any other error as it is."""
    text = str(error)
    if not text.startswith("operands could not be broadcast together with shapes"):
        return error
    shapes = re.findall(r"\(([\d,]*)\)", text)
    return sizes_differ(*([int(n) for n in shape.split(",") if n] for shape in shapes[:2]))


def sizes_differ(*shapes):
    """Shapes that do not broadcast, naming the first dimension (from the back) in which two of them disagree."""
    result = list(shapes[0])
    for shape in shapes[1:]:
        for back in range(1, min(len(result), len(shape)) + 1):
            a, b = result[-back], shape[-back]
            if a != b and 1 not in (a, b):
                dim = max(len(result), len(shape)) - back
                return RuntimeError(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {dim}"
                )
            result[-back] = max(a, b)
        result[:0] = shape[: len(shape) - len(result)] if len(shape) > len(result) else []
    return RuntimeError(f"shapes {[list(s) for s in shapes]} cannot be broadcast together")
