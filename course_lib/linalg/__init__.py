"""torch.linalg: norms, the inverse, and linear equations.

PyTorch: torch/linalg/__init__.py, aten/src/ATen/native/LinearAlgebra.cpp.
"""

from course_lib.arrays import dtypes
from course_lib.engine.arguments import Sizes
from course_lib.engine.build import rows
from course_lib.engine.tensor import Tensor
from course_lib.surface import functions as composites
from course_lib.surface.functions import matmul
from course_lib.surface.left_out import doors
from course_lib.surface.parsing import with_argument_errors


def vector_norm(
    x: Tensor, ord: int = 2, dim: int | None = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None
) -> Tensor:
    """Return the norm of all elements as one vector, or of vectors along dimensions."""
    return (x if dtype is None else x.to(dtype)).norm(ord, dim, keepdim)


def matrix_norm(
    A: Tensor, ord: int | str = "fro", dim: Sizes = (-2, -1), keepdim: bool = False, *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """Return the norm of matrices: the root of the sum of their squares."""
    composites.check_floating(A, "linalg.matrix_norm")
    if A.dim() < 2 or isinstance(dim, int) or len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: expected a matrix and two dimensions. Got {A.dim()}D and dim={dim}")
    if ord != "fro":
        raise composites.errors.not_supported(f"the matrix norm of order {ord!r}", "Use 'fro'.")
    return vector_norm(A, 2, dim, keepdim, dtype=dtype)


def norm(
    A: Tensor, ord: float | str | None = None, dim: Sizes | None = None, keepdim: bool = False, *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """Return the norm of a vector, or of matrices when `ord` or two dimensions say so."""
    if ord is not None and dim is None and A.dim() not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.dim()}D."
        )
    if ord is not None and (dim is None and A.dim() == 2 or isinstance(dim, tuple | list) and len(dim) == 2):
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


def inv(A: Tensor) -> Tensor:
    """Return the inverse."""
    return rows.inv(composites.check_square(A, "linalg.inv"))


def solve(A: Tensor, B: Tensor) -> Tensor:
    """Return what gives B when A is multiplied by it. B is a vector, a matrix, or a stack of them."""
    composites.check_square(A, "linalg.solve")
    vector = B.dim() == 1 or B.dim() == A.dim() - 1 and B.shape == A.shape[:-1]
    if A.dtype is not B.dtype or not B.dim() or B.shape[-1 if vector else -2] != A.shape[-1]:
        found = f"{A.dtype} {list(A.shape)} and {B.dtype} {list(B.shape)}"
        raise RuntimeError(f"linalg.solve: Incompatible shapes or types of A and B for the equation AX = B ({found})")
    return rows.solve(A, B.unsqueeze(-1)).squeeze(-1) if vector else rows.solve(A, B)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return the diagonal of two dimensions, as a view."""
    return composites.diagonal(A, offset, dim1, dim2)


for _name in "vector_norm matrix_norm norm inv solve diagonal".split():
    globals()[_name] = with_argument_errors(globals()[_name], f"linalg_{_name}", module=__name__)

__all__ = ["diagonal", "inv", "matmul", "matrix_norm", "norm", "solve", "vector_norm"]
__getattr__, __dir__ = doors("torch.linalg", __all__)
