"""Sums, means, spreads, norms, extremes; softmax and what runs along a dimension.

PyTorch: aten/src/ATen/native (ReduceOps.cpp, SoftMax.cpp).
"""

from collections.abc import Callable

import numpy as np

from course_lib.arrays import dtypes, errors, kernels
from course_lib.engine.arguments import Number, Sizes, dimension, number_of, tensor_argument
from course_lib.engine.build import rows
from course_lib.engine.tensor import Tensor
from course_lib.engine.views import requires_grad
from course_lib.surface.functions.dimensions import OMITTED, check_kept, dims_of, every, nonempty_dim, wrong_form
from course_lib.surface.functions.results import pair, without_gradient


def sum(input: Tensor, dim: Sizes = OMITTED, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return the sum over the given dimensions, or over all."""
    if dtype is not None:
        dtype = dtypes.PYTHON.get(dtype, dtype)
        if not dtype.is_floating_point and requires_grad(input):
            raise RuntimeError(f"Autograd not support dtype: {dtype.title}")
        input = input.to(dtype)
    return over("sum", rows.sum_all, rows.sum_dim, input, dim, keepdim)


def mean(input: Tensor, dim: Sizes = OMITTED, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return the mean over the given dimensions, or over all."""
    return over("mean", rows.mean_all, rows.mean_dim, input if dtype is None else input.to(dtype), dim, keepdim)


def over(name: str, of_all: Callable, along: Callable, input: Tensor, dim: int, keepdim: bool) -> Tensor:
    """Return a sum or mean by one of two rows."""
    if (dim is OMITTED or dim is None) and keepdim is False and isinstance(input, Tensor):
        return of_all(input)
    tensor_argument(name, "input", input)
    if keepdim is not False and (dim is OMITTED or keepdim is not True):
        raise TypeError(wrong_form(name, keepdim, "keepdim="))
    try:
        dims = dims_of(input, dim)
    except TypeError:
        raise TypeError(wrong_form(name, dim)) from None
    return along(input, every(input) if dims is None else dims, keepdim)


def max(input: Tensor, dim: int | None = None, keepdim: bool = False) -> object:
    """Return the largest element of all; the larger of two tensors; or (values, indices) along a dimension."""
    return extreme("max", rows.max_all, rows.maximum, rows.max_dim, input, dim, keepdim)


def min(input: Tensor, dim: int | None = None, keepdim: bool = False) -> object:
    """Return the smallest element of all; the smaller of two tensors; or (values, indices) along a dimension."""
    return extreme("min", rows.min_all, rows.minimum, rows.min_dim, input, dim, keepdim)


def extreme(
    name: str, of_all: Callable, of_two: Callable, along: Callable, input: Tensor, dim: int | None, keepdim: bool
) -> object:
    """Return the row that `dim` asks for: nothing, another tensor, or a dimension."""
    if dim is None:
        check_kept(name, keepdim)
        return of_all(input)
    if isinstance(dim, Tensor):
        return of_two(input, dim)
    return pair(name, along(input, nonempty_dim(name, input, dim), keepdim))


def _arg(find, input, dim, keepdim):
    name = find.__name__
    if input.array.dtype.kind == "b":
        raise RuntimeError(f"{name}(): does not support bool input")
    if dim is None and not input.array.size:
        raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
    dim = None if dim is None else nonempty_dim(name, input, dim)
    return without_gradient(find(input.array, axis=dim if input.array.ndim else None, keepdims=keepdim))


def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Return the place of the first largest element."""
    return _arg(np.argmax, input, dim, keepdim)


def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Return the place of the first smallest element."""
    return _arg(np.argmin, input, dim, keepdim)


def all(input: Tensor, dim: Sizes | None = None, keepdim: bool = False) -> Tensor:
    """Return True where every element is true."""
    return without_gradient(np.all(input.array, axis=dims_of(input, dim), keepdims=keepdim))


def any(input: Tensor, dim: Sizes | None = None, keepdim: bool = False) -> Tensor:
    """Return True where some element is true."""
    return without_gradient(np.any(input.array, axis=dims_of(input, dim), keepdims=keepdim))


def softmax(input: Tensor, dim: int | None = None, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return exp(input) divided by its sum along a dimension."""
    return rows.softmax(input if dtype is None else input.to(dtype), dimension(input, dim))


def log_softmax(input: Tensor, dim: int | None = None, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return the logarithm of softmax, computed without overflow."""
    return rows.log_softmax(input if dtype is None else input.to(dtype), dimension(input, dim))


def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return the product along one dimension, or of all elements."""
    input = input if dtype is None else input.to(dtype)
    if dim is None:
        check_kept("prod", keepdim)
        return rows.prod_all(input)
    return rows.prod_dim(input, dimension(input, dim), keepdim)


def _spread(row, input, dim, unbiased, correction, keepdim):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    correction = 1 if correction is None else correction
    return row(input, dims_of(input, dim), correction if unbiased else 0, keepdim)


def var(
    input: Tensor, dim: Sizes | None = None, unbiased: bool = True, keepdim: bool = False, *, correction: Number = 1
) -> Tensor:
    """Return the variance; divided by n - 1 unless `correction` says otherwise."""
    return _spread(rows.var, input, dim, unbiased, correction, keepdim)


def std(
    input: Tensor, dim: Sizes | None = None, unbiased: bool = True, keepdim: bool = False, *, correction: Number = 1
) -> Tensor:
    """Return the standard deviation, the root of `var`."""
    return _spread(rows.std, input, dim, unbiased, correction, keepdim)


def norm(
    input: Tensor, p: np.ndarray | str = 2, dim: Sizes | None = None, keepdim: bool = False,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """Return the p-norm of all elements, or along dimensions; with a dtype, of the elements turned into it."""
    if input.array.dtype.kind != "f":
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {input.dtype.title}"
        )
    input = input if dtype is None else input.to(dtype)
    p = 2 if p is None or isinstance(p, str) and p == "fro" else number_of(p)
    if not isinstance(p, int | float):
        raise errors.not_supported(f"norm with p={p!r}", "Use a number for p, or 'fro'.")
    return rows.norm(input, p, dims_of(input, dim), keepdim)


def amax(input: Tensor, dim: Sizes = (), keepdim: bool = False) -> Tensor:
    """Return the largest element along dimensions; equal ones share the gradient."""
    return rows.amax(input, dims_of_some("amax", input, dim), keepdim)


def amin(input: Tensor, dim: Sizes = (), keepdim: bool = False) -> Tensor:
    """Return the smallest element along dimensions; equal ones share the gradient."""
    return rows.amin(input, dims_of_some("amin", input, dim), keepdim)


def dims_of_some(name: str, input: Tensor, dim: int) -> tuple:
    """Return the dimensions, or all; errors when there is nothing along one of them."""
    dims = dims_of(input, dim)
    if dims is None and not input.array.size:
        kernels.extreme(input.array, None, name)  # raises
    return tuple(nonempty_dim(name, input, d) for d in dims or every(input))


def logsumexp(input: Tensor, dim: Sizes, keepdim: bool = False) -> Tensor:
    """Return log(sum(exp(input))) along dimensions, without overflow."""
    return rows.logsumexp(input, dims_of(input, dim) or every(input), keepdim)


def cumsum(input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return running sums along a dimension."""
    return rows.cumsum(input if dtype is None else input.to(dtype), dim)


def cumprod(input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return running products along a dimension."""
    return rows.cumprod(input if dtype is None else input.to(dtype), dim)
