"""Products of matrices and vectors, and their gradients.

PyTorch: aten/src/ATen/native/LinearAlgebra.cpp, torch/csrc/autograd/FunctionsManual.cpp.
"""

from collections.abc import Callable

import numpy as np

from course_lib.arrays.dtypes import BOOL
from course_lib.arrays.dtypes import of_array as title
from course_lib.arrays.kernels.checks import floats, same_type
from course_lib.arrays.kernels.views import broadcast

REFUSING = {(1, 1): "dot", (2, 1): "addmv_impl_cpu", (3, 3): "bmm"}  # which kernel of PyTorch's takes no truth values


def matrix_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a @ b; RuntimeError for shapes or element types that do not go together."""
    if a.dtype is not b.dtype or a.dtype is BOOL:
        same_type(a, b)
        if a.dtype is BOOL and (a.size and b.size or a.ndim == b.ndim == 1):  # nothing times nothing has any type
            floats(a, REFUSING.get((a.ndim, b.ndim), "addmm_impl_cpu_"))
    return a.dot(b) if b.ndim < 3 else a @ b  # for matrices dot takes half the time of @


def is_quicker_turned(a: np.ndarray, b: np.ndarray) -> bool:
    """Return True for few rows times a large transposed weight: BLAS takes half to 0.95 of it for (b.T @ a.T).T."""
    return 4 < len(a) <= 64 and (len(a) > 16 or b.size > 65_000) and b.flags.f_contiguous


def matrix_product_plus(bias: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a @ b + bias, the bias added in place on the fresh product."""
    if not a.dtype is b.dtype is bias.dtype:
        for name, x in (("self", bias), ("mat1", a)):
            if x.dtype != b.dtype:
                kinds = f"{title(x).title} and {title(b).title}"
                raise RuntimeError(f"{name} and mat2 must have the same dtype, but got {kinds}")
    if b.size > 30_000 and is_quicker_turned(a, b) and bias.shape == b.shape[1:]:
        return np.add(b.T.dot(a.T).T, bias, order="C")  # the addition puts it in rows
    product = a.dot(b)
    try:
        product += bias
    except ValueError:
        product += broadcast(bias, product.shape)  # raises, and says why
    return product


def t(x: np.ndarray) -> np.ndarray:
    """Return a matrix with rows and columns exchanged."""
    return x.T


# From so many elements on, `dot` loses more by filling its result with zeros first than `@` by its slower start; but
# matrices that lie in memory with gaps `@` multiplies 20 times slower.
LARGE = 20_000


def grad_of_left(grad: np.ndarray, b: np.ndarray, sizes: tuple, strides: tuple) -> np.ndarray:
    """Return grad @ b.T, laid out in memory as the left factor with these sizes and strides: by columns if that is.

    The weight of a linear layer is used transposed. Laid out like that, its gradient becomes `.grad` without a copy,
    which makes a training step of a large network 1.2 times faster.
    """
    if grad.dtype is not b.dtype:
        same_type(grad, b)
    by_columns = strides[0] == 1 and strides[1] == sizes[0]
    if sizes[0] * sizes[1] < LARGE or not (grad.flags.forc and b.flags.forc):
        return b.dot(grad.T).T if by_columns else grad.dot(b.T)
    return (b @ grad.T).T if by_columns else grad @ b.T


def grad_of_right(a: np.ndarray, grad: np.ndarray, sizes: tuple, strides: tuple) -> np.ndarray:
    """Return a.T @ grad, laid out like the right factor."""
    if grad.dtype is not a.dtype:
        same_type(a, grad)
    by_columns = strides[0] == 1 and strides[1] == sizes[0]
    if sizes[0] * sizes[1] < LARGE or not (grad.flags.forc and a.flags.forc):
        return grad.T.dot(a).T if by_columns else a.T.dot(grad)
    return (grad.T @ a).T if by_columns else a.T @ grad


def outer_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.reshape(-1, 1) * b


def triangle(function: Callable, x: np.ndarray, diagonal: int) -> np.ndarray:
    """Return np.triu or np.tril of the last two dimensions; RuntimeError for a vector."""
    if x.ndim < 2:
        raise RuntimeError(f"{function.__name__}: input tensor must have at least 2 dimensions")
    return np.ascontiguousarray(function(x, diagonal))


class _LinAlgError(RuntimeError):
    """A matrix that cannot be inverted."""


def inverse(x: np.ndarray) -> np.ndarray:
    """Return the inverse of a matrix, or of each of a stack; _LinAlgError for a singular one."""
    return by_columns(regular(np.linalg.inv, "linalg.inv: The inversion could not be completed", x))


def solution(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return what a is multiplied by to give b; _LinAlgError for a singular a."""
    return by_columns(regular(np.linalg.solve, "torch.linalg.solve: The solver failed", a, b))


def by_columns(x: np.ndarray) -> np.ndarray:
    """Return matrices laid out by columns, as LAPACK leaves them."""
    return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)


def regular(function: Callable, failed: str, *matrices) -> np.ndarray:
    """Return what NumPy makes of the matrices; _LinAlgError when the first is singular."""
    try:
        return function(*matrices)
    except np.linalg.LinAlgError:
        raise _LinAlgError(f"{failed} because the input matrix is singular.") from None
