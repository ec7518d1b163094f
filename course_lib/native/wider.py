"""Functions made of others that programs seldom ask for: quantiles, distances, combinations. Read when first used.

PyTorch: aten/src/ATen/native (Sorting.cpp, Distance.cpp, Integration.cpp, Correlation.cpp, Bucketization.cpp,
SummaryOps.cpp, Itertools.cpp).
"""

import itertools
import math

import numpy as np

from course_lib import dtypes
from course_lib.grad_mode import state
from course_lib.native import composites, composites_more, creation, derivatives_nn, kernels, rare  # noqa: F401
from course_lib.native.arguments import operands
from course_lib.native.building import rows
from course_lib.native.composites import pair, rename_node, without_gradient
from course_lib.native.generator import (  # noqa: F401
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    seed,
    set_rng_state,
)
from course_lib.native.indexing import dimension, index_tensors, put_
from course_lib.native.joining import cat, stack
from course_lib.native.printing import Size
from course_lib.tensor import Tensor, counter_of, memory_of, new_tensor
from course_lib.views import gradient_edge


def __getattr__(name):
    """Operations that are rows and nothing else."""
    return getattr(rare, name)


def named(result, name):
    """A result whose node has the name of PyTorch's."""
    if result.node is not None:
        rename_node(result.node, name)
    return result


# --- element by element ------------------------------------------------------------------------------------

arccosh, arcsinh, arctanh, arctan2 = rows.acosh, rows.asinh, rows.atanh, rows.atan2
arcsin, arccos, arctan = rows.asin, rows.acos, rows.atan
arcsin_, arccos_, arctan_, arctan2_ = rows.asin_, rows.acos_, rows.atan_, rare.atan2_
arcsinh_, arccosh_, arctanh_ = rare.asinh_, rare.acosh_, rare.atanh_
absolute_, negative_, fix_ = rows.abs_, rows.neg_, rows.trunc_
subtract_, multiply_, divide_ = composites.sub_, composites.mul_, composites.div_
fix = rows.trunc


def sgn(input):
    """-1, 0 or 1."""
    return named(rows.sign(input), "SgnBackward0")


def copysign(input, other):
    """The magnitude of one with the sign of the other."""
    return named(rows.copysign(input, other), f"CopysignBackward{int(not isinstance(other, Tensor))}")


def xlogy(input, other):
    """input * log(other), and 0 where input is 0; either may be a number."""
    name = "XlogyBackward0" if isinstance(input, Tensor) and isinstance(other, Tensor) else None
    name = name or ("XlogyBackward2" if isinstance(input, Tensor) else "XlogyBackward1")
    return named(rows.xlogy(input, other), name)


def ldexp(input, other):
    """input * 2 ** other."""
    return named(composites.mul(input, composites.pow(2.0, other)), "LdexpBackward0")


def _bits(name, function):
    def operation(input, other):
        a, b = operands(name, input, other)
        kernels.sizes_of_both(a.array, b.array)
        x, y = composites.promote(a, b)
        if x.dtype.kind != "i":
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{dtypes.of_array(x).title}'")
        return without_gradient(function(x, y))

    operation.__name__ = name
    operation.__doc__ = f"The {name} of whole numbers, element by element."
    return operation


gcd, lcm = _bits("gcd", np.gcd), _bits("lcm", np.lcm)


def heaviside(input, values):
    """0 below 0, 1 above, and `values` at 0. It has no derivative."""
    if input.array.dtype != values.array.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    kernels.sizes_of_both(input.array, values.array)
    result = new_tensor(np.heaviside(input.array, values.array).astype(input.array.dtype))
    edges = [gradient_edge(input, values), gradient_edge(values, input)] if state.recording > 0 else []
    if any(edges):
        result.node = composites_more.without_derivative("aten::heaviside", tuple(edge for edge in edges if edge))
    return result


def signbit(input):
    """True for numbers below zero, and for -0.0."""
    return without_gradient(np.signbit(input.array) if input.array.dtype.kind == "f" else input.array < 0)


def isposinf(input):
    """True where the element is infinite and positive."""
    return without_gradient(input.array == np.inf)


def isneginf(input):
    """True where the element is infinite and negative."""
    return without_gradient(input.array == -np.inf)


def isreal(input):
    """True everywhere: there are no complex numbers."""
    return without_gradient(np.ones(input.array.shape, bool))


def conj(input):
    """The tensor itself: there are no complex numbers."""
    return input


real = resolve_conj = resolve_neg = conj_physical = conj


# --- reductions --------------------------------------------------------------------------------------------


@composites.numpy_names
def nansum(input, dim=None, keepdim=False, *, dtype=None):
    """The sum of all elements that are numbers."""
    input = input if dtype is None else input.to(dtype)
    if input.array.dtype.kind != "f":
        return composites.sum(input, dim, keepdim)
    return rows.nansum(input, composites.dims_of(input, dim) or composites.every(input), keepdim)


@composites.numpy_names
def nanmean(input, dim=None, keepdim=False, *, dtype=None):
    """The mean of all elements that are numbers."""
    if input.array.dtype.kind != "f":
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype.title}"
        )
    count = composites.sum(without_gradient(~np.isnan(input.array)), dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count


def nanmedian(input, dim=None, keepdim=False):
    """The lower of the middle elements, of those that are numbers."""
    kernels.truth_refused(
        input.array, f"\"median_{'cpu' if dim is None else 'out'}\" not implemented for 'Bool'", NotImplementedError
    )
    if dim is None:
        kept = input.array[~np.isnan(input.array)] if input.array.dtype.kind == "f" else input.array.reshape(-1)
        if not len(kept):
            return rows.median_all(input)
        middle = np.sort(kept)[(len(kept) - 1) // 2]
        flat = composites.reshape(input, -1)
        place = np.flatnonzero(flat.array == middle)[:1]
        return named(composites.sum(composites.index_select(flat, 0, new_tensor(place))), "NanmedianBackward0")
    dim = dimension(input, dim)
    values, places = composites_more.sort(input, dim)
    numbers = np.sum(input.array == input.array, axis=dim, keepdims=True)
    middle = new_tensor(np.maximum(numbers - 1, 0) // 2)
    found = composites.gather(values, dim, middle), composites.gather(places, dim, middle)
    if not keepdim:
        shape = [n for d, n in enumerate(input.array.shape) if d != dim]
        found = (composites.reshape_fresh(each, shape) for each in found)
    values, places = found
    return pair("nanmedian", (named(values, "NanmedianBackward1"), places))


def aminmax(input, *, dim=None, keepdim=False):
    """(the smallest, the largest element) of all, or along a dimension."""
    dims = () if dim is None else dim
    both = composites_more.amin(input, dims, keepdim), composites_more.amax(input, dims, keepdim)
    return MinMax(named(each, "AminmaxBackward0") for each in both)


class MinMax(tuple):
    """(min, max), as aminmax returns them."""

    __slots__ = ()
    min = property(lambda both: both[0])
    max = property(lambda both: both[1])

    def __repr__(self):
        return f"torch.return_types.aminmax(\nmin={self[0]!r},\nmax={self[1]!r})"


MinMax.__name__ = "aminmax"


def cummax(input, dim):
    """(the largest element so far along a dimension, where it stands)."""
    return pair("cummax", rows.cummax(input, dimension(input, dim)))


def cummin(input, dim):
    """(the smallest element so far along a dimension, where it stands)."""
    return pair("cummin", rows.cummin(input, dimension(input, dim)))


def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The values below which parts q of the elements lie, between neighbours as `interpolation` says."""
    return _quantile("quantile", input, q, dim, keepdim, interpolation, skip=False)


def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """quantile of the elements that are numbers."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, skip=True)


def _quantile(name, input, q, dim, keepdim, interpolation, skip):
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if input.array.dtype.kind != "f":
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if not input.array.size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if not isinstance(q, Tensor) and not 0 <= q <= 1:
        raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")
    q = q if isinstance(q, Tensor) else creation.tensor(q, dtype=input.dtype)
    if q.array.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if q.array.dtype != input.array.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if not np.all((q.array >= 0) & (q.array <= 1)):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    ndim, wanted = input.array.ndim, 0 if dim is None else dimension(input, dim)
    lines = composites.reshape(input, -1) if dim is None or not ndim else composites_more.movedim(input, wanted, -1)
    lines = composites_more.sort(lines, -1)[0]
    n, parts = lines.array.shape[-1], composites.reshape(q, -1)
    numbers = np.sum(lines.array == lines.array, axis=-1, keepdims=True)
    last = np.maximum(numbers, 1) - 1 if skip else np.full(numbers.shape, n - 1)
    ranks = parts * new_tensor(last.astype(lines.array.dtype))
    if not skip and np.any(numbers < n):
        ranks = rows.masked_fill(ranks, new_tensor(np.broadcast_to(numbers < n, ranks.array.shape)), n - 1)
    if interpolation in ("lower", "higher", "nearest"):
        ranks = getattr(rows, {"lower": "floor", "higher": "ceil", "nearest": "round"}[interpolation])(ranks)
    below = np.floor(ranks.array)
    result = composites.gather(lines, -1, new_tensor(below.astype(np.int64)))
    if interpolation in ("linear", "midpoint"):
        above = composites.gather(lines, -1, new_tensor(np.ceil(ranks.array).astype(np.int64)))
        middle = interpolation == "midpoint"
        weights = new_tensor(np.full_like(below, 0.5)) if middle else ranks - new_tensor(below)
        result = composites.lerp_(result, above, weights)
    if q.array.ndim == 0:
        result = result.squeeze_(-1)
    else:
        result = result.unsqueeze_(0).transpose_(0, -1).squeeze_(-1)
    if keepdim and ndim:
        shape = [1] * ndim if dim is None else [1 if d == wanted else m for d, m in enumerate(input.array.shape)]
        result = composites.reshape(result, ([parts.array.size] if q.array.ndim else []) + shape)
    return result


def histc(input, bins=100, min=0, max=0):
    """How many elements fall into each of so many bins of equal width between min and max."""
    kernels.floats(input.array, "histogram_cpu")
    low, high = (float(input.array.min()), float(input.array.max())) if min == max else (min, max)
    low, high = (low - 1, high + 1) if low == high else (low, high)
    return without_gradient(np.histogram(input.array, bins, (low, high))[0].astype(input.array.dtype))


def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None):
    """Where elements are to be put into sorted rows so that they stay sorted; sorter: the places that sort them."""
    if out_int32:
        raise composites.errors.not_supported("out_int32=True", "Use the int64 that it gives without.")
    if sorter is not None:
        sorted_sequence = composites.gather(sorted_sequence.detach(), -1, sorter)
    right = side == "right" if side is not None else right
    values = input.array if isinstance(input, Tensor) else np.asarray(input)
    rows_of, where = sorted_sequence.array, "right" if right else "left"
    if rows_of.ndim == 1:
        return without_gradient(np.asarray(np.searchsorted(rows_of, values, where), np.int64)[()])
    found = np.empty(values.shape, np.int64)
    for line in np.ndindex(values.shape[:-1]):
        found[line] = np.searchsorted(rows_of[line], values[line], where)
    return without_gradient(found)


def bucketize(input, boundaries, *, out_int32=False, right=False):
    """The number of the bucket between boundaries that each element falls into."""
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements without repetitions of the one before."""
    array = input.array.reshape(-1) if dim is None else np.moveaxis(input.array, dimension(input, dim), 0)
    new = np.concatenate([[True], (array[1:] != array[:-1]).reshape(max(len(array) - 1, 0), -1).any(1)])[: len(array)]
    values = array[new] if dim is None else np.moveaxis(array[new], 0, dim)
    answer = [composites_more.recorded(input, without_gradient(values), composites_more.UniqueConsecutiveBackward0)]
    if return_inverse:
        shape = input.array.shape if dim is None else (-1,)
        answer.append(without_gradient((np.cumsum(new) - 1).reshape(shape)))
    if return_counts:
        answer.append(without_gradient(np.diff(np.append(np.flatnonzero(new), len(array)))))
    return answer[0] if len(answer) == 1 else tuple(answer)


def msort(input):
    """The elements in order along the first dimension."""
    return composites_more.sort(input, 0)[0]


# --- integrals, correlation, distances ---------------------------------------------------------------------


def trapezoid(y, x=None, *, dx=1, dim=-1):
    """The area under a line through points: at x, or dx apart."""
    kernels.truth_refused(y.array, "trapezoid: received a bool input for `y`, but bool is not supported")
    steps = _steps("trapezoid", y, x, dx, dim)
    left, right = _neighbours(y, dim)
    if x is None:
        return named(composites.sum(left + right, dim) * (dx / 2.0), "MulBackward1")
    return half(composites.sum((left + right) * steps, dim))


trapz = trapezoid


def cumulative_trapezoid(y, x=None, *, dx=1, dim=-1):
    """The area under a line through points, up to each of them."""
    kernels.truth_refused(y.array, "cumulative_trapezoid: received a bool input for `y`, but bool is not supported")
    steps = _steps("cumulative_trapezoid", y, x, dx, dim)
    left, right = _neighbours(y, dim)
    if x is None:
        return composites_more.cumsum((left + right) * (dx / 2.0), dim)
    return half(composites_more.cumsum((left + right) * steps, dim))


def half(x):
    """x / 2, by the node that PyTorch's own functions use."""
    return rows.div_number(x if x.is_floating_point() else x.to(dtypes.default), 2.0)


def _neighbours(y, dim):
    n = y.array.shape[dim]
    return composites_more.narrow(y, dim, 0, n - 1), composites_more.narrow(y, dim, 1, n - 1)


def _steps(name, y, x, dx, dim):
    if x is None:
        return dx
    if x.array.ndim == 1 and y.array.ndim > 1:
        if x.array.size != y.array.shape[dim]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = composites.view(x, [-1 if d == dimension(y, dim) else 1 for d in range(y.array.ndim)])
    left, right = _neighbours(x, dim)
    return right - left


def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariance of variables (rows) over observations (columns)."""
    if input.array.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.array.ndim} dimensions"
        )
    x = composites.view(input, (1, -1)) if input.array.ndim < 2 else input
    for name, each in (("fweights", fweights), ("aweights", aweights)):
        if each is not None and each.array.ndim > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got {name} with {each.array.ndim} "
                "dimensions"
            )
    weights = aweights if fweights is None else fweights if aweights is None else fweights * aweights
    total = x.array.shape[1] if weights is None else composites.sum(weights)
    centers = composites.sum(x if weights is None else x * weights, 1) / total
    if weights is None or aweights is None or correction == 0:
        norm = total - correction
    else:
        norm = total - correction * composites.sum(weights * aweights) / total
    norm = rows.clamp_min(norm, 0) if isinstance(norm, Tensor) else max(norm, 0)
    centered = x - composites.unsqueeze(centers, 1)
    product = composites.matmul(centered, composites.t(centered if weights is None else centered * weights))
    return composites.squeeze(product / norm)


def corrcoef(input):
    """The correlation of variables (rows) over observations (columns), within [-1, 1]."""
    if input.array.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.array.ndim} "
            "dimensions"
        )
    c = cov(input)
    if not c.array.ndim:
        return c / c
    deviation = rows.sqrt(composites_more.diagonal(c))
    return composites.clamp(c / composites.view(deviation, (-1, 1)) / composites.view(deviation, (1, -1)), -1, 1)


def cdist(x1, x2, p=2.0, compute_mode=None):
    """The p-norm of the difference of each row of x1 and each row of x2."""
    if x1.array.shape[-1] != x2.array.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.array.shape[-1]} X2: {x2.array.shape[-1]}"
        )
    kernels.floats(x1.array, "cdist")
    distances = composites_more.norm(composites.unsqueeze(x1, -2) - composites.unsqueeze(x2, -3), p, -1)
    return named(distances, "CdistBackward0")


# --- matrices ----------------------------------------------------------------------------------------------


def vdot(input, other):
    """The inner product of two vectors."""
    return named(composites.dot(input, other), "VdotBackward0")


def addr(input, vec1, vec2, *, beta=1, alpha=1):
    """beta * input + alpha * (the outer product of two vectors)."""
    for name, vector in (("vec1", vec1), ("vec2", vec2)):
        if vector.array.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {vector.array.ndim}-D")
    return rows.addr(input, vec1, vec2, beta, alpha)


def addbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """beta * input + alpha * (the sum of products of matrices, pair by pair)."""
    return rows.addbmm(input, batch1, batch2, beta, alpha)


def cross(input, other, dim=None):
    """The vector perpendicular to two vectors of three elements along a dimension."""
    if dim is None:
        dim = next((d for d, n in enumerate(input.array.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return linalg_cross(input, other, dim)


def linalg_cross(input, other, dim=-1):
    """cross along the last dimension, unless told otherwise."""
    given = dim
    if input.array.ndim != other.array.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    dim = dimension(input, dim)
    if input.array.shape[dim] != 3 or other.array.shape[dim] != 3:
        sizes = input.array.shape[dim], other.array.shape[dim]
        raise RuntimeError(
            f"linalg.cross: inputs dimension {given} must have length 3. Got {sizes[0]} and {sizes[1]}"
        )
    if input.array.shape != other.array.shape:
        input, other = composites_more.broadcast_tensors(input, other)
    if input.array.dtype != other.array.dtype:
        kind = rare.result_type(input, other)
        input, other = input.to(kind), other.to(kind)
    return rows.cross(input, other, dim)


def block_diag(*tensors):
    """Matrices along the diagonal of a larger one."""
    blocks = [rare.atleast_2d(t) for t in tensors]
    width = sum(b.array.shape[1] for b in blocks)
    lines, at = [], 0
    for block in blocks:
        (m, n), kind = block.array.shape, block.dtype
        lines.append(cat([creation.zeros(m, at, dtype=kind), block, creation.zeros(m, width - at - n, dtype=kind)], 1))
        at += n
    return named(cat(lines, 0), "BlockDiagBackward0")


# --- places and shapes -------------------------------------------------------------------------------------


def select_scatter(input, src, dim, index):
    """A copy of input with src at one place of a dimension."""
    dim = dimension(input, dim)
    wanted = composites.select(input.detach(), dim, index).array.shape
    if src.array.shape != wanted:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.array.shape)}, slice size = "
            f"{list(wanted)}"
        )
    return rows.select_scatter(input, src, dim, index % input.array.shape[dim])


def slice_scatter(input, src, dim=0, start=None, end=None, step=1):
    """A copy of input with src on a slice of a dimension."""
    dim = dimension(input, dim)
    start, end, step = slice(start, end, step).indices(input.array.shape[dim])
    return rows.slice_scatter(input, src, dim, start, max(start, end), step)


def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    """A copy of input with src on a diagonal."""
    return rows.diagonal_scatter(input, src, offset, dimension(input, dim1), dimension(input, dim2))


def masked_scatter(input, mask, source):
    """A copy of input with the elements of source put, in order, where the mask is True."""
    return rows.masked_scatter(input, mask, source)


def masked_scatter_(input, mask, source):
    """The same in the tensor's own memory."""
    return rows.masked_scatter_(input, mask, source)


def scatter_reduce(input, dim, index, src, reduce, *, include_self=True):
    """A copy of input with src combined into the places that index names: "sum", "mean", "amax", "amin" or "prod"."""
    known = _known_reduction(reduce, input, src, include_self)
    return rows.scatter_reduce(input, dimension(input, dim), index, src, *known)


def scatter_reduce_(input, dim, index, src, reduce, *, include_self=True):
    """The same in the tensor's own memory."""
    known = _known_reduction(reduce, input, src, include_self)
    return rows.scatter_reduce_(input, dimension(input, dim), index, src, *known)


def _known_reduction(reduce, input, src, include_self):
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)  # names that PyTorch takes, too
    if reduce not in ("sum", "mean", "amax", "amin", "prod"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if reduce == "prod" and (input.requires_grad or src.requires_grad) and state.recording > 0:
        raise composites.errors.not_supported("scatter_reduce with prod and gradients", "Use sum, mean, amax or amin.")
    return reduce, include_self


def index_put(input, indices, values, accumulate=False):
    """A copy of input with values written, or added, at the places that index tensors name."""
    result = put_(input.clone(), index_tensors(indices, 1), values, accumulate)
    counter_of(result).value = 0  # nobody has seen it before
    if result.node is not None:  # in the graph the copy is no step of its own
        result.node.edges = (gradient_edge(input), *result.node.edges[1:])
    return result


def split_with_sizes(input, split_sizes, dim=0):
    """Pieces of the given lengths along a dimension, as views from one node."""
    return composites_more.split(input, list(split_sizes), dim)


def rot90(input, k=1, dims=(0, 1)):
    """Turned by k quarter turns in the plane of two dimensions."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.array.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.array.ndim}")
    first, second = (dimension(input, d) for d in dims)
    if first == second:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    return rows.rot90(input, k % 4, (first, second))


def logspace(start, end, steps, base=10.0, *, dtype=None, device=None, requires_grad=False):
    """Powers of base whose exponents run from start to end at equal distances."""
    kind = creation.numpy_type(dtype)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    start, end = (v.item() if isinstance(v, Tensor) else v for v in (start, end))
    creation.numbers_only("logspace", kind)
    powers = np.power(float(base), np.linspace(float(kind.type(start)), float(kind.type(end)), steps))
    return creation.finish(powers.astype(kind), dtype, requires_grad, device)


def broadcast_shapes(*shapes):
    """The shape that shapes broadcast to."""
    sizes = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    result = [1] * max(map(len, sizes), default=0)
    for position, shape in enumerate(sizes):
        for back in range(-1, -len(shape) - 1, -1):
            if shape[back] not in (1, result[back]) and result[back] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[back]} at {back}! Mismatching argument at "
                    f"index {position} had {shape}; but expected shape should be broadcastable to {result}"
                )
            result[back] = result[back] if shape[back] == 1 else shape[back]
    return Size(result)


def cartesian_prod(*tensors):
    """All combinations of one element of each vector, one row each."""
    if len(tensors) == 1:
        return tensors[0]
    grids = composites_more.meshgrid(*tensors, indexing="ij")
    return stack([composites.flatten(g) for g in grids], 1)


def combinations(input, r=2, with_replacement=False):
    """All combinations of r elements of a vector, one row each."""
    if input.array.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.array.shape)}")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = np.array(list(choose(range(input.array.size), r)), np.int64).reshape(-1, r)
    if r == 0:
        return creation.empty(0, dtype=input.dtype)
    columns = [np.ascontiguousarray(column) for column in places.T]
    return stack([composites.index_select(input, 0, new_tensor(column)) for column in columns], 1)


# --- random ------------------------------------------------------------------------------------------------


def multinomial(input, num_samples, replacement=False, *, generator=None):
    """Places drawn with chances in proportion to the elements of a vector, or of each row of a matrix."""
    weights = input.array
    if weights.dtype.kind != "f":
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.dtype.title}")
    if weights.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if np.any(np.sum(weights, -1) == 0):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    draw, source = creation.source_of(generator)
    lines = weights.reshape(-1, weights.shape[-1])
    if replacement and num_samples > 1:  # each number falls into one of the steps of the sums
        sums = np.cumsum(lines, -1)
        sums /= sums[:, -1:]
        even = draw.fractions(source, len(lines) * num_samples, np.float64).reshape(len(lines), -1)
        drawn = [np.searchsorted(steps, places) for steps, places in zip(sums, even, strict=True)]
    else:  # waiting times: the first few that arrive, and what cannot arrive comes last
        times = draw.in_memory_order(draw.waiting_times(source, lines.size), weights).astype(lines.dtype)
        arrivals = lines / times.reshape(lines.shape)
        drawn = np.argsort(-arrivals, axis=-1, kind="stable")[:, :num_samples]
    return without_gradient(np.array(drawn, np.int64).reshape(*weights.shape[:-1], num_samples))


def exponential_(input, lambd=1.0, *, generator=None):
    """Overwrite the tensor with random waiting times, 1 / lambd long on average."""
    if input.array.dtype.kind != "f":
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {input.dtype.title}"
        )
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    (draw, source), like = creation.source_of(generator), memory_of(input)
    return rows.uniform_(input, draw.in_memory_order(draw.waiting_times(source, like.size) / lambd, like))


# --- torch.linalg ------------------------------------------------------------------------------------------


def matrix_power(A, n):
    """A matrix multiplied by itself n times; its inverse for n below 0."""
    if n == 0:
        return creation.eye(A.array.shape[-1], dtype=A.dtype).expand(*A.array.shape).clone()
    if n == -1:
        return rows.inv(A)
    if n < 0:
        A, n = rows.inv(A), -n
    if n == 1:
        return A.clone()
    if n == 2:
        return composites.matmul(A, A)
    if n == 3:
        return composites.matmul(composites.matmul(A, A), A)
    result = square = None
    while n:
        square = A if square is None else composites.matmul(square, square)
        n, odd = divmod(n, 2)
        if odd:
            result = square if result is None else composites.matmul(result, square)
    return result


def slogdet(A):
    """(the sign of the determinant, the logarithm of its magnitude)."""
    magnitude, sign = rows.slogdet(A)
    return _SignAndMagnitude((sign, magnitude))


class _SignAndMagnitude(tuple):
    """(sign, logabsdet), as slogdet returns them."""

    __slots__ = ()
    sign = property(lambda both: both[0])
    logabsdet = property(lambda both: both[1])

    def __repr__(self):
        return f"torch.return_types.linalg_slogdet(\nsign={self[0]!r},\nlogabsdet={self[1]!r})"


def logdet(A):
    """The logarithm of the determinant; NaN for a negative one."""
    sign, magnitude = slogdet(A)
    return composites.where(without_gradient(np.asarray(sign.array) == -1), math.nan, magnitude)


def vecdot(x, y, *, dim=-1):
    """The inner products of vectors along a dimension."""
    if x.array.dtype.kind != "f":
        raise RuntimeError(
            f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {x.dtype.title}"
        )
    return vdot(x, y) if x.array.ndim == y.array.ndim == 1 else composites.sum(x * y, dim)


