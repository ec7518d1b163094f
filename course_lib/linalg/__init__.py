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
    if ord == "fro":
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if ord == "nuc" or abs(ord) not in (1, float("inf")):
        raise composites.errors.not_supported(f"the matrix norm of order {ord!r}", "Use 'fro', 1, -1, inf or -inf.")
    row, column = (composites.dimension(A, d) for d in dim)
    summed, left = (row, column) if abs(ord) == 1 else (column, row)
    left -= left > summed and not keepdim
    sums = vector_norm(A, 1, summed, keepdim, dtype=dtype)
    return (composites_more.amax if ord > 0 else composites_more.amin)(sums, left, keepdim)


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """The norm of a vector, or of matrices when `ord` or two dimensions say so."""
    if ord is not None and (dim is None and A.dim() == 2 or isinstance(dim, tuple | list) and len(dim) == 2):
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


def det(A):
    """The determinant."""
    return rows.det(check_square(A, "det"))


def inv(A):
    """The inverse."""
    return rows.inv(check_square(A, "inv"))[0]


def solve(A, B):
    """What gives B when A is multiplied by it. B is a vector, a matrix, or a stack of them."""
    check_square(A, "solve")
    if B.dim() == 1 or B.dim() == A.dim() - 1 and B.shape == A.shape[:-1]:
        return rows.solve_vector(A, B)
    return rows.solve(A, B)


def check_square(A, name):
    """The matrix; RuntimeError when it is no square one."""
    if A.dim() < 2:
        raise RuntimeError(f"linalg.{name}: The input tensor A must have at least 2 dimensions.")
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"linalg.{name}: A must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} matrices"
        )
    return A


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
    return wider.slogdet(check_square(A, "slogdet"))


def matrix_power(A, n):
    """A matrix multiplied by itself n times; its inverse for n below 0."""
    return wider.matrix_power(check_square(A, "matrix_power"), n)


def vecdot(x, y, *, dim=-1):
    """The inner products of vectors along a dimension."""
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
