"""THE TABLE, third page: rows that programs ask for now and then. Loaded when the first of them is used.

PyTorch: tools/autograd/derivatives.yaml. Read a row as in derivatives.py.
"""

import math

import numpy as np

from course_lib.arrays import kernels
from course_lib.engine.build import KERNELS, ON_TENSORS, OPERATION_NAMES, more_kernels, rows
from course_lib.engine.fit import for_whole_source
from course_lib.engine.ops import row
from course_lib.engine.tensor import new_tensor
from course_lib.surface import functions as composites

more = more_kernels()


class _LinAlgError(RuntimeError):
    """A matrix that cannot be inverted."""


# --- arithmetic on arrays where one expression is not enough ----------------------------------------------


def fmod(a, b):
    """What is left of a / b rounded towards zero; RuntimeError for integers divided by zero."""
    if np.ndim(b):
        kernels.sizes_of_both(a, b)
    kernels.truth_refused(a, "\"fmod_cpu\" not implemented for 'Bool'", NotImplementedError)
    if a.dtype.kind != "f" and not np.all(b):
        raise RuntimeError("ZeroDivisionError")
    return np.fmod(a, b)


def put_at(x, dim, index, values):
    """A copy of x with values[i], or one value, written at index[i] along a dimension."""
    src = values if isinstance(values, np.ndarray | np.generic) else np.broadcast_to(x.dtype.type(values), index.shape)
    if index.dtype.kind != "i" or x.dtype != src.dtype:
        kernels.scatter_add(x, dim, index, src)  # raises, and says why
    result = np.array(x, order="C")
    if index.size:
        kernels.check_scattered(x, dim, index, src)
        kernels.check_places(index, x.shape[dim] if x.ndim else 1, dim)
        places, part = kernels.scattered(dim, kernels.as_line(index), kernels.as_line(src))
        kernels.as_line(result)[places] = part
    return result


def rounded_to(x, decimals):
    """x rounded to so many places after the point, or before it when that is negative."""
    if decimals == 0:
        return more.rounded(np.round, x)
    kernels.floats(x, "round_cpu")
    factor = x.dtype.type(10.0 ** abs(decimals))
    return np.round(x * factor) / factor if decimals > 0 else np.round(x / factor) * factor


def check_slices(name, index, low, high, dim):
    """IndexError for an index outside [low, high)."""
    wrong = index[(index < low) | (index >= high)]
    if wrong.size:
        raise IndexError(f"{name}index {wrong.flat[0]} is out of bounds for dimension {dim} with size {high}")


def filled_over(x, dim, index, value):
    """The same for x itself, where all slices may be in one place: then each is filled when one is."""
    result = filled_at(x, dim, index, value)
    return np.full_like(result, value) if x.ndim and x.strides[dim] == 0 and index.size else result


def filled_at(x, dim, index, value):
    """A copy of x with one value in the slices that index names along a dimension."""
    if index.dtype.kind != "i":
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    result = np.array(kernels.copy(x))
    line = kernels.as_line(result)
    if np.ndim(value):
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    check_slices("", kernels.as_line(index), -line.shape[dim], line.shape[dim], dim)
    line[(slice(None),) * dim + (index,)] = kernels.whole(value, x.dtype)
    return result


def slices_at(x, dim, index, source):
    """A copy of x with the slices that index names along a dimension replaced by those of source."""
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if not source.ndim and index.size != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {index.size})")
    if source.ndim != x.ndim and source.ndim and x.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.ndim}), destination dimensionality ({x.ndim})"
        )
    if index.dtype.kind != "i":
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {kernels.title(index).title}")
    if source.dtype != x.dtype:
        kinds = kernels.title(x).title, kernels.title(source).title
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{kinds[0]} and (source) {kinds[1]}"
        )
    slices = [(*shape[:dim], *shape[dim + 1 :]) for shape in (x.shape, source.shape)]
    if slices[0] != slices[1]:
        wanted, got = (" ".join(map(str, sizes)) for sizes in slices)
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{wanted} at dimension {dim} and source slice shape: {got} at dimension {dim}."
        )
    if source.ndim and index.size != source.shape[dim]:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) ({source.shape[dim]})"
        )
    result = np.array(x, order="C")
    line, index = kernels.as_line(result), kernels.as_line(index)
    check_slices("index_copy_(): ", index, 0, line.shape[dim], dim)
    line[(slice(None),) * dim + (index,)] = kernels.as_line(source)
    return result


def for_source_put(grad, sizes):
    """The gradient of what scatter put in place, for all of it."""
    return for_whole_source(grad, sizes, "ScatterBackward0")


def median(x):
    """The lower of the middle elements; NaN when there is one."""
    if not x.size:  # what NaN becomes in other types
        return np.asarray({"f": np.nan, "i": np.iinfo(np.int64).min, "b": True}[x.dtype.kind], x.dtype)
    kernels.truth_refused(x, "\"median_cpu\" not implemented for 'Bool'", NotImplementedError)
    if x.dtype.kind == "f" and np.isnan(x).any():
        return np.asarray(np.nan, x.dtype)
    return np.sort(x, axis=None)[(x.size - 1) // 2]


def median_along(x, dim, keepdim):
    """(the lower of the middle elements along a dimension, where it stands)."""
    kernels.truth_refused(x, "\"median_out\" not implemented for 'Bool'", NotImplementedError)
    return in_order(x, (x.shape[dim] - 1) // 2 if x.ndim else 0, dim, keepdim)


def kthvalue(x, k, dim, keepdim):
    """(the k-th smallest element along a dimension, where it stands)."""
    if x.ndim:
        kernels.truth_refused(x, "\"kthvalue_cpu\" not implemented for 'Bool'", NotImplementedError)
    values, places = in_order(x, k - 1, dim, True)
    if x.ndim and (np.sum(x == values, axis=dim, keepdims=True) > 1).any():  # which of equals, is PyTorch's choice
        from course_lib.arrays.selection import quick_select

        lines, found = np.moveaxis(x, dim, -1), np.moveaxis(places, dim, -1)
        for line in np.ndindex(lines.shape[:-1]):
            found[line] = quick_select(lines[line].tolist(), k - 1)
    return (values, places) if keepdim or not x.ndim else (np.squeeze(values, dim), np.squeeze(places, dim))


def in_order(x, number, dim, keepdim):
    """(the element that has `number` others below it along a dimension, where it stands)."""
    if not x.ndim:
        return x.copy(), np.int64(0)
    order = np.argsort(x, axis=dim, kind="stable")
    place = np.take(order, [number], axis=dim)
    values = np.take_along_axis(x, place, dim)
    return (values, place) if keepdim else (np.squeeze(values, dim), np.squeeze(place, dim))


def rolled(x, shifts, dims):
    """The elements moved along dimensions, or along all of them as one."""
    return np.roll(np.ascontiguousarray(x), shifts if dims else shifts[0], dims or None) if x.ndim else x.copy()


def roll_back(grad, shifts, dims):
    """The gradients moved back."""
    return rolled(grad, tuple([-shift for shift in shifts]), dims)


def difference(a, b):
    """a - b, which truth values do not have."""
    kernels.check_difference(a, b)
    return a - b


ON_TENSORS["difference"] = lambda a, b: a - b


def inverse_or_zero(x):
    """1 / x, and 0 for 0."""
    return where(x == 0, 0.0, 1 / x)


expand, norm_grad, place_diagonal = kernels.expand, more.norm_grad, more.place_diagonal
sum_to, where, mul_number, zero_where = kernels.sum_to, kernels.where, kernels.mul_number, more.zero_where
one_minus = kernels.one_minus


def on_diagonal(x, offset, dim1, dim2):
    """Zeros with one dimension more, and the last dimension of x on a diagonal of two of them."""
    n = x.shape[-1] + abs(offset)
    sizes = list(x.shape[:-1])
    for dim in sorted((dim1, dim2)):
        sizes.insert(dim, n)
    return more.place_diagonal(x, tuple(sizes), offset, dim1, dim2)


def inverse(x):
    """The inverse of a matrix, or of each of a stack; _LinAlgError for a singular one."""
    return by_columns(regular(np.linalg.inv, "linalg.inv: The inversion could not be completed", x))


def inverse_and_info(x):
    """(the inverse, a 0 for each matrix: nothing was wrong)."""
    return inverse(x), np.zeros(x.shape[:-2], np.int32)


def solution(a, b):
    """What a is multiplied by to give b; _LinAlgError for a singular a."""
    return by_columns(regular(np.linalg.solve, "torch.linalg.solve: The solver failed", a, b))


def by_columns(x):
    """Matrices laid out by columns, as LAPACK leaves them."""
    return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)


def regular(function, failed, *matrices):
    """What NumPy makes of the matrices; _LinAlgError when the first is singular."""
    try:
        return function(*matrices)
    except np.linalg.LinAlgError:
        raise _LinAlgError(f"{failed} because the input matrix is singular.") from None


NO_TRACE = "\"trace\" not implemented for 'Bool'"


def shorter_side(sizes):
    """The shape of a matrix's diagonal."""
    return (min(sizes),)


def different(index):
    """Each index once."""
    return np.unique(index)


def sum_of(x):
    """The sum of all elements."""
    return kernels.total(x)


def finite(x):
    """1 where x is neither infinite nor NaN, else 0."""
    return x - x == 0


def logit(x, eps):
    """log(x / (1 - x)), with x kept eps away from 0 and 1."""
    x = x if eps is None else np.where(x < eps, x.dtype.type(eps), np.minimum(x, 1 - eps))  # eps may be above 1/2
    return np.log(x / (1 - x))


def logit_backward(grad, x, eps):
    """The gradient of logit: none where x was cut off, NaN where it is no probability."""
    if eps is None:
        return where((x >= 0) & (x <= 1), grad / (x * one_minus(x)), math.nan)
    return where((x >= eps) & (x <= 1 - eps), grad / (x * one_minus(x)), 0.0)


def scatter_value(x, dim, index, value):
    return put_at(x, dim, index, value)


gather, scatter_add, zeros_of, cos, sin = kernels.pick, kernels.scatter_add, kernels.zeros_of, np.cos, np.sin
reshape, zeros_like = kernels.reshape, kernels.zeros_like
KERNELS.append(__import__("sys").modules[__name__])  # formulas find the functions they call here too
OPERATION_NAMES["rare"] = KERNELS[-1]
ON_TENSORS["different"] = lambda index: new_tensor(np.unique(index.array))
ON_TENSORS["sum_of"] = lambda x: rows.sum_all(x)
ON_TENSORS["inverse"] = lambda x: rows.inv(x)[0]
ON_TENSORS["finite"] = lambda x: new_tensor(np.isfinite(x.array))

# --- functions of one number and of two --------------------------------------------------------------------

row("log10(self)", "np.log10(self)", floating=True,
    self="grad / mul_number(self, 2.302585092994046)")
row("nan_to_num(self, nan=0.0, posinf=None, neginf=None)", "np.nan_to_num(self, True, nan or 0.0, posinf, neginf)",
    self="grad * finite(self)")
row("round_decimals(self, decimals)", "rare.rounded_to(self, decimals)", node="RoundBackward1",
    self="zeros_like(grad)")
row("fmod_number(self, other)", "rare.fmod(self, other)", node="FmodBackward0",
    self="grad")
row("fmod(self, other)", "rare.fmod(self, other)", node="FmodBackward1",
    self="grad",
    other="-grad * rounded_quotient(typed(self, grad), typed(other, grad), 'trunc')")
row("atan2(self, other)", "np.arctan2(self, other)", floating=True,
    recorded={"all": "atan2_grads(grad, self, other, self_edge, other_edge)"},
    self="grad * (other * inverse_or_zero(self * self + other * other))",
    other="grad * (-self * inverse_or_zero(self * self + other * other))")
row("hypot(self, other)", "np.hypot(more.float_pair(self, other, 'hypot_cpu'), other)",
    self="grad * self / result",
    other="grad * other / result")
row("logaddexp(self, other)", "np.logaddexp(more.float_pair(self, other, 'logaddexp_cpu'), other)", in_place=False,
    recorded={"self": "grad / add_number(exp(difference(other, self)), 1)",
              "other": "grad / add_number(exp(difference(self, other)), 1)"},
    self="grad / (1 + exp(difference(other, self)))",
    other="grad / (1 + exp(difference(self, other)))")

row("logit(self, eps=None)", "rare.logit(self, eps)", floating=True,
    self="logit_backward(grad, self, eps)")

# --- writing at places -------------------------------------------------------------------------------------

row("scatter(self, dim, index: Tensor, src)", "rare.put_at(self, dim, index, src)", elementwise=False, in_place=True,
    self="scatter_value(grad, dim, index, 0.0)",
    src="for_source_put(gather(grad, dim, index), src_sym_sizes)")
row("scatter_value(self, dim, index: Tensor, value)", "rare.put_at(self, dim, index, value)", node="ScatterBackward1",
    elementwise=False, in_place=True,
    self="scatter_value(grad, dim, index, 0.0)")
row("index_fill(self, dim, index: Tensor, value)", "rare.filled_at(self, dim, index, value)", elementwise=False,
    self="index_fill(grad, dim, index, 0.0)")
row("index_fill_over(self, dim, index: Tensor, value)", "rare.filled_over(self, dim, index, value)", in_place="only",
    node="IndexFillBackward0", elementwise=False,
    self="index_fill(grad, dim, index, 0.0)")
row("index_fill_tensor(self, dim, index: Tensor, value)", "rare.filled_at(self, dim, index, value)",
    node="IndexFillBackward1", elementwise=False, in_place=True, broadcasts=("self", "value"),
    self="index_fill(grad, dim, index, 0.0)",
    value="sum_of(index_select(grad, dim, different(index)))")
row("index_copy(self, dim, index: Tensor, source)", "rare.slices_at(self, dim, index, source)", elementwise=False,
    in_place=True, keeps=("source with source",),
    recorded={"source": "expanded_like(index_select(grad, dim, index), source)"},
    self="index_fill(grad, dim, index, 0.0)",
    source="reshape(index_select(grad, dim, index), source_sym_sizes)")
row("masked_scatter_backward(grad_output, mask: Tensor, sizes)",
    "more.filled_up(more.masked_select(grad_output, mask), sizes)", node="MaskedScatterBackwardBackward0",
    elementwise=False,
    grad_output="masked_scatter(zeros_of(grad, grad_output_sym_sizes), mask, grad)")
row("unfold_backward(grad_in, sizes, dim, size, step)", "more.back_from_windows(grad_in, sizes, dim, size, step)",
    node="UnfoldBackwardBackward0", elementwise=False,
    recorded={"grad_in": "unfold(grad, dim, size, step)"},
    grad_in="windows_along(grad, dim, size, step)")
row("diag_embed(self, offset, dim1, dim2)", "rare.on_diagonal(self, offset, dim1, dim2)", elementwise=False,
    self="diagonal(grad, offset, dim1, dim2)")


# --- reductions --------------------------------------------------------------------------------------------

row("median_all(self)", "rare.median(self)", node="MedianBackward0", elementwise=False,
    self="share_among_equals(grad, self, result, None, False)")
row("median_dim(self, dim, keepdim=False)", "rare.median_along(self, dim, keepdim)", node="MedianBackward1",
    outputs=("values", "indices"),
    self="put_along(grad, self_sym_sizes, dim, indices, keepdim)")

row("kthvalue(self, k, dim, keepdim=False)", "rare.kthvalue(self, k, dim, keepdim)", outputs=("values", "indices"),
    self="put_along(grad, self_sym_sizes, dim, indices, keepdim)")

# --- rearranging into new memory ---------------------------------------------------------------------------

row("roll(self, shifts, dims)", "rare.rolled(self, shifts, dims)", elementwise=False,
    self="roll_back(grad, shifts, dims)")
row("diagonal_copy(self, offset, dim1, dim2)", "np.array(more.diagonal(self, offset, dim1, dim2))",
    node="DiagonalBackward0_copy", elementwise=False,
    self="place_diagonal(grad, self_sym_sizes, offset, dim1, dim2)")
row("trace(self)", "np.trace(kernels.truth_refused(self, rare.NO_TRACE, NotImplementedError))", elementwise=False,
    recorded={"self": "filled_diagonal(grad, self_sym_sizes)"},
    self="place_diagonal(expand(grad, shorter_side(self_sym_sizes)), self_sym_sizes, 0, 0, 1)")

# --- matrices ----------------------------------------------------------------------------------------------

row("cross(self, other, dim)", "np.cross(self, other, axis=dim)", node="LinalgCrossBackward0", elementwise=False,
    self="cross(other, grad, dim)",
    other="cross(grad, self, dim)")
row("inv(A)", "rare.inverse_and_info(A)", node="LinalgInvExBackward0", outputs=("inverse", "info"),
    recorded={"A": "inverse_grad(grad, inverse)"},
    A="-(swap_last(inverse) @ grad @ swap_last(inverse))")
row("solve_vector(A, B)", "rare.solution(A, B[..., None])[..., 0]", node="LinalgSolveExBackward0",
    elementwise=False, recorded={"all": "solve_vector_grads(grad, A, result, A_edge, B_edge)"},
    A="-(swap_last(inverse(A)) @ column(grad) @ swap_last(column(result)))",
    B="reshape(swap_last(inverse(A)) @ column(grad), grad.shape)")
row("solve(A, B)", "rare.solution(A, B)", node="LinalgSolveExBackward0", elementwise=False,
    recorded={"all": "solve_grads(grad, A, result, A_edge, B_edge)"},
    A="-(swap_last(inverse(A)) @ grad @ swap_last(result))",
    B="swap_last(inverse(A)) @ grad")


def swap_last(x):
    """A matrix, or each of a stack, transposed."""
    return np.swapaxes(x, -1, -2)


def column(x):
    """A vector, or each of a stack, as a matrix of one column."""
    return x.reshape((*x.shape, 1))


share_among_equals = more.share_among_equals


def _swap_last(x):
    return rows.transpose(x, x.array.ndim - 2, x.array.ndim - 1)


def _inverse_grad(grad, inverse):
    inner = grad @ _swap_last(inverse)
    return -(_swap_last(inverse) @ inner)


def _solve_grads(grad, A, result, A_edge, B_edge):
    into_b = rows.solve(_swap_last(A), grad)
    return -(into_b @ _swap_last(result)) if A_edge else None, into_b if B_edge else None


def _solve_vector_grads(grad, A, result, A_edge, B_edge):
    last = grad.array.ndim
    into_b = rows.solve(_swap_last(A), rows.unsqueeze(grad, last))
    return (
        -(into_b @ _swap_last(rows.unsqueeze(result, last))) if A_edge else None,
        rows.squeeze_dim(into_b, last) if B_edge else None,
    )


def _filled_diagonal(grad, sizes):
    line = new_tensor(np.zeros(math.prod(sizes), grad.array.dtype))
    places = np.arange(0, math.prod(sizes), sizes[1] + 1)[: min(sizes)]
    places = ON_TENSORS["written"](new_tensor(places))
    return composites.reshape(rows.index_fill_tensor(line, 0, places, grad), sizes)


ON_TENSORS["rolled"] = lambda x, shifts, dims: rows.roll(x, shifts, dims)
ON_TENSORS["filled_diagonal"] = _filled_diagonal
ON_TENSORS["swap_last"] = _swap_last
ON_TENSORS["inverse_grad"] = _inverse_grad
ON_TENSORS["solve_grads"] = _solve_grads
ON_TENSORS["solve_vector_grads"] = _solve_vector_grads

# --- only in place: a comparison ----------------------------------------------------------------------------

row("lt_number(self, values)", "np.asarray(values).astype(self.dtype)", node="LtBackward0", elementwise=False,
    in_place="only",
    self="zeros_like(grad)")
row("lt_tensor(self, other, values)", "np.asarray(values).astype(self.dtype)", node="LtBackward1", elementwise=False,
    broadcasts=("self", "other"), in_place="only",
    self="zeros_like(grad)",
    other="zeros_like(grad)")
