"""Functions that everybody expects and that are made of others in a line or two. Loaded when first asked for.

PyTorch: aten/src/ATen/native (TensorShape.cpp, TensorTransformations.cpp, Distributions.cpp, Unique.cpp).
"""

import math

import numpy as np

from course_lib import dtypes, errors
from course_lib.grad_mode import state
from course_lib.graph import Node, init_node
from course_lib.native import composites, creation, kernels
from course_lib.native.arguments import broadcast_error, operands
from course_lib.native.building import rows
from course_lib.native.composites import without_gradient
from course_lib.native.indexing import cat, dimension
from course_lib.native.memory import Storage, check_room
from course_lib.tensor import Tensor, memory_of, new_tensor
from course_lib.views import gradient_edge, requires_grad

# --- element by element ------------------------------------------------------------------------------------

clip, clip_ = composites.clamp, composites.clamp_
multiply, subtract, divide, true_divide = composites.mul, composites.sub, composites.div, composites.div
arcsin, arccos, arctan, absolute, negative = rows.asin, rows.acos, rows.atan, rows.abs, rows.neg


def clamp_min(input, min):
    """input, or min where that is larger."""
    return rows.clamp_min_tensor(input, min) if isinstance(min, Tensor) else rows.clamp_min(input, min)


def clamp_max(input, max):
    """input, or max where that is smaller."""
    return rows.clamp_max_tensor(input, max) if isinstance(max, Tensor) else rows.clamp_max(input, max)


def square_(input):
    """The tensor's own memory squared."""
    return rows.pow_number_(input, 2)


def floor_divide(input, other):
    """input / other, rounded down."""
    return input // other


def _logical(name, function):
    def operation(input, other):
        a, b = operands(name, input, other)
        kernels.sizes_of_both(a.array, b.array)
        return without_gradient(function(a.array, b.array))

    operation.__name__ = name
    operation.__doc__ = f"Element by element {name.removeprefix('logical_')}, where all but zero counts as true."
    return operation


logical_and, logical_or = _logical("logical_and", np.logical_and), _logical("logical_or", np.logical_or)
logical_xor = _logical("logical_xor", np.logical_xor)


def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """True where two tensors agree within atol + rtol * |other|."""
    if input.array.dtype != other.array.dtype:
        raise RuntimeError(f"{input.dtype.title} did not match {other.dtype.title}")
    kernels.sizes_of_both(input.array, other.array)
    return without_gradient(np.isclose(input.array, other.array, rtol, atol, equal_nan))


# --- shapes ------------------------------------------------------------------------------------------------


def as_strided(input, size, stride, storage_offset=None):
    """A view of the tensor's storage with a shape, steps and a beginning of one's own choice."""
    size, stride = creation.sizes_from((size,)), creation.sizes_from((stride,))
    offset = input.storage_offset() if storage_offset is None else storage_offset
    check_strides(input, size, stride, offset)
    return rows.as_strided(input, size, stride, offset, offset - input.storage_offset())


def check_strides(input, size, stride, offset):
    """RuntimeError for steps that are no steps, or lead out of the storage."""
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(step < 0 for step in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    check_room(size, stride, offset, input.array.itemsize, Storage(memory_of(input)).nbytes())


def unfold(input, dimension_, size, step):
    """A view of all windows of a dimension: `size` long, `step` apart; they become the last dimension."""
    dim = dimension(input, dimension_)
    length = input.array.shape[dim] if input.array.ndim else 1
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {length} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    windows = rows.unfold(input if input.array.ndim else composites.unsqueeze(input, 0), dim, size, step)
    return windows if input.array.ndim else windows[0]


def sum_to_size(input, *size):
    """The tensor summed over the dimensions along which `size` would be expanded to its shape."""
    size = creation.sizes_from(size)
    shape = input.array.shape
    lead = len(shape) - len(size)
    if lead < 0 or any(n not in (1, m) for n, m in zip(size, shape[lead:], strict=True)):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(shape)}}}.")
    extra = (*range(lead), *(lead + d for d, n in enumerate(size) if n == 1 and shape[lead + d] != 1))
    if not extra:
        return input
    summed = composites.sum(input, extra, True)
    return composites.view(summed, size) if lead else summed


def unflatten(input, dim, sizes):
    """One dimension seen as several."""
    dim, shape, sizes = dimension(input, dim), input.array.shape, creation.sizes_from((sizes,))
    known = math.prod(n for n in sizes if n != -1)
    if known and -1 in sizes and shape[dim] % known == 0:
        sizes = tuple(shape[dim] // known if n == -1 else n for n in sizes)
    if math.prod(sizes) != shape[dim]:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({shape[dim]}) in the "
            "input tensor"
        )
    return composites.view(input, (*shape[:dim], *sizes, *shape[dim + 1 :]))


def movedim(input, source, destination):
    """Dimensions moved to other places; the rest keep their order."""
    if not input.array.ndim:
        dimension(input, source), dimension(input, destination)
        return rows.alias(input)
    sources = [dimension(input, d) for d in ([source] if isinstance(source, int) else source)]
    targets = [dimension(input, d) for d in ([destination] if isinstance(destination, int) else destination)]
    rest = iter([d for d in range(input.array.ndim) if d not in sources])
    place = dict(zip(targets, sources, strict=True))
    return composites.permute(input, [place[d] if d in place else next(rest) for d in range(input.array.ndim)])


moveaxis, swapaxes, swapdims = movedim, composites.transpose, composites.transpose


def broadcast_to(input, *size):
    """The tensor seen in a larger shape."""
    return composites.expand(input, *size)


def tile(input, *dims):
    """Copies side by side; missing dimensions in front are 1."""
    dims = creation.sizes_from(dims)
    return composites.repeat(input, (1,) * (input.array.ndim - len(dims)) + dims)


def diff(input, n=1, dim=-1, prepend=None, append=None):
    """Each element less the one before it along a dimension, n times."""
    if not input.array.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    dim = dimension(input, dim)
    if prepend is not None or append is not None:
        input = cat([part for part in (prepend, input, append) if part is not None], dim)
    length = input.array.shape[dim]
    if not n:
        return rows.copy_(creation.zeros_like(input), input)
    for left in range(length - 1, max(length - n, 0) - 1, -1):
        parts = composites.narrow(input, dim, 1, left), composites.narrow(input, dim, 0, left)
        input = logical_xor(*parts) if input.array.dtype.kind == "b" else parts[0] - parts[1]
    return input


def vstack(tensors):
    """Tensors joined as rows."""
    tensors = [composites.view(t, (1, 1)) if t.array.ndim == 0 else t for t in tensors]
    return cat([rows.unsqueeze(t, 0) if t.array.ndim == 1 else t for t in tensors], 0)


def hstack(tensors):
    """Tensors joined along their second dimension; vectors along their only one."""
    tensors = [composites.reshape(t, 1) if t.array.ndim == 0 else t for t in tensors]
    return cat(tensors, 0 if tensors[0].array.ndim == 1 else 1)


def column_stack(tensors):
    """Vectors as the columns of a matrix."""
    return cat([composites.reshape(t, (-1, 1)) if t.array.ndim < 2 else t for t in tensors], 1)


def meshgrid(*tensors, indexing="ij"):
    """For vectors of coordinates, a grid of each coordinate."""
    if len(tensors) == 1 and not isinstance(tensors[0], Tensor):
        tensors = tensors[0]
    if indexing == "xy":
        grids = meshgrid(*tensors[1::-1], *tensors[2:])
        return tuple(composites.transpose(g, 0, 1) for g in (*grids[1::-1], *grids[2:]))
    shape = tuple(t.array.size for t in tensors)
    lined = [
        composites.reshape(t, (*(1,) * d, -1, *(1,) * (len(shape) - d - 1))) for d, t in enumerate(tensors)
    ]
    return tuple(composites.expand(t, shape) for t in lined)


# --- reductions and searches -------------------------------------------------------------------------------


def var_mean(input, dim=None, *, correction=1, keepdim=False):
    """(variance, mean) over dimensions."""
    return composites.var(input, dim, keepdim=keepdim, correction=correction), composites.mean(input, dim, keepdim)


def std_mean(input, dim=None, *, correction=1, keepdim=False):
    """(standard deviation, mean) over dimensions."""
    return composites.std(input, dim, keepdim=keepdim, correction=correction), composites.mean(input, dim, keepdim)


def nonzero(input, *, as_tuple=False):
    """The places of the elements that are not zero: one row a place, or one tensor a dimension."""
    found = np.nonzero(np.atleast_1d(input.array))
    if as_tuple:
        return tuple(without_gradient(places) for places in found)
    found = found[: input.array.ndim]
    lines = np.stack(found) if found else np.zeros((0, int(bool(input.array))), np.int64)
    return without_gradient(np.array(lines.T, order="F"))  # by columns, as in PyTorch


def count_nonzero(input, dim=None):
    """How many elements are not zero."""
    return composites.sum(without_gradient(input.array != 0), dim)


class Unique2Backward0(Node):
    """The node of unique, which says in its own words that it has no derivative."""

    __slots__ = ()

    def apply(self, grad):
        raise NotImplementedError("the derivative for '_unique2' is not implemented.")


def different(self):
    """The different elements in order, each NaN as one of its own."""
    result = without_gradient(np.unique(self.array, equal_nan=False))
    if state.recording > 0 and requires_grad(self):
        result.node = init_node(Unique2Backward0(), (gradient_edge(self),))
    return result


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements in order, and on request where each element is among them and how often it occurs."""
    if dim is not None:
        raise errors.not_supported("unique with a dim", "Use unique without dim.")
    _, _, inverse, counts = np.unique(input.array, True, True, True, equal_nan=False)
    answer = [different(input), *([without_gradient(inverse.reshape(input.array.shape))] if return_inverse else [])]
    answer += [without_gradient(counts)] if return_counts else []
    return answer[0] if len(answer) == 1 else tuple(answer)


# --- random ------------------------------------------------------------------------------------------------


def uniform_(input, a=0.0, b=1.0, **names):
    """Overwrite the tensor with random numbers spread evenly over [a, b)."""
    low, high = names.get("from", a), names.get("to", b)
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    kernels.floats(input.array, "check_uniform_bounds")
    return rows.uniform_(input, low + (high - low) * creation.generator().random(input.array.shape))


def normal_(input, mean=0.0, std=1.0):
    """Overwrite the tensor with normal random numbers."""
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    kernels.floats(input.array, "normal_kernel_cpu")
    return rows.normal_(input, mean + std * creation.generator().standard_normal(input.array.shape))


def random_(input, *bounds):
    """Overwrite the tensor with whole numbers from a up to but without b: random_(a, b), random_(b), or anything."""
    largest = {"f": 2 ** (24 if input.array.dtype.itemsize == 4 else 53), "i": 2**63 - 1, "b": 1}
    low, high = bounds if len(bounds) == 2 else (0, bounds[0] if bounds else largest[input.array.dtype.kind] + 1)
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return rows.random_(input, creation.generator().integers(low, high - 1, input.array.shape, endpoint=True))


def bernoulli_(input, p=0.5):
    """Overwrite the tensor with ones, with probability p (a number, or one for each element), and zeros."""
    chance = p.array if isinstance(p, Tensor) else p
    if not isinstance(p, Tensor) and not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return rows.bernoulli_draw_(input, creation.generator().random(input.array.shape) < chance)


def normal(mean, std=1.0, size=None):
    """Normal random numbers with the given mean and standard deviation."""
    shape = np.broadcast_shapes(np.shape(getattr(mean, "array", mean)), np.shape(getattr(std, "array", std)))
    noise = normal_(new_tensor(np.zeros(shape if size is None else creation.sizes_from((size,)), dtypes.F32)))
    return (noise * std + mean).detach()


def bernoulli(input):
    """1 with the probability that each element gives, else 0."""
    return rows.bernoulli(input, creation.generator().random(input.array.shape) < input.array)


def randint_like(input, low, high=None):
    """Random integers from low up to but without high, in the shape and type of `input`."""
    low, high = (0, low) if high is None else (low, high)
    return creation.randint(low, high, input.array.shape, dtype=input.dtype)


# --- new tensors in an old one's type ----------------------------------------------------------------------


def new_full(input, size, fill_value, *, dtype=None, requires_grad=False):
    """One value in another shape and this tensor's type."""
    return creation.full(size, fill_value, dtype=dtype or input.dtype, requires_grad=requires_grad)


def new_empty(input, *size, dtype=None, requires_grad=False):
    """Memory in another shape and this tensor's type, holding zeros."""
    return creation.empty(*size, dtype=dtype or input.dtype, requires_grad=requires_grad)


def broadcast_tensors(*tensors):
    """All tensors seen in the one shape they broadcast to."""
    try:
        shape = np.broadcast_shapes(*(t.array.shape for t in tensors))
    except ValueError:
        raise broadcast_error(*tensors) from None
    return [t if t.array.shape == shape else composites.expand(t, shape) for t in tensors]
