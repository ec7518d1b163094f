"""torch.linalg: norms, and what is done with square matrices.

PyTorch: torch/linalg/__init__.py, aten/src/ATen/native/LinearAlgebra.cpp.
"""

from course_lib.native import composites, composites_more, messages, rare, wider
from course_lib.native.building import rows
from course_lib.native.composites import matmul
from course_lib.native.parsing import asking


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
    return (composites_more.amax if ord > 0 else composites_more.amin)(sums, left, keepdim)


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


def det(A):
    """The determinant."""
    return rows.det(rare.check_square(A, "linalg.det"))


def inv(A):
    """The inverse."""
    return rows.inv(rare.check_square(A, "linalg.inv"))[0]


def solve(A, B):
    """What gives B when A is multiplied by it. B is a vector, a matrix, or a stack of them."""
    rare.check_square(rare.check_floating(A, "linalg.solve"), "linalg.solve")
    check_same_kind("solve", A=A, B=B)
    if not B.dim():
        raise RuntimeError("linalg.solve: The input tensor B must have at least 2 dimensions.")
    vector = B.dim() == 1 or B.dim() == A.dim() - 1 and B.shape == A.shape[:-1]
    if B.shape[-1 if vector else -2] != A.shape[-1]:
        got = "x".join(map(str, (*B.shape[-1:], 1) if vector else B.shape[-2:]))
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation AX = B ({A.shape[-2]}x{A.shape[-1]} and "
            f"{got})"
        )
    return rows.solve_vector(A, B) if vector else rows.solve(A, B)


def check_same_kind(function, **tensors):
    """RuntimeError for two tensors of different types."""
    (a, b), (first, second) = tensors, tensors.values()
    if first.dtype is not second.dtype:
        found = f"found {a} of type {first.dtype.title} and {b} of type {second.dtype.title} instead"
        raise RuntimeError(f"linalg.{function}: Expected {a} and {b} to have the same dtype, but {found}")


def multi_dot(tensors):
    """The product of several matrices, in the order that costs least; the first and last may be vectors."""
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    factors, shape = list(tensors), []
    for place, number in ((0, 0), (-1, 1)):
        if factors[place].dim() == 1:
            factors[place] = composites.unsqueeze(factors[place], number)
        else:
            shape.append(factors[place].shape[number])
    for number, factor in enumerate(factors):
        if factor.dim() != 2:
            raise RuntimeError(f"multi_dot(): tensor {number} must be 2D but got {factor.dim()}D")
    return composites.view(_cheapest_product(factors), tuple(shape))


def _cheapest_product(factors):
    """The product of matrices, split where the fewest multiplications are needed."""
    sizes, n = [factors[0].shape[0], *(f.shape[1] for f in factors)], len(factors)
    cost, cut = {(i, i): 0 for i in range(n)}, {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            costs = [cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)]
            cost[i, j] = min(costs)
            cut[i, j] = i + costs.index(cost[i, j]) if n > 3 else j - 1 - costs[::-1].index(cost[i, j])  # as PyTorch
    made = {}
    stack = [(0, n - 1)]
    while stack:  # no recursion: a pair is multiplied when both of its halves are there
        i, j = stack[-1]
        if i == j:
            made[i, j] = factors[i]
        elif (i, cut[i, j]) not in made:
            stack.append((i, cut[i, j]))
            continue
        elif (cut[i, j] + 1, j) not in made:
            stack.append((cut[i, j] + 1, j))
            continue
        else:
            made[i, j] = composites.mm(made[i, cut[i, j]], made[cut[i, j] + 1, j])
        stack.pop()
    return made[0, n - 1]


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonal of two dimensions, as a view."""
    return composites_more.diagonal(A, offset, dim1, dim2)


def cross(input, other, *, dim=-1):
    """The vector perpendicular to two vectors of three elements along a dimension."""
    return wider.linalg_cross(input, other, dim)


def slogdet(A):
    """(the sign of the determinant, the logarithm of its magnitude)."""
    return wider.slogdet(rare.check_square(A, "linalg.slogdet"))


def matrix_power(A, n):
    """A matrix multiplied by itself n times; its inverse for n below 0."""
    return wider.matrix_power(rare.check_square(A, "linalg.matrix_power"), n)


def vecdot(x, y, *, dim=-1):
    """The inner products of vectors along a dimension."""
    check_same_kind("vecdot", x=x, y=y)
    return wider.vecdot(x, y, dim=dim)


def __getattr__(name):
    """What PyTorch has here and this engine has not."""
    raise messages.no_such_name(__name__, name)


inverse, LinAlgError = rare.inverse, rare.derivatives_rare._LinAlgError
__all__ = [
    "LinAlgError", "cross", "det", "diagonal", "inv", "matmul", "matrix_norm", "matrix_power", "multi_dot", "norm",
    "slogdet", "solve", "vecdot", "vector_norm",
]

for _name in "vector_norm matrix_norm norm det inv solve multi_dot diagonal cross slogdet matrix_power vecdot".split():
    globals()[_name] = asking(globals()[_name], f"linalg_{_name}", module=__name__)
