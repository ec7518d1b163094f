"""Sums, means, spreads, norms, extremes; softmax and what runs along a dimension.

PyTorch: aten/src/ATen/native (ReduceOps.cpp, SoftMax.cpp).
"""

import numpy as np

from course_lib.arrays import dtypes, errors, kernels
from course_lib.engine.arguments import dimension, number_of, tensor_argument
from course_lib.engine.build import rows
from course_lib.engine.tensor import Tensor
from course_lib.engine.views import requires_grad
from course_lib.surface.functions.dimensions import (
    OMITTED,
    check_kept,
    dims_of,
    every,
    reduction,
    softmax_dim,
    wrong_form,
)
from course_lib.surface.functions.results import pair, without_gradient
from course_lib.surface.parsing import known_dtype


def sum(input, dim=OMITTED, keepdim=False, *, dtype=None, axis=None, keepdims=False):
    """The sum over the given dimensions (`axis` is NumPy's word), or over all."""
    if axis is not None or keepdims is not False or keepdim is not False:
        dim, keepdim = reduction("sum", dim if axis is None else axis, keepdim if keepdims is False else keepdims)
    if not isinstance(input, Tensor):
        tensor_argument("sum", "input", input)
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


def mean(input, dim=OMITTED, keepdim=False, *, dtype=None, axis=None, keepdims=False):
    """The mean over the given dimensions (`axis` is NumPy's word), or over all."""
    if axis is not None or keepdims is not False or keepdim is not False:
        dim, keepdim = reduction("mean", dim if axis is None else axis, keepdim if keepdims is False else keepdims)
    if not isinstance(input, Tensor):
        tensor_argument("mean", "input", input)
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


def max(input, dim=None, keepdim=False):
    """The largest element of all; the larger of two tensors; or (values, indices) along a dimension."""
    if dim is None:
        check_kept("max", keepdim)
        return rows.max_all(input)
    if isinstance(dim, Tensor):
        return rows.maximum(input, dim)
    values, places = rows.max_dim(input, dimension(input, dim), keepdim)
    return pair("max", (values, places))


def min(input, dim=None, keepdim=False):
    """The smallest element of all; the smaller of two tensors; or (values, indices) along a dimension."""
    if dim is None:
        check_kept("min", keepdim)
        return rows.min_all(input)
    if isinstance(dim, Tensor):
        return rows.minimum(input, dim)
    values, places = rows.min_dim(input, dimension(input, dim), keepdim)
    return pair("min", (values, places))


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


def argmax(input, dim=None, keepdim=False):
    """The place of the first largest element."""
    return _arg(np.argmax, input, dim, keepdim)


def argmin(input, dim=None, keepdim=False):
    """The place of the first smallest element."""
    return _arg(np.argmin, input, dim, keepdim)


def all(input, dim=None, keepdim=False):
    """True where every element is true."""
    return without_gradient(np.all(input.array, axis=dims_of(input, dim), keepdims=keepdim))


def any(input, dim=None, keepdim=False):
    """True where some element is true."""
    return without_gradient(np.any(input.array, axis=dims_of(input, dim), keepdims=keepdim))


def softmax(input, dim=None, dtype=None):
    """exp(input) divided by its sum along a dimension."""
    input = input if dtype is None else input.to(known_dtype("softmax", dtype))
    return rows.softmax(input, softmax_dim("softmax", input, dim))


def log_softmax(input, dim=None, dtype=None):
    """The logarithm of softmax, computed without overflow."""
    input = input if dtype is None else input.to(known_dtype("log_softmax", dtype))
    return rows.log_softmax(input, softmax_dim("log_softmax", input, dim))


def prod(input, dim=None, keepdim=False, *, dtype=None):
    """The product along one dimension, or of all elements."""
    if dtype is not None:
        input = input.to(dtype)
    if dim is None:
        check_kept("prod", keepdim)
        return rows.prod_all(input)
    return rows.prod_dim(input, dimension(input, dim), keepdim)


def _spread(row, input, dim, unbiased, correction, keepdim):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    correction = 1 if correction is None else correction
    return row(input, dims_of(input, dim), correction if unbiased else 0, keepdim)


def var(input, dim=None, unbiased=True, keepdim=False, *, correction=1):
    """The variance; divided by n - 1 unless `correction` says otherwise."""
    return _spread(rows.var, input, dim, unbiased, correction, keepdim)


def std(input, dim=None, unbiased=True, keepdim=False, *, correction=1):
    """The standard deviation, the root of `var`."""
    return _spread(rows.std, input, dim, unbiased, correction, keepdim)


def norm(input, p=2, dim=None, keepdim=False, dtype=None):
    """The p-norm of all elements, or along dimensions; with a dtype, of the elements turned into it."""
    if input.array.dtype.kind != "f":
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {input.dtype.title}"
        )
    if dtype is not None:
        wanted = dtypes.PYTHON.get(dtype, dtype)
        if wanted.itemsize < input.dtype.itemsize or not wanted.is_floating_point:
            raise RuntimeError(
                f"linalg.vector_norm: the dtype of the input ({input.dtype.title}) should be convertible without "
                f"narrowing to the specified dtype ({wanted.title})"
            )
        input = input.to(dtype)
    p = 2 if p is None or isinstance(p, str) and p == "fro" else number_of(p)
    if not isinstance(p, int | float):
        raise errors.not_supported(f"norm with p={p!r}", "Use a number for p, or 'fro'.")
    return rows.norm(input, p, dims_of(input, dim), keepdim)


def check_not_empty(name, input, dim):
    """RuntimeError for the extreme value of nothing, IndexError for a dimension of length 0."""
    if input.array.size:
        return
    dims = dims_of(input, dim)
    if not dims:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
            "the 'dim' argument."
        )
    for d, named in zip(dims, (dim,) if isinstance(dim, int) else dim, strict=True):
        if not input.array.shape[d]:
            raise IndexError(f"{name}(): Expected reduction dim {named} to have non-zero size.")


def amax(input, dim=(), keepdim=False):
    """The largest element along dimensions; equal ones share the gradient."""
    check_not_empty("amax", input, dim)
    return rows.amax(input, dims_of(input, dim) or every(input), keepdim)


def amin(input, dim=(), keepdim=False):
    """The smallest element along dimensions; equal ones share the gradient."""
    check_not_empty("amin", input, dim)
    return rows.amin(input, dims_of(input, dim) or every(input), keepdim)


def logsumexp(input, dim, keepdim=False):
    """log(sum(exp(input))) along dimensions, without overflow."""
    return rows.logsumexp(input, dims_of(input, dim) or every(input), keepdim)


def cumsum(input, dim, *, dtype=None):
    """Running sums along a dimension."""
    input = input if dtype is None else input.to(dtype)
    return rows.cumsum(input, dim)


def cumprod(input, dim, *, dtype=None):
    """Running products along a dimension."""
    input = input if dtype is None else input.to(dtype)
    return rows.cumprod(input, dim)


def var_mean(input, dim=None, unbiased=True, keepdim=False, *, correction=1):
    """(variance, mean) over dimensions."""
    over = None if isinstance(dim, bool) else dim
    return var(input, dim, unbiased, keepdim, correction=correction), mean(input, over, keepdim)


def std_mean(input, dim=None, unbiased=True, keepdim=False, *, correction=1):
    """(standard deviation, mean) over dimensions."""
    over = None if isinstance(dim, bool) else dim
    return std(input, dim, unbiased, keepdim, correction=correction), mean(input, over, keepdim)
