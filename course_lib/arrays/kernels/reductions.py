"""Many numbers made one: sums, means, norms, extremes; and what runs along a dimension: softmax, sorting.

PyTorch: aten/src/ATen/native (ReduceOps.cpp, SoftMax.cpp, Sorting.cpp), torch/csrc/autograd/FunctionsManual.cpp.

The first part computes values, the second is what gradient formulas call. A formula runs on arrays, or on tensors when
the backward pass is itself recorded: see `twin_of` in engine/build.py.
"""

import math
import warnings
from collections.abc import Callable

import numpy as np

from course_lib.arrays.dtypes import of_array as title
from course_lib.arrays.kernels.checks import floats
from course_lib.arrays.kernels.elementwise import ZERO, mul_number, sgn, where, zeroed
from course_lib.arrays.kernels.layouts import counting, in_rows, laid_out_like, typed


def running(function: Callable, x: np.ndarray, dim: int) -> np.ndarray:
    """Return np.cumsum or np.cumprod along a dimension."""
    if not x.ndim:
        return np.asarray(x, np.int64 if x.dtype.kind == "b" else x.dtype).copy()
    result = np.ascontiguousarray(function(x, axis=dim))
    return result + x.dtype.type(0) if function is np.cumsum and x.dtype.kind == "f" else result  # from 0: never -0.0


# Note [Sums of short rows and columns are matrix products]
# BLAS multiplies a 32 x 16 matrix by a vector of ones in 0.5 µs; np.add.reduce needs 1.5 µs for the same sums. Long
# rows are left to NumPy, which adds them pairwise and so more exactly.

SHORT = 1024
ONES = {dtype: np.ones(SHORT, dtype) for dtype in ZERO}  # nobody may write to these


def sum_of_all(x: np.ndarray) -> np.ndarray:
    """Return the sum of all elements."""
    if type(x) is np.ndarray and x.size <= SHORT and x.dtype in ONES and x.flags.c_contiguous:
        return x.reshape(-1).dot(ONES[x.dtype][: x.size]) or x.dtype.type()  # the sum of -0.0 is 0.0
    return np.add.reduce(x, axis=None) or x.dtype.type()


def sum_of_rows(x: np.ndarray) -> np.ndarray:
    """Return the sum of each row of a matrix, as a column."""
    n = x.shape[1]
    return x.dot(ONES[x.dtype][:n])[:, None] if n <= SHORT else np.add.reduce(x, axis=1, keepdims=True)


def sum_of_columns(x: np.ndarray) -> np.ndarray:
    """Return the sum of each column of a matrix, as a vector."""
    n = len(x)
    return ONES[x.dtype][:n].dot(x) if n <= SHORT and x.dtype in ONES else np.add.reduce(x, axis=0)


def largest_of_rows(x: np.ndarray) -> np.ndarray:
    """Return the largest element of each row of a matrix, as a column: found by argmax, in half the time of np.max."""
    if x.size and x.flags.c_contiguous:
        n, width = x.shape
        places = x.argmax(1)
        places += counting(n * width, width)
        return x.take(places)[:, None]
    return np.maximum.reduce(x, axis=1, keepdims=True, initial=-math.inf)


def total(x: np.ndarray, dim: int | tuple | None = None, keepdim: bool = False) -> np.ndarray:
    """Return the sum over some dimensions, or all; truth values are counted."""
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


def mean(x: np.ndarray, dim: tuple | None = None, keepdim: bool = False) -> np.ndarray:
    """Return the mean over some dimensions, or all; NaN for nothing. RuntimeError for integers."""
    if x.dtype.kind != "f":
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {title(x).title}"
        )
    return np.true_divide(total(x, dim, keepdim), x.dtype.type(numel(x.shape, dim)))


def extreme_along(x: np.ndarray, find: Callable, dim: int, keepdim: bool) -> tuple:
    """Return (values, indices) of the first largest or smallest element along one dimension."""
    if x.ndim == 0:
        return x.copy(), np.int64(0)
    indices = np.expand_dims(find(x, axis=dim), dim)
    values = np.take_along_axis(x, indices, axis=dim)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


def softmax(x: np.ndarray, dim: int) -> np.ndarray:
    """Return exp(x) divided by its sum along one dimension."""
    if not x.size:
        return np.ascontiguousarray(x)
    floats(x, "softmax_lastdim_kernel_impl")
    if x.ndim == 0:
        return np.exp(x - x)
    e = np.exp(x - largest(x, dim))
    result = e / total(e, dim, True)
    return result if result.flags.c_contiguous else np.ascontiguousarray(result)


def log_softmax(x: np.ndarray, dim: int) -> np.ndarray:
    """Return x minus the logarithm of the sum of its exponentials along one dimension."""
    if not x.size:
        return np.ascontiguousarray(x)
    floats(x, "log_softmax_lastdim_kernel_impl")
    if x.ndim == 0:
        return x - x
    result = x - largest(x, dim)
    np.subtract(result, np.log(total(np.exp(result), dim, True)), result)
    return result if result.flags.c_contiguous else np.ascontiguousarray(result)


def largest(x: np.ndarray, dim: int) -> np.ndarray:
    """Return the largest element along one dimension, which is kept; -inf where there are none."""
    if dim == 1 and x.ndim == 2:
        return largest_of_rows(x)
    return np.maximum.reduce(x, axis=dim, keepdims=True, initial=-math.inf)


def restore_dim(x: np.ndarray, sizes: tuple, dim: int | tuple | None, keepdim: bool) -> np.ndarray:
    """Return a reduced array with the dimensions it lost put back, at length 1."""
    if keepdim or dim is None or not sizes:
        return x
    lost = {d % len(sizes) for d in (dim if isinstance(dim, tuple) else (dim,))}
    for d in sorted(lost):
        x = unsqueeze(x, d)
    return x


def mean_grad(grad: np.ndarray, sizes: tuple, count: int) -> np.ndarray:
    """Return the gradient of a mean: the same for each element, in memory of its own."""
    result = np.empty(sizes, grad.dtype)
    result[...] = grad / count
    return result


def unsqueeze(x: np.ndarray, dim: int) -> np.ndarray:
    """Return the same with another dimension of length 1; on tensors an operation, with a node."""
    return x[(slice(None),) * dim + (None,)]


def unsqueeze_to(x: np.ndarray, sizes: tuple, dim: int | None = None) -> np.ndarray:
    """Return an array with the dimensions of length 1 that it lost put back."""
    return x.reshape(sizes)


def numel(sizes: tuple, dim: tuple | None = None) -> int:
    """Return how many elements a reduction over `dim` puts into one."""
    if dim is None:
        return math.prod(sizes)
    return math.prod(sizes[d] for d in (dim if isinstance(dim, tuple) else (dim,))) if sizes else 1


def put_along(grad: np.ndarray, sizes: tuple, dim: int, indices: np.ndarray, keepdim: bool) -> np.ndarray:
    """Return zeros, with the gradient at the given indices along a dimension."""
    if not sizes:
        return grad
    result = np.zeros(sizes, grad.dtype)
    if not keepdim:
        grad, indices = np.expand_dims(grad, dim), np.expand_dims(indices, dim)
    np.put_along_axis(result, indices, grad, axis=dim)
    return result


def product(x: np.ndarray, dim: int | None = None, keepdim: bool = False) -> np.ndarray:
    """Return the product over one dimension, or all."""
    return in_rows(np.multiply.reduce(x, axis=dim if x.ndim else None, keepdims=keepdim))


def vector_norm(x: np.ndarray, ord: float, dim: object, keepdim: bool) -> np.ndarray:
    """Return (sum |x| ** ord) ** (1 / ord); the largest and smallest magnitude for ord = inf and -inf."""
    x = np.abs(x)
    if not x.size and (ord < 0 or ord == math.inf):
        raise RuntimeError(f"linalg.vector_norm cannot compute the {ord:g} norm of nothing: it has no identity")
    if ord == math.inf:
        return in_rows(np.max(x, axis=dim, keepdims=keepdim))
    if ord == -math.inf:
        return in_rows(np.min(x, axis=dim, keepdims=keepdim))
    if ord == 2:
        return np.sqrt(in_rows(np.add.reduce(x * x, axis=dim, keepdims=keepdim)))
    if ord == 0:
        return in_rows(np.add.reduce(x != 0, axis=dim, keepdims=keepdim, dtype=x.dtype))
    return in_rows(np.add.reduce(x**ord, axis=dim, keepdims=keepdim)) ** (1 / ord)


def extreme(x: np.ndarray, function: Callable | None, name: str) -> np.ndarray:
    """Return the largest or smallest of all elements; RuntimeError when there are none."""
    if x.size == 0:
        raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
    return function(x)


def sort(x: np.ndarray, dim: int, descending: bool) -> tuple:
    """Return (values, indices) in order along one dimension; equal elements keep their order."""
    if x.ndim == 0:
        return x.copy(), np.int64(0)
    if descending:
        backwards = x.shape[dim] - 1 - np.argsort(np.flip(x, dim), axis=dim, kind="stable")
        indices = np.array(np.flip(backwards, dim), order="C")
    else:
        indices = np.argsort(x, axis=dim, kind="stable")
    values = np.take_along_axis(x, indices, axis=dim)
    if x.flags.c_contiguous and indices.flags.c_contiguous:
        return values, indices
    return laid_out_like(values, x), laid_out_like(indices, x)


def topk(x: np.ndarray, k: int, dim: int, largest: bool) -> tuple:
    """Return (values, indices) of the k largest or smallest elements along one dimension, in order."""
    if x.dtype.kind == "b":
        raise RuntimeError("topk does not support bool dtypes on CPU")
    if not 0 <= k <= (x.shape[dim] if x.ndim else 1):
        raise RuntimeError("selected index k out of range")
    first = (slice(None),) * dim + (slice(k),) if x.ndim else ()
    return tuple(in_rows(part[first]) for part in sort(x, dim, largest))


def logsumexp(x: np.ndarray, dim: object, keepdim: bool) -> np.ndarray:
    """Return log(sum(exp(x))), computed from the largest element so that nothing overflows."""
    top = np.max(x, axis=dim, keepdims=True, initial=-math.inf)
    top = np.where(np.isfinite(top), top, 0)
    result = np.log(np.add.reduce(np.exp(x - top), axis=dim, keepdims=True)) + top
    return in_rows(result.astype(x.dtype) if keepdim else result.astype(x.dtype).squeeze(dim))


def variance(x: np.ndarray, dim: tuple | None, correction: float, keepdim: bool) -> np.ndarray:
    """Return the variance, computed in double precision; RuntimeError for integers."""
    if x.dtype.kind != "f":
        raise RuntimeError("std and var only support floating point and complex dtypes")
    freedom = numel(x.shape, dim) - correction
    if freedom <= 0 or not x.size:
        warnings.warn("std(), var(): degrees of freedom is <= 0. Use correction=0, or more elements.", stacklevel=5)
    squares = deviations(x.astype(np.float64), dim) ** 2
    return in_rows((np.add.reduce(squares, axis=dim, keepdims=keepdim) / max(freedom, 0)).astype(x.dtype))


def deviations(x: np.ndarray, dim: tuple | None) -> np.ndarray:
    """Return each element minus the mean over `dim`."""
    return x - np.mean(x, axis=dim, keepdims=True) if x.size else x


def std_grad(grad: object, x: object, result: object, dim: tuple | None, correction: float, keepdim: bool) -> object:
    """Return the gradient of the standard deviation; 0 where all values are equal."""
    return var_grad(zeroed(result == 0, grad / mul_number(result, 2)), x, dim, correction, keepdim)


def var_grad(grad: object, x: object, dim: tuple | None, correction: float, keepdim: bool) -> object:
    """Return the gradient of the variance; of too few elements it is NaN, or infinite where they differ."""
    grad, n = restore_dim(grad, x.shape, dim, keepdim), numel(x.shape, dim) - correction
    if n <= 0 and (dim is None or not x.ndim):  # of all elements: then PyTorch's has no history from x
        return grad * mul_number(typed(deviations(x, dim) != 0, x), math.inf)
    return mul_number(grad, 2 / n if n else math.inf) * deviations(x, dim)


def norm_grad(
    grad: np.ndarray, x: np.ndarray, result: np.ndarray, ord: float, dim: object, keepdim: bool
) -> np.ndarray | None:
    """Return the gradient of a vector norm; 0 at 0, where the norm has no slope of its own."""
    grad, result = restore_dim(grad, x.shape, dim, keepdim), restore_dim(result, x.shape, dim, keepdim)
    if ord == 2:
        return grad * zeroed(result == 0, x / result)
    if ord == 1:
        return sgn(x) * grad
    if ord == 0:
        return None
    if ord in (math.inf, -math.inf):
        return sgn(x) * share_among_equals(grad, abs(x), result, dim, True)
    if ord < 1:
        return sgn(x) * zeroed(x == 0, abs(x) ** (ord - 1)) * grad * result ** (1 - ord)
    slope = sgn(x) * abs(x) ** (ord - 1) if ord < 2 else x * abs(x) ** (ord - 2)
    return slope * zeroed(result == 0, grad / result ** (ord - 1))


def share_among_equals(
    grad: np.ndarray, x: np.ndarray, result: np.ndarray, dim: tuple | None, keepdim: bool
) -> np.ndarray:
    """Divide the gradient of an extreme value equally among the elements that attain it; NaN where none does."""
    equal = equal_to_extreme(x, result, dim, keepdim)
    grad = restore_dim(grad, x.shape, dim, keepdim)
    if dim is None:  # that of an extreme of all elements reaches no others, not even as NaN
        return where(equal, grad / total_of(equal, dim, x), 0.0)
    return grad / total_of(equal, dim, x) * equal


def equal_to_extreme(x: np.ndarray, result: np.ndarray, dim: tuple | None, keepdim: bool) -> np.ndarray:
    """Return where x attains its extreme value; NaN counts as attained in an extreme of all elements."""
    if dim is None and np.isnan(result):
        return np.isnan(x)
    return x == restore_dim(result, x.shape, dim, keepdim)


def total_of(mask: np.ndarray, dim: tuple | None, x: np.ndarray) -> np.ndarray:
    """Return how many places of a mask are true along a dimension, which is kept, in the type of x."""
    return np.add.reduce(mask, axis=dim, keepdims=True, dtype=np.int64).astype(x.dtype)
