"""The arithmetic behind the table where one NumPy expression is not enough: plain functions of arrays.

PyTorch: aten/src/ATen/native (ReduceOps.cpp, TensorShape.cpp, Activation.cpp), torch/csrc/autograd/FunctionsManual.cpp.

The first part computes values. The second part, `restore_dim` and below, holds what gradient formulas call. A
formula runs on arrays, or on tensors when the backward pass is itself recorded. Functions written with operators
and with each other's names do for both (`twin_of` in building.py); those that call NumPy have a twin in composites.py.
"""

import math
import re
import warnings
from sys import getrefcount

import numpy as np

from course_lib.dtypes import BOOL, F32
from course_lib.dtypes import of_array as title
from course_lib.grad_mode import state
from course_lib.native.memory import UNSHARED, Storage, check_cast, is_dense

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


def floor_quotient(a, b):
    """a / b rounded down; RuntimeError for integers divided by zero."""
    if a.dtype.kind == "f":
        return np.floor_divide(a, b)
    sizes_of_both(a, np.asarray(b))
    truth_refused(a, "\"div_floor_cpu\" not implemented for 'Bool'", NotImplementedError)
    return integer_quotient(a, b, "floor")


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
        return base**exponent
    repeated = exponent.shape != base.shape or exponent.size < 2 or 0 in exponent.strides
    if repeated and base.dtype.kind == "f" and np.any(exponent == 0.5):  # NumPy takes the root, another one at -inf
        base = np.where((exponent == 0.5) & ((base == 0) | (base == -math.inf)), np.abs(base), base)
    return np.power(base, exponent)


def number_power(base, exponent):
    """A Python number to the power of an array, in the array's type; integers are rounded towards zero."""
    if exponent.dtype.kind == "f":
        return np.power(exponent.dtype.type(base), exponent, order="C")
    if exponent.dtype.kind == "b" and type(base) is bool:
        raise NotImplementedError("\"pow\" not implemented for 'Bool'")
    exponent = exponent.astype(np.int64)
    return power(np.full(exponent.shape, int(base) if type(base) is bool else base), exponent)


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
    """erf, element by element."""
    result = np.asarray(np.vectorize(math.erf, otypes=[np.float64])(x)).astype(x.dtype)
    return laid_out_like(result, x) if result.ndim else result


def clip(x, low, high):
    """x limited to [low, high]; either limit may be None."""
    if low is None and high is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if x.dtype.kind != "f" and any(isinstance(limit, float) for limit in (low, high)):
        x = x.astype(np.float32)
    return np.clip(x, low, high)


def between(x, low, high):
    """x limited on both sides by arrays."""
    truth_refused(x, "\"clamp_cpu\" not implemented for 'Bool'", NotImplementedError)
    return np.minimum(high, np.maximum(low, x))  # of equal ones x, with its sign of zero


def limited(function, x, limit):
    """x limited on one side, in the type that x and the number have together."""
    if x.dtype.kind != "f":
        name = "clamp_min_scalar_cpu" if function is np.maximum else "clamp_max_scalar_cpu"
        x = x.astype(np.float32) if isinstance(limit, float) else x if isinstance(limit, bool) else x.astype(np.int64)
        truth_refused(x, f"\"{name}\" not implemented for 'Bool'", NotImplementedError)
    return function(x, limit).astype(x.dtype)


def gelu(x):
    """x times the chance that a standard normal number is below x."""
    floats(x, "GeluKernelImpl")
    return (x * (0.5 * (1 + error_function(x * math.sqrt(0.5))))).astype(x.dtype)


def softplus(x, beta, threshold):
    """log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold."""
    floats(x, "softplus_cpu")
    return np.where(x * beta > threshold, x, np.log1p(np.exp(np.minimum(x * beta, threshold))) / beta)


def masked_fill(x, mask, value):
    """x with `value` wherever the mask is True, for elements that share a place: in one of the masks."""
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
    if 0 in x.strides and mask.shape == x.shape:
        shared = tuple(d for d, step in enumerate(x.strides) if step == 0)
        mask = np.broadcast_to(mask.any(shared, keepdims=True), mask.shape)
    return np.asarray(np.where(mask, whole(value, x.dtype), x), order="C")


def masked_select(x, mask):
    """The elements where the mask is True, in one dimension."""
    if mask.dtype.kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    try:
        x, mask = np.broadcast_arrays(x, mask)
    except ValueError:
        raise sizes_differ(mask.shape, x.shape) from None
    return x[mask]


def triangle(function, x, diagonal):
    """np.triu or np.tril of the last two dimensions; RuntimeError for a vector."""
    if x.ndim < 2:
        raise RuntimeError(f"{function.__name__}: input tensor must have at least 2 dimensions")
    return np.ascontiguousarray(function(x, diagonal))


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


def combined(beta, x, alpha, product):
    """beta * x + alpha * product, the factors in x's type; for the factor 0 x does not count, though it be NaN."""
    beta, alpha = (factor if x.dtype.kind == "f" else int(factor) for factor in (beta, alpha))
    if beta == 0:
        broadcast(x, product.shape)  # raises when it does not fit
        return alpha * product
    return np.asarray(beta * x + alpha * product, product.dtype)


def sizes_of_both(a, b):
    """RuntimeError unless the shapes of two arrays go together."""
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        raise sizes_differ(a.shape, b.shape) from None


def integer_quotient(a, b, rounding_mode):
    """Integers divided and rounded; RuntimeError for a divisor of zero."""
    if not np.all(b):
        raise RuntimeError("ZeroDivisionError")
    down = np.floor_divide(a, b)
    return down if rounding_mode == "floor" else down + ((down < 0) & (down * b != a))


def rounded_quotient(a, b, rounding_mode):
    """a / b rounded down ("floor") or towards zero ("trunc")."""
    if a.dtype.kind != "f":
        sizes_of_both(a, b)
        truth_refused(a, f"\"div_{rounding_mode}_cpu\" not implemented for 'Bool'", NotImplementedError)
        return integer_quotient(a, b, rounding_mode)
    return np.floor_divide(a, b) if rounding_mode == "floor" else np.trunc(a / b)


def remainder(a, b):
    """What is left after rounding a / b down; RuntimeError for integers divided by zero."""
    if a.dtype.kind == "b" and np.asarray(b).dtype.kind == "b":
        sizes_of_both(a, np.asarray(b))
        raise NotImplementedError("\"remainder_cpu\" not implemented for 'Bool'")
    if a.dtype.kind != "f" and not np.all(b):
        raise RuntimeError("ZeroDivisionError")
    if a.dtype.kind != "f":
        return np.mod(a, b)
    rest = np.fmod(a, b)  # keeps the sign of a zero, as PyTorch does
    return np.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


def floats(x, kernel):
    """x, unless it holds integers: PyTorch's kernel of that name does not take them, and neither do we."""
    if x.dtype.kind != "f":
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{title(x).title}'")
    return x


def float_pair(a, b, kernel):
    """a, unless the two do not go together or hold integers: in this order."""
    sizes_of_both(a, b)
    return floats(a, kernel)


def rounded(function, x):
    """np.floor or one of its relatives; NotImplementedError for truth values."""
    kernel = f"{function.__name__}_vml_cpu"
    if x.dtype.kind == "i":
        return copy(x)
    return function(truth_refused(x, f"\"{kernel}\" not implemented for 'Bool'", NotImplementedError))


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


def product(x, dim=None, keepdim=False):
    """The product over one dimension, or all."""
    return in_rows(np.multiply.reduce(x, axis=dim if x.ndim else None, keepdims=keepdim))


def vector_norm(x, ord, dim, keepdim):
    """(sum |x| ** ord) ** (1 / ord); the largest and smallest magnitude for ord = inf and -inf."""
    x = np.abs(x)
    if not x.size and (ord < 0 or ord == math.inf):
        check_identity(x, ord, dim)
    if ord == math.inf:
        return in_rows(np.max(x, axis=dim, keepdims=keepdim))
    if ord == -math.inf:
        return in_rows(np.min(x, axis=dim, keepdims=keepdim))
    if ord == 2:
        return np.sqrt(in_rows(np.add.reduce(x * x, axis=dim, keepdims=keepdim)))
    if ord == 0:
        return in_rows(np.add.reduce(x != 0, axis=dim, keepdims=keepdim, dtype=x.dtype))
    return in_rows(np.add.reduce(x**ord, axis=dim, keepdims=keepdim)) ** (1 / ord)


def check_identity(x, ord, dim):
    """RuntimeError for a norm that nothing cannot have, along a dimension that has nothing."""
    start = f"linalg.vector_norm cannot compute the {ord:g} norm on "
    if dim is None or len(dim) == x.ndim:
        raise RuntimeError(start + "an empty tensor because the operation does not have an identity")
    for axis in dim:
        if not x.shape[axis]:  # PyTorch's text lacks a blank here
            raise RuntimeError(
                f"{start}the dimension {axis}because this dimension is empty and the operation does not have an "
                "identity"
            )


def extreme(x, function, name):
    """The largest or smallest of all elements; RuntimeError when there are none."""
    if x.size == 0:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
            "with the 'dim' argument."
        )
    return last_zero(function(x), x)


def last_zero(result, x):
    """A result of 0 with the sign of the last zero in x: the one of equals that PyTorch takes from all elements."""
    return x[x == 0][-1] if result == 0 and x.dtype.kind == "f" else result


def extremes(function, x, dim, keepdim):
    """np.max or np.min along dimensions; of zeros with different signs the first, as in PyTorch."""
    result = in_rows(function(x, axis=dim, keepdims=keepdim))
    if x.dtype.kind != "f" or np.all(result):
        return result
    rest = [d for d in range(x.ndim) if d not in dim]
    lines = x.transpose(*rest, *dim).reshape([x.shape[d] for d in rest] + [-1])
    first = np.take_along_axis(lines, np.argmax(lines == 0, -1)[..., None], -1).reshape(result.shape)
    return np.where(result == 0, first, result)[()]


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


def sort(x, dim, descending):
    """(values, indices) in order along one dimension; equal elements keep their order."""
    if x.ndim == 0:
        return x.copy(), np.int64(0)
    if descending:
        backwards = x.shape[dim] - 1 - np.argsort(np.flip(x, dim), axis=dim, kind="stable")
        indices = np.array(np.flip(backwards, dim), order="C")
    else:
        indices = np.argsort(x, axis=dim, kind="stable")
    values = np.take_along_axis(x, indices, axis=dim)
    in_rows = x.flags.c_contiguous and indices.flags.c_contiguous
    return laid_out_like(values, x), indices if in_rows else laid_out_like(indices, x)


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


def topk(x, k, dim, largest):
    """(values, indices) of the k largest or smallest elements along one dimension, in order.

    Which of equals are taken, and in which order, is PyTorch's choice: see selection.py.
    """
    if k > (x.shape[dim] if x.ndim else 1):
        raise RuntimeError("selected index k out of range")
    truth_refused(x, "topk does not support bool dtypes on CPU")
    if x.ndim == 0:
        return sort(x, dim, largest)
    lines = np.moveaxis(x, dim, -1)
    ordered, places = sort(lines, -1, largest)
    places, ordered = places[..., :k], ordered[..., : k + 1]
    equal = (ordered[..., 1:] == ordered[..., :-1]) | np.isnan(ordered[..., 1:])
    if equal.any():
        from course_lib.native.selection import first_in_order  # seldom needed

        for line in np.argwhere(equal.any(-1)):
            places[tuple(line)] = first_in_order(lines[tuple(line)].tolist(), k, largest)
    indices = np.ascontiguousarray(np.moveaxis(places, -1, dim))
    return np.take_along_axis(x, indices, axis=dim), indices


def logsumexp(x, dim, keepdim):
    """log(sum(exp(x))), computed from the largest element so that nothing overflows."""
    top = np.max(x, axis=dim, keepdims=True, initial=-math.inf)
    top = np.where(np.isfinite(top), top, 0)
    result = np.log(np.add.reduce(np.exp(x - top), axis=dim, keepdims=True)) + top
    return in_rows(result.astype(x.dtype) if keepdim else result.astype(x.dtype).squeeze(dim))


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
        same_type(a, bias)
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


def as_strided(x, size, stride, offset):
    """A view of the storage behind x, by shape, steps and beginning in elements."""
    steps = [step * x.itemsize for step in stride]
    return np.ndarray(size, x.dtype, Storage(x).array.ravel(order="K"), offset * x.itemsize, steps)


def windows(x, dim, size, step):
    """All windows of a dimension, as the last dimension; a view that can be written to."""
    steps = list(x.strides)
    steps[dim] *= step
    shape = list(x.shape)
    shape[dim] = (x.shape[dim] - size) // step + 1
    return np.lib.stride_tricks.as_strided(x, (*shape, size), (*steps, x.strides[dim]))


def diagonal(x, offset, dim1, dim2):
    """The diagonal of two dimensions, as the last dimension; a view that can be written to."""
    result = np.diagonal(x, offset, dim1, dim2)
    result.flags.writeable = True
    return result


def unbind(x, dim):
    """One view for each place along a dimension."""
    return [take_index(x, dim, i) for i in range(x.shape[dim])]


def split(x, split_size, dim):
    """Views of pieces along a dimension: of equal length (the last may be shorter), or of the lengths given."""
    length = x.shape[dim]
    if isinstance(split_size, int):
        starts = list(range(0, length, split_size)) or [0]
        return [take_slice(x, dim, s, min(s + split_size, length), 1) for s in starts]
    ends = np.cumsum(split_size)
    return [take_slice(x, dim, end - n, end, 1) for n, end in zip(split_size, ends, strict=True)]


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
    np.add.at(as_line(result), (slice(None),) * dim + (as_line(index),), source if alpha == 1 else source * alpha)
    return result


# --- what gradient formulas call ---------------------------------------------------------------------------


def t(x):
    """A matrix with rows and columns exchanged."""
    return x.T


# From so many elements on, `dot` loses more by filling its result with zeros first than `@` by its slower start; but
# matrices that lie in memory with gaps `@` multiplies 20 times slower.
LARGE = 20_000


def product_like(a, b, sizes, strides):
    """a @ b, laid out in memory as the matrix with these sizes and strides: by columns where that one is.

    The weight of a linear layer is used transposed. Laid out like that, its gradient becomes `.grad` without a copy,
    which makes a training step of a large network 1.2 times faster.
    """
    if a.dtype is not b.dtype:
        same_type(a, b)
    by_columns = strides[0] == 1 and strides[1] == sizes[0]
    if sizes[0] * sizes[1] < LARGE or not (a.flags.forc and b.flags.forc):
        return b.T.dot(a.T).T if by_columns else a.dot(b)
    return (b.T @ a.T).T if by_columns else a @ b


def mv(a, b):
    return matrix_product(a, b)


bmm = mv


BITS = {np.dtype("f4"): np.dtype("i4"), np.dtype("f8"): np.dtype("i8")}
ONE_BYTE = np.ones((), np.int8)


def elu_backward(grad, alpha, scale, input_scale, is_result, x):
    """The gradient of scale * (x, or where it is below 0 alpha * (exp(input_scale * x) - 1)), from x or the result."""
    slope = input_scale * (x + alpha * scale) if is_result else input_scale * alpha * scale * np.exp(x * input_scale)
    return np.where(x <= 0, grad * slope, grad * scale)


def elu_bend(grad, alpha, scale, input_scale, is_result, x):
    """The gradient of elu's slope; 0 times the gradient where x is above 0, which is NaN for an infinite one."""
    return (grad if is_result else elu_backward(grad, alpha, scale, input_scale, False, x)) * (x < 0)


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
    return x.reshape(tuple(1 if d in lost else n for d, n in enumerate(sizes)))


def expand(x, sizes):
    """x repeated to a shape, in memory of its own: gradients must not share elements."""
    result = np.empty(sizes, x.dtype)
    result[...] = x
    return result


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
    return zeros_like(grad) if exponent == 0 else grad * (exponent * power(base, exponent - 1))


def number_power_grad(base, exponent, result):
    """The slope of number ** x: result * log(number); for the base 0 it is 0 unless the exponent is negative."""
    if base == 0:
        return where(exponent >= 0, 0.0, result * -math.inf)
    return result * math.log(base) if base > 0 else result * math.nan


exp = np.exp


def gelu_slope(x):
    """The slope of gelu: the normal distribution up to x, plus x times its density."""
    return 0.5 * (1 + error_function(x * math.sqrt(0.5))) + x * exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))


def prod_grad(grad, x, result):
    """The gradient of the product of all elements: none at all when there are two zeros, though it be infinite."""
    return np.zeros_like(x) if np.sum(x == 0) > 1 else grad * products_of_others(x, result, None)


def products_of_others(x, result, dim):
    """For each element the product of all the others (along one dimension, or all): result / x unless x has zeros."""
    if x.ndim == 0:
        return np.ones_like(x)
    if x.all():
        return result / x
    line = x.reshape(1, -1) if dim is None else np.moveaxis(x, dim, -1)
    ones = np.ones_like(line[..., :1])
    before = np.cumprod(np.concatenate([ones, line[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([ones, line[..., :0:-1]], -1), -1)[..., ::-1]
    others = before * after
    return others.reshape(x.shape) if dim is None else np.moveaxis(others, -1, dim)


def cumprod_grad(grad, x, result, dim):
    """The gradient of a running product: where x has zeros, nothing that comes after the first one counts before it."""
    if x.size <= 1 or x.shape[dim] == 1:
        return grad
    if x.all():
        return (np.flip(np.cumsum(np.flip(result * grad, dim), dim), dim) + 0) / x  # a sum is never -0.0
    line, g, products = (np.moveaxis(a, dim, -1) for a in (x, grad, result))
    zeros = np.cumsum(line == 0, -1)
    before, until_second, first = zeros == 0, zeros == 1, (zeros == 1) & (line == 0)
    sums = np.flip(np.cumsum(np.flip(np.where(before, products * g, 0), -1), -1), -1) + 0
    others = np.cumprod(np.where(until_second & ~first, line, 1), -1) * np.where(until_second, g, 0)
    of_first = np.concatenate([np.ones_like(line[..., :1]), products[..., :-1]], -1) * np.sum(others, -1, keepdims=True)
    return np.moveaxis(np.where(before, sums / line, np.where(first, of_first, 0)).astype(x.dtype), -1, dim)


def deviations(x, dim):
    """Each element minus the mean over `dim`."""
    return x - np.mean(x, axis=dim, keepdims=True) if x.size else x


def spread(function, x, dim, correction, keepdim):
    """The variance or standard deviation; RuntimeError for integers."""
    if x.dtype.kind != "f":
        raise RuntimeError("std and var only support floating point and complex dtypes")
    how = {"axis": dim, "dtype": np.float64, "ddof": correction, "keepdims": keepdim}  # squares may overflow float32
    results = math.prod(n for axis, n in enumerate(x.shape) if dim is not None and axis not in dim)
    if results and x.size // results > correction:
        return in_rows(function(x, **how).astype(x.dtype))
    warnings.warn(
        f"{function.__name__}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction "
        "factor (input numel divided by output numel).", stacklevel=5,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy says it in its own words
        return in_rows(function(x, **how).astype(x.dtype))


def std_grad(grad, x, result, dim, correction, keepdim):
    """The gradient of the standard deviation; 0 where all values are equal."""
    scale = grad / (result * 2)
    scale = where(result == 0, zeros_like(scale), scale)
    return var_grad(scale, x, dim, correction, keepdim)


def var_grad(grad, x, dim, correction, keepdim):
    """The gradient of the variance; of too few elements it is NaN, or infinite where they differ."""
    grad, n = restore_dim(grad, x.shape, dim, keepdim), numel(x.shape, dim) - correction
    if n <= 0 and (dim is None or not x.ndim):
        return grad * no_deviations(x)
    return (2 / n if n else math.inf) * grad * deviations(x, dim)


def no_deviations(x):
    """The slope of the variance of all elements where that is no number."""
    return np.where(x == np.mean(x), x.dtype.type(math.nan), x.dtype.type(math.inf)) if x.size else x


def norm_grad(grad, x, result, ord, dim, keepdim):
    """The gradient of a vector norm; 0 at 0, where the norm has no slope of its own."""
    grad, result = restore_dim(grad, x.shape, dim, keepdim), restore_dim(result, x.shape, dim, keepdim)
    if ord == 2:
        return grad * where(result == 0, zeros_like(x), x / result)
    if ord == 1:
        return grad * sign(x)
    if ord == 0:
        return None
    if ord in (math.inf, -math.inf):
        return sign(x) * (grad * share_of_largest(x, result, dim))
    if ord < 1:
        return where(x == 0, zeros_like(x), sign(x) * abs(x) ** (ord - 1)) * grad * result ** (1 - ord)
    slope = sign(x) * abs(x) ** (ord - 1) if ord < 2 else x * abs(x) ** (ord - 2)
    return slope * where(result == 0, zeros_like(result), grad / result ** (ord - 1))


def share_of_largest(x, result, dim):
    """1 divided by how many elements have the magnitude of the result, or are no number, where x is one of them."""
    equal = (np.abs(x) == result) | np.isnan(x)
    return (equal / np.add.reduce(equal, axis=dim, keepdims=True, dtype=np.int64)).astype(x.dtype)


def sign(x):
    """-1, 0 or 1, and 0 for NaN."""
    if x.dtype.kind == "f":
        return np.where(np.isnan(x), x.dtype.type(0), np.sign(x))
    return np.sign(x) if x.dtype.kind != "b" else copy(x)


def equal_to_extreme(x, result, dim, keepdim):
    """Where x attains its extreme value; NaN counts as attained in an extreme of all elements."""
    if dim is None and np.isnan(result):
        return np.isnan(x)
    return x == restore_dim(result, x.shape, dim, keepdim)


def share_among_equals(grad, x, result, dim, keepdim):
    """The gradient of an extreme value, divided equally among the elements that attain it; NaN where none does.

    That of an extreme of all elements reaches no others, not even as NaN.
    """
    equal = equal_to_extreme(x, result, dim, keepdim)
    count = np.add.reduce(equal, axis=dim, keepdims=True, dtype=np.int64)
    if dim is None:
        return where(equal, grad / count.astype(grad.dtype), 0.0)
    return restore_dim(grad, x.shape, dim, keepdim) * equal / count.astype(grad.dtype)


def back_from_windows(grad, sizes, dim, size, step):
    """The gradient of windows of a dimension, added back at the places that each window looked at."""
    whole = windows(np.arange(math.prod(sizes)).reshape(sizes), dim, size, step)
    return add_at_places(grad, whole, math.prod(sizes)).reshape(sizes)


def back_from_strides(grad, sizes, strides, size, stride, ahead):
    """The gradient of a view by strides, added back at the places it looked at, and read as the input was laid out.

    ahead: how far the view begins after the input. Elements of the input that lie in one place share its gradient.
    """
    seen, own = places_of(size, stride) + max(ahead, 0), places_of(sizes, strides) + max(-ahead, 0)
    whole = add_at_places(grad, seen, max(seen.max(initial=0), own.max(initial=0)) + 1)
    times = np.bincount(own.reshape(-1))
    result = pick_places(whole, own)
    return shared(result, times[own]) if times.max(initial=0) > 1 else result


def places_of(sizes, strides):
    """Where in memory the elements of a tensor lie, counted from its first."""
    return sum((np.arange(n).reshape(-1, *[1] * (len(sizes) - d - 1)) * step
                for d, (n, step) in enumerate(zip(sizes, strides, strict=True))), np.zeros(sizes, np.int64))


def add_at_places(grad, places, length):
    """A line of zeros with the gradient added at the places of its elements."""
    whole = np.zeros(length, grad.dtype)
    np.add.at(whole, places, grad)
    return whole


def pick_places(x, places):
    return x[places]


def shared(x, times):
    """x divided by counts."""
    return x / times.astype(x.dtype)


def can_be_summed(got, shape):
    """True when broadcasting can have made `got` of a shape."""
    try:
        return np.broadcast_shapes(got, shape) == got
    except ValueError:
        return False


def for_whole_source(grad, sizes, node="ScatterAddBackward0"):
    """The gradient of what was scattered. RuntimeError, as in PyTorch, when the index did not use all of it.

    It is a backward pass that refuses it; a node that is called by hand gives it as it is.
    """
    if state.task is None or tuple(grad.shape) == tuple(sizes):
        return grad
    lead = len(grad.shape) - len(sizes)
    if lead < 0 or any(n not in (1, m) for n, m in zip(sizes, grad.shape[lead:], strict=True)):
        raise RuntimeError(
            f"Function {node} returned an invalid gradient at index 1 - got {list(grad.shape)} but expected shape "
            f"compatible with {list(sizes)}"
        )
    return sum_to(grad, tuple(sizes))


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


def place_diagonal(grad, sizes, offset, dim1, dim2):
    """Zeros, with the gradient on a diagonal."""
    result = zeros_of(grad, sizes)
    diagonal(result, offset, dim1, dim2)[...] = grad
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


def cat_grads(grads, sizes, split_size, dim):
    """The gradients of all pieces of split, zeros for those that got none, put together."""
    known = next(g for g in grads if g is not None)
    lengths = piece_lengths(sizes[dim], split_size)
    pieces = []
    for g, n in zip(grads, lengths, strict=True):
        pieces.append(np.zeros(sizes[:dim] + (n,) + sizes[dim + 1 :], known.dtype) if g is None else g)
    return np.concatenate(pieces, dim)


def piece_lengths(length, split_size):
    """The lengths of the pieces that split makes."""
    if not isinstance(split_size, int):
        return list(split_size)
    return [min(split_size, length - s) for s in range(0, length, split_size)] or [0]


def sum_repeats(grad, sizes, repeats):
    """The gradient of repeat: the sum over all copies."""
    padded = (1,) * (len(repeats) - len(sizes)) + tuple(sizes)
    if 0 in repeats:
        return zeros_of(grad, sizes)
    paired = [n for pair in zip(repeats, padded, strict=True) for n in pair]
    return grad.reshape(tuple(paired)).sum(tuple(range(0, len(paired), 2))).reshape(sizes)


def flip(x, dims):
    """The elements in reverse order along dimensions, in new memory."""
    return laid_out_like(np.flip(x, dims) if x.ndim else x, x)


def masked_scatter(x, mask, source):
    """x with the elements of `source` put, in order, where the mask is True."""
    if x.dtype != source.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got{title(x).title} and "
            f"{title(source).title}"
        )
    result = np.array(np.broadcast_to(x, np.broadcast_shapes(x.shape, mask.shape)))
    if mask.dtype.kind != "b":
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {title(mask).title}")
    chosen = np.broadcast_to(mask, result.shape)
    count = int(np.sum(chosen))
    if count > source.size:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    result[chosen] = source.reshape(-1)[:count]
    return result


def filled_up(x, sizes):
    """A line of gradients in a shape that has more elements: those that were not used get 0."""
    return np.concatenate([x, np.zeros(math.prod(sizes) - len(x), x.dtype)]).reshape(sizes)


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
