"""torch.linalg: norms, the inverse, and linear equations.

PyTorch: torch/linalg/__init__.py, aten/src/ATen/native/LinearAlgebra.cpp.
"""

from course_lib.engine.build import rows
from course_lib.surface import functions as composites
from course_lib.surface.functions import matmul
from course_lib.surface.left_out import doors
from course_lib.surface.parsing import asking


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The norm of all elements as one vector, or of vectors along dimensions."""
    return (x if dtype is None else x.to(dtype)).norm(ord, dim, keepdim)


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """The norm of matrices: "fro", the largest sum of a column (1), or of a row (inf)."""
    if A.array.dtype.kind != "f":
        raise RuntimeError(
            f"linalg.matrix_norm: Expected a floating point or complex tensor as input. Got {A.dtype.title}"
        )
    if A.dim() < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if isinstance(dim, int) or len(dim) != 2:
        given = (dim,) if isinstance(dim, int) else dim
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, given))}")
    if ord not in ("nuc", "fro") and (isinstance(ord, str) or abs(ord) not in (1, 2, float("inf"))):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    if ord == "nuc" or ord != "fro" and abs(ord) == 2:
        raise composites.errors.not_supported(f"the matrix norm of order {ord!r}", "Use 'fro', 1, -1, inf or -inf.")
    if ord == "fro":
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    row, column = (composites.dimension(A, d) for d in dim)
    summed, left = (row, column) if abs(ord) == 1 else (column, row)
    left -= left > summed and not keepdim
    sums = vector_norm(A, 1, summed, keepdim, dtype=dtype)
    return (composites.amax if ord > 0 else composites.amin)(sums, left, keepdim)


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """The norm of a vector, or of matrices when `ord` or two dimensions say so."""
    if isinstance(dim, tuple | list) and len(dim) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if ord is not None and dim is None and A.dim() not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.dim()}D."
        )
    if ord is not None and (dim is None and A.dim() == 2 or isinstance(dim, tuple | list) and len(dim) == 2):
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


def inv(A):
    """The inverse."""
    return rows.inv(composites.check_square(A, "linalg.inv"))


def solve(A, B):
    """What gives B when A is multiplied by it. B is a vector, a matrix, or a stack of them."""
    composites.check_square(composites.check_floating(A, "linalg.solve"), "linalg.solve")
    if A.dtype is not B.dtype:
        found = f"found A of type {A.dtype.title} and B of type {B.dtype.title} instead"
        raise RuntimeError(f"linalg.solve: Expected A and B to have the same dtype, but {found}")
    if not B.dim():
        raise RuntimeError("linalg.solve: The input tensor B must have at least 2 dimensions.")
    vector = B.dim() == 1 or B.dim() == A.dim() - 1 and B.shape == A.shape[:-1]
    if B.shape[-1 if vector else -2] != A.shape[-1]:
        got = "x".join(map(str, (*B.shape[-1:], 1) if vector else B.shape[-2:]))
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation AX = B ({A.shape[-2]}x{A.shape[-1]} and "
            f"{got})"
        )
    return rows.solve(A, B.unsqueeze(-1)).squeeze(-1) if vector else rows.solve(A, B)


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonal of two dimensions, as a view."""
    return composites.diagonal(A, offset, dim1, dim2)


for _name in "vector_norm matrix_norm norm inv solve diagonal".split():
    globals()[_name] = asking(globals()[_name], f"linalg_{_name}", module=__name__)

__all__ = ["diagonal", "inv", "matmul", "matrix_norm", "norm", "solve", "vector_norm"]
__getattr__, __dir__ = doors("torch.linalg", __all__)
