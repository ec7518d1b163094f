"""Functions that everybody expects and that are made of others in a line or two. Loaded when first asked for.

PyTorch: aten/src/ATen/native (TensorShape.cpp, TensorTransformations.cpp, Distributions.cpp, Unique.cpp).
"""

import math

import numpy as np

from course_lib import dtypes
from course_lib.grad_mode import state
from course_lib.graph import Node, init_node
from course_lib.native import composites, creation, kernels
from course_lib.native.arguments import broadcast_error, operands
from course_lib.native.building import ON_TENSORS, on_arrays_function, on_tensors_function, rows
from course_lib.native.composites import without_gradient
from course_lib.native.indexing import cat, dimension
from course_lib.native.memory import Storage, check_cast, check_room
from course_lib.native.messages import warn_once
from course_lib.ops import instrument
from course_lib.saved import FREED, SavedOutput, SavedVariable, add_slot_properties
from course_lib.tensor import Tensor, memory_of, meta_of, new_tensor
from course_lib.views import gradient_edge, requires_grad

# --- element by element ------------------------------------------------------------------------------------

clip, clip_ = composites.clamp, composites.clamp_
multiply, subtract, divide, true_divide = composites.mul, composites.sub, composites.div, composites.div
arcsin, arccos, arctan, absolute, negative = rows.asin, rows.acos, rows.atan, rows.abs, rows.neg


def clamp_min(input, min):
    """input, or min where that is larger."""
    return rows.clamp_min_tensor(input, min) if isinstance(min, Tensor) else rows.clamp_min(input, min)


def clamp_min_(input, min):
    """The same in the tensor's own memory."""
    return rows.clamp_min_tensor_(input, min) if isinstance(min, Tensor) else rows.clamp_min_(input, min)


def clamp_max(input, max):
    """input, or max where that is smaller."""
    return rows.clamp_max_tensor(input, max) if isinstance(max, Tensor) else rows.clamp_max(input, max)


def clamp_max_(input, max):
    """The same in the tensor's own memory."""
    return rows.clamp_max_tensor_(input, max) if isinstance(max, Tensor) else rows.clamp_max_(input, max)


def square_(input):
    """The tensor's own memory squared."""
    return composites.pow_(input, 2)


def round(input, *, decimals=None):
    """The nearest whole number, of two equally near ones the even; or so many decimals kept."""
    return rows.round(input) if decimals is None else rows.round_decimals(input, decimals)


def round_(input, *, decimals=None):
    """The tensor's own memory rounded."""
    return rows.round_(input) if decimals is None else rows.round_decimals_(input, decimals)


def cumsum_(input, dim, *, dtype=None):
    """Running sums in the tensor's own memory."""
    return rows.cumsum_(input, dimension(input, dim))


def cumprod_(input, dim, *, dtype=None):
    """Running products in the tensor's own memory."""
    return rows.cumprod_(input, dimension(input, dim))


def addmm_(input, mat1, mat2, *, beta=1, alpha=1):
    """beta * input + alpha * (mat1 @ mat2) in the tensor's own memory."""
    composites.check_matrices("mat1", "mat2", mat1, mat2)
    return rows.addmm_scaled_(input, mat1, mat2, beta, alpha)


def _over(function):
    """The variant of a function without gradient that overwrites its first operand, in that one's type."""

    def operation_(input, *others):
        return rows.copy_(input, function(input, *others).detach())

    operation_.__name__ = function.__name__ + "_"
    operation_.__doc__ = f"{function.__name__}, written into the tensor's own memory."
    return operation_


def _bits_over(function):
    """A bit operation that writes its result into the first operand, if that can hold it."""

    def checked(input, other):
        kinds = [input.array.dtype, other.array.dtype if isinstance(other, Tensor) else dtypes.of_number(other)]
        check_cast(max(kinds, key=dtypes.KIND.get), kinds[0])
        return function(input, other)

    checked.__name__, checked.__doc__ = function.__name__, function.__doc__
    return _over(checked)


eq_, ne_, lt_ = _over(composites.eq), _over(composites.ne), _over(composites.lt)
le_, gt_, ge_ = _over(composites.le), _over(composites.gt), _over(composites.ge)
bitwise_and_, bitwise_or_ = _bits_over(composites.bitwise_and), _bits_over(composites.bitwise_or)
bitwise_xor_, logical_not_ = _bits_over(composites.bitwise_xor), _over(composites.logical_not)
bitwise_left_shift_ = _bits_over(composites.bitwise_left_shift)
bitwise_right_shift_ = _bits_over(composites.bitwise_right_shift)
true_divide_ = composites.div_


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
logical_and_, logical_or_, logical_xor_ = _over(logical_and), _over(logical_or), _over(logical_xor)


def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """True where two tensors agree within atol + rtol * |other|."""
    if input.array.dtype != other.array.dtype:
        raise RuntimeError(f"{input.dtype.title} did not match {other.dtype.title}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if tolerance < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance:g}")
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
    if not size:
        return rows.sum_all(input)
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
    source, destination = ([d] if isinstance(d, int) else list(d) for d in (source, destination))
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({source} dims) should contain the same number of "
            f"dims as destination ({destination} dims)"
        )
    sources, targets = ([dimension(input, d) for d in dims] for dims in (source, destination))
    for name, dims, named in (("source", sources, source), ("destination", targets, destination)):
        if len(set(dims)) < len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({named})")
    if not input.array.ndim:
        return rows.alias(input)
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
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if not n:
        return rows.copy_(creation.zeros_like(input), input)
    if prepend is not None or append is not None:
        input = cat([part for part in (prepend, input, append) if part is not None], dim)
    length = input.array.shape[dim]
    for left in range(length - 1, max(length - n, 0) - 1, -1):
        parts = composites.narrow(input, dim, 1, left), composites.narrow(input, dim, 0, left)
        input = logical_xor(*parts) if input.array.dtype.kind == "b" else parts[0] - parts[1]
    return input


def check_any_tensors(name, tensors):
    """RuntimeError for a list of no tensors."""
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")


def vstack(tensors):
    """Tensors joined as rows."""
    check_any_tensors("vstack", tensors)
    tensors = [composites.view(t, (1, 1)) if t.array.ndim == 0 else t for t in tensors]
    return cat([rows.unsqueeze(t, 0) if t.array.ndim == 1 else t for t in tensors], 0)


def hstack(tensors):
    """Tensors joined along their second dimension; vectors along their only one."""
    check_any_tensors("hstack", tensors)
    tensors = [composites.reshape(t, 1) if t.array.ndim == 0 else t for t in tensors]
    return cat(tensors, 0 if tensors[0].array.ndim == 1 else 1)


def column_stack(tensors):
    """Vectors as the columns of a matrix."""
    return cat([composites.reshape(t, (-1, 1)) if t.array.ndim < 2 else t for t in tensors], 1)


def meshgrid(*tensors, indexing=None):
    """For vectors of coordinates, a grid of each coordinate."""
    if indexing is None:
        warn_once(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", stacklevel=2
        )
    if len(tensors) == 1 and not isinstance(tensors[0], Tensor):
        tensors = tensors[0]
    if indexing == "xy":
        grids = meshgrid(*tensors[1::-1], *tensors[2:], indexing="ij")
        return (*grids[1::-1], *grids[2:])
    shape = tuple(t.array.size for t in tensors)
    lined = [
        composites.reshape(t, (*(1,) * d, -1, *(1,) * (len(shape) - d - 1))) for d, t in enumerate(tensors)
    ]
    return tuple(composites.expand(t, shape) for t in lined)


# --- reductions and searches -------------------------------------------------------------------------------


class SpreadAndMean(Node):
    """The history of var_mean and std_mean: two results of one input, with a gradient each."""

    __slots__ = ("kept_self", "kept_result0", "kept_dim", "kept_correction", "kept_keepdim")
    saved_names = ("correction", "dim", "keepdim", "self", "result0")
    saved_tensor_names = ("self", "result0")
    several_outputs, output_count, takes_root = True, 2, False

    def apply(self, grads):
        return (self.gradient(grads, on_arrays_function, self.kept_self.unpack(self).array),)

    def apply_to_tensors(self, grads):
        return (self.gradient(grads, on_tensors_function, self.kept_self.unpack(self)),)

    def gradient(self, grads, function, x):
        """The sum of what both results pass back; a result that nobody used passes nothing."""
        dim, keepdim, parts = self.kept_dim, self.kept_keepdim, []
        if grads[0] is not None:
            result = self.kept_result0.unpack(self) if self.takes_root else x
            result = (result if isinstance(x, Tensor) else getattr(result, "array", result),) * self.takes_root
            slope = function("std_grad" if self.takes_root else "var_grad")
            parts.append(slope(grads[0], x, *result, dim, self.kept_correction, keepdim))
        if grads[1] is not None:
            share = function("restore_dim")(grads[1] / kernels.numel(x.shape, dim), x.shape, dim, keepdim)
            parts.append(function("expand")(share, tuple(x.shape)))
        return parts[0] + parts[1] if len(parts) > 1 else parts[0]

    def release(self):
        self.kept_self = FREED
        self.kept_result0 = self.kept_result0 and FREED


VarMeanBackward0 = add_slot_properties(type("VarMeanBackward0", (SpreadAndMean,), {"__slots__": ()}))
StdMeanBackward0 = add_slot_properties(
    type("StdMeanBackward0", (SpreadAndMean,), {"__slots__": (), "takes_root": True})
)


def spread_and_mean(kind, spread, input, dim, unbiased, keepdim, correction):
    """(variance or standard deviation, mean), with one node for both."""
    dim, unbiased = (None, dim) if isinstance(dim, bool) else (dim, unbiased)
    correction = (1 if correction is None else correction) if unbiased else 0
    if input.array.dtype.kind != "f":
        raise RuntimeError(f"{spread.__name__}_mean only support floating point and complex dtypes")
    source = input.detach()
    results = spread(source, dim, True, keepdim, correction=correction), composites.mean(source, dim, keepdim)
    edge = gradient_edge(input) if state.recording > 0 else None
    if edge is not None:
        node = init_node(kind(), (edge,))
        for number, part in enumerate(results):
            part.node = node
            meta_of(part).output_nr, part.meta.edge_to_output = number, True
        node.kept_self = SavedVariable.of(input)
        node.kept_result0 = SavedOutput.of(results[0]) if kind.takes_root else None
        node.kept_dim, node.kept_correction, node.kept_keepdim = composites.dims_of(input, dim), correction, keepdim
        if state.recording == 2:
            instrument(node, results[0])
    return results


@composites.numpy_names
def var_mean(input, dim=None, unbiased=True, keepdim=False, *, correction=1):
    """(variance, mean) over dimensions."""
    return spread_and_mean(VarMeanBackward0, composites.var, input, dim, unbiased, keepdim, correction)


@composites.numpy_names
def std_mean(input, dim=None, unbiased=True, keepdim=False, *, correction=1):
    """(standard deviation, mean) over dimensions."""
    return spread_and_mean(StdMeanBackward0, composites.std, input, dim, unbiased, keepdim, correction)


def nonzero(input, *, as_tuple=False):
    """The places of the elements that are not zero: one row a place, or one tensor a dimension."""
    if as_tuple:
        return composites.unbind(nonzero(input if input.array.ndim else rows.unsqueeze(input, 0)), 1)
    found = np.nonzero(np.atleast_1d(input.array))
    found = found[: input.array.ndim]
    lines = np.stack(found) if found else np.zeros((0, int(bool(input.array))), np.int64)
    return without_gradient(np.array(lines.T, order="F"))  # by columns, as in PyTorch


def count_nonzero(input, dim=None):
    """How many elements are not zero."""
    return composites.sum(without_gradient(input.array != 0), dim)


class Unique2Backward0(Node):
    """The node of unique, which says in its own words that it has no derivative."""

    __slots__ = ()
    operation = "_unique2"

    def apply(self, grad):
        raise NotImplementedError(f"the derivative for '{self.operation}' is not implemented.")


class UniqueDimBackward0(Unique2Backward0):
    """The same for slices."""

    __slots__ = ()
    operation = "unique_dim"


class UniqueConsecutiveBackward0(Unique2Backward0):
    """The same for neighbours."""

    __slots__ = ()
    operation = "unique_consecutive"


def recorded(self, result, node=Unique2Backward0):
    """The result, whose node says that there is no derivative."""
    if state.recording > 0 and requires_grad(self):
        result.node = init_node(node(), (gradient_edge(self),))
    return result


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements in order, and on request where each element is among them and how often it occurs."""
    axis = None if dim is None else dimension(input, dim)
    values, _, inverse, counts = np.unique(input.array, True, True, True, axis, equal_nan=False)
    answer = [recorded(input, without_gradient(values), Unique2Backward0 if dim is None else UniqueDimBackward0)]
    shape = input.array.shape if dim is None else (-1,)
    answer += [without_gradient(inverse.reshape(shape))] if return_inverse else []
    answer += [without_gradient(counts)] if return_counts else []
    return answer[0] if len(answer) == 1 else tuple(answer)


# --- random ------------------------------------------------------------------------------------------------


def uniform_(input, a=0.0, b=1.0, *, generator=None, **names):
    """Overwrite the tensor with random numbers spread evenly over [a, b)."""
    low, high = names.get("from", a), names.get("to", b)
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    kernels.floats(input.array, "check_uniform_bounds")
    return rows.uniform_(input, low + (high - low) * creation.numbers(generator).random(input.array.shape))


def normal_(input, mean=0.0, std=1.0, *, generator=None):
    """Overwrite the tensor with normal random numbers."""
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    kernels.floats(input.array, "normal_kernel_cpu")
    return rows.normal_(input, mean + std * creation.numbers(generator).standard_normal(input.array.shape))


def random_(input, *bounds, generator=None):
    """Overwrite the tensor with whole numbers from a up to but without b: random_(a, b), random_(b), or anything."""
    largest = {"f": 2 ** (24 if input.array.dtype.itemsize == 4 else 53), "i": 2**63 - 1, "b": 1}
    low, high = bounds if len(bounds) == 2 else (0, bounds[0] if bounds else largest[input.array.dtype.kind] + 1)
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return rows.random_(input, creation.numbers(generator).integers(low, high - 1, input.array.shape, endpoint=True))


def bernoulli_(input, p=0.5, *, generator=None):
    """Overwrite the tensor with ones, with probability p (a number, or one for each element), and zeros."""
    chance = p.array if isinstance(p, Tensor) else p
    if not isinstance(p, Tensor) and not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return rows.bernoulli_draw_(input, creation.numbers(generator).random(input.array.shape) < chance)


def normal(mean, std=1.0, size=None, *, generator=None, dtype=None, device=None, requires_grad=False):
    """Normal random numbers with the given mean and standard deviation."""
    if isinstance(std, Tensor):
        if (std.array < 0).any():
            raise RuntimeError("normal expects all elements of std >= 0.0")
    elif std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if size is not None:
        drawn = mean + std * creation.numbers(generator).standard_normal(creation.sizes_from((size,)))
        kind = creation.floating("normal_kernel_cpu", dtype)
        return creation.finish(np.asarray(drawn).astype(kind), dtype, requires_grad, device)
    shape = np.broadcast_shapes(np.shape(getattr(mean, "array", mean)), np.shape(getattr(std, "array", std)))
    noise = normal_(new_tensor(np.zeros(shape, dtypes.F32)), generator=generator)
    return (noise * std + mean).detach()


def bernoulli(input, p=None, *, generator=None):
    """1 with the probability that each element gives (or, with p, each with that one), else 0."""
    if p is not None:
        result = bernoulli_(creation.empty_like(input), p, generator=generator)
        edge = gradient_edge(input) if state.recording > 0 else None
        if edge is not None:
            result.node = ON_TENSORS["without_derivative"]("aten::bernoulli", (edge,))
        return result
    kernels.floats(input.array, "bernoulli_tensor_cpu_p_")
    if not ((input.array >= 0) & (input.array <= 1)).all():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false: each is a probability.")
    return rows.bernoulli(input, creation.numbers(generator).random(input.array.shape) < input.array)


def randint_like(input, low, high=None, *, generator=None, dtype=None, device=None, requires_grad=False):
    """Random integers from low up to but without high, in the shape and type of `input`."""
    low, high = (0, low) if high is None else (low, high)
    return creation.randint(
        low, high, input.array.shape, generator=generator, dtype=dtype or input.dtype, device=device,
        requires_grad=requires_grad,
    )


# --- new tensors in an old one's type ----------------------------------------------------------------------


def new_full(input, size, fill_value, *, dtype=None, device=None, requires_grad=False):
    """One value in another shape and this tensor's type."""
    return creation.full(size, fill_value, dtype=dtype or input.dtype, device=device, requires_grad=requires_grad)


def new_empty(input, *size, dtype=None, device=None, requires_grad=False):
    """Memory in another shape and this tensor's type, holding zeros."""
    return creation.empty(*size, dtype=dtype or input.dtype, device=device, requires_grad=requires_grad)


def broadcast_tensors(*tensors):
    """All tensors seen in the one shape they broadcast to."""
    try:
        shape = np.broadcast_shapes(*(t.array.shape for t in tensors))
    except ValueError:
        raise broadcast_error(*tensors) from None
    return tuple(t if t.array.shape == shape else composites.expand(t, shape) for t in tensors)
