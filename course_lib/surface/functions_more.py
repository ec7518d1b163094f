"""Functions that everybody expects and that are made of others in a line or two. Loaded when first asked for.

PyTorch: aten/src/ATen/native (TensorShape.cpp, TensorTransformations.cpp, Distributions.cpp, Unique.cpp).
"""

import math

import numpy as np

from course_lib.arrays import dtypes, kernels
from course_lib.arrays.memory import Storage, check_cast, check_overlap, check_room
from course_lib.arrays.messages import warn_once
from course_lib.engine import errors
from course_lib.engine.arguments import number_of, operands, promote, tensor_of_number, type_name, whole_number
from course_lib.engine.build import on_arrays_function, on_tensors_function, rows
from course_lib.engine.grad_mode import state
from course_lib.engine.graph import LEAVES_FIRST, Node, init_node, public_edge
from course_lib.engine.ops import instrument
from course_lib.engine.saved import FREED, SavedOutput, SavedVariable, add_slot_properties
from course_lib.engine.tensor import Tensor, counter_of, memory_of, meta_of, new_tensor
from course_lib.engine.views import gradient_edge, make_view, requires_grad
from course_lib.surface import creation
from course_lib.surface import functions as composites
from course_lib.surface.functions import without_gradient
from course_lib.surface.indexing import dimension
from course_lib.surface.joining import cat


class NoDerivative(Node):
    """The node of an operation that has no derivative, in PyTorch either: to reach it in backward is an error."""

    __slots__ = ("operation",)
    runs_without_gradient = True  # the error comes whatever arrives

    def name(self):
        return "torch::autograd::NotImplemented"

    def apply(self, grad):
        raise RuntimeError(f"derivative for {self.operation} is not implemented")


NoDerivative.__name__ = "NotImplemented"


def without_derivative(operation, edges):
    """A NoDerivative node."""
    node = init_node(NoDerivative(), edges)
    node.operation = operation
    node.sequence_nr += LEAVES_FIRST  # it runs as soon as it is reached
    if state.anomaly:
        from course_lib.engine.tracebacks import note_node  # few programs need that file

        note_node(node, None)
    return node


# --- element by element ------------------------------------------------------------------------------------

clip, true_divide = composites.clamp, composites.div


def clamp_min(input, min):
    """input, or min where that is larger."""
    return rows.clamp_min_tensor(input, min) if isinstance(min, Tensor) else rows.clamp_min(input, min)


def clamp_min_(input, min):
    """The same in the tensor's own memory."""
    return rows.clamp_min_tensor_(input, min) if isinstance(min, Tensor) else rows.clamp_min_(input, min)


def clamp_max(input, max):
    """input, or max where that is smaller."""
    return rows.clamp_max_tensor(input, max) if isinstance(max, Tensor) else rows.clamp_max(input, max)


def round(input, *, decimals=None):
    """The nearest whole number, of two equally near ones the even; or so many decimals kept."""
    return rows.round(input) if decimals is None else rows.round_decimals(input, decimals)


def round_(input, *, decimals=None):
    """The tensor's own memory rounded."""
    return rows.round_(input) if decimals is None else rows.round_decimals_(input, decimals)


def _over(function):
    """The variant of a function without gradient that overwrites its first operand, in that one's type."""

    def operation_(input, other):
        if isinstance(other, Tensor):
            check_overlap(input, (other,))
        return rows.copy_(input, function(input, other).detach())

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


def remainder(input, other):
    """What is left of input after rounding input / other down."""
    if not isinstance(input, Tensor):
        return other.__rmod__(input)
    if isinstance(other, Tensor) or input.is_inference():  # there a number is a tensor, too
        return rows.remainder(input, other)
    if type(other) is not int:
        other = composites.plain_number("%", other)
        if isinstance(other, float) and input.array.dtype.kind != "f":
            input = input.to(dtypes.default)
    return rows.remainder_number(input, other)


def remainder_(input, other):
    """The remainder in the tensor's own memory."""
    if isinstance(other, float) and input.array.dtype.kind != "f":
        check_cast(dtypes.F32, input.array.dtype)
    return rows.remainder_(input, other) if isinstance(other, Tensor) else rows.remainder_number_(input, other)


def bitwise(name, function):
    """A bit operation; on bool tensors the logical one."""

    def operation(input, other):
        a, b = operands(name, input, other)
        x, y = promote(a, b)
        kernels.sizes_of_both(x, y)
        if x.dtype.kind == "f":
            raise NotImplementedError(f'"{name}_cpu" not implemented for \'{dtypes.of_array(x).title}\'')
        if name in ("lshift", "rshift"):
            kernels.truth_refused(x, f"\"{name}_cpu\" not implemented for 'Bool'", NotImplementedError)
        return without_gradient(function(x, y))

    operation.__name__ = name
    operation.__doc__ = f"Element by element: {function.__name__.replace('_', ' ')}."
    return operation


bitwise_and, bitwise_or = bitwise("bitwise_and", np.bitwise_and), bitwise("bitwise_or", np.bitwise_or)
bitwise_xor = bitwise("bitwise_xor", np.bitwise_xor)
bitwise_left_shift, bitwise_right_shift = bitwise("lshift", np.left_shift), bitwise("rshift", np.right_shift)

bitwise_and_, bitwise_or_ = _bits_over(bitwise_and), _bits_over(bitwise_or)
bitwise_xor_ = _bits_over(bitwise_xor)
bitwise_left_shift_ = _bits_over(bitwise_left_shift)
bitwise_right_shift_ = _bits_over(bitwise_right_shift)


def floor_divide(input, other):
    """input / other, rounded down."""
    if not (isinstance(input, Tensor) or isinstance(other, Tensor)):
        input = tensor_of_number(input)
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


def check_close(input, other, **tolerances):
    """RuntimeError for tensors of different types or shapes that do not fit, and for tolerances below 0."""
    if input.array.dtype != other.array.dtype:
        raise RuntimeError(f"{input.dtype.title} did not match {other.dtype.title}")
    for name, tolerance in tolerances.items():
        if not tolerance >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance:g}")
    kernels.sizes_of_both(input.array, other.array)


def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """True where two tensors agree within atol + rtol * |other|."""
    check_close(input, other, rtol=rtol, atol=atol)
    return without_gradient(np.isclose(input.array, other.array, rtol, atol, equal_nan))


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """True when all elements agree within atol + rtol * |other|."""
    check_close(input, other, rtol=rtol, atol=atol)
    return bool(np.allclose(input.array, other.array, rtol, atol, equal_nan))


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
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
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


swapaxes = composites.transpose


def tile(input, *dims):
    """Copies side by side; missing dimensions in front are 1."""
    dims = creation.sizes_from(dims)
    return repeat(input, (1,) * (input.array.ndim - len(dims)) + dims)


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


def meshgrid(*tensors, indexing=None):
    """For vectors of coordinates, a grid of each coordinate."""
    if indexing is None:
        warn_once(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", stacklevel=2
        )
    if len(tensors) == 1 and not isinstance(tensors[0], Tensor):
        tensors = tensors[0]
    check_any_tensors("meshgrid", tensors)
    for tensor in tensors:
        if tensor.array.ndim > 1:
            got = tensor.tolist()
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {got}")
    if indexing not in (None, "xy", "ij"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    if indexing == "xy":
        grids = meshgrid(*tensors[1::-1], *tensors[2:], indexing="ij")
        return (*grids[1::-1], *grids[2:])
    shape = tuple(t.array.size for t in tensors)
    lined = [
        composites.reshape(t, (*(1,) * d, -1, *(1,) * (len(shape) - d - 1))) for d, t in enumerate(tensors)
    ]
    return tuple(composites.expand(t, shape) for t in lined)


def narrow(input, dim, start, length):
    """A stretch of a dimension, as a view."""
    if input.array.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    dim = dimension(input, dim)
    size = input.array.shape[dim]
    if isinstance(start, Tensor):
        if start.array.ndim or start.array.dtype.kind != "i":
            raise RuntimeError("start must be an 0-dim integral Tensor.")
        start = int(start.array)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    start = start + size if start < 0 else start
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return rows.slice_dim(input, dim, start, start + length, 1)


def diagonal(input, offset=0, dim1=0, dim2=1):
    """The diagonal of two dimensions, as a view."""
    if input.array.ndim < 2:
        dimension(input, dim2)
    first, second = dimension(input, dim1), dimension(input, dim2)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return rows.diagonal(input, offset, first, second)


def split(input, split_size, dim=0):
    """Pieces of the given length (or lengths) along a dimension, as views from one node."""
    if input.array.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = dimension(input, dim)
    if isinstance(split_size, Tensor) and not split_size.array.ndim:
        split_size = int(split_size.array)
    if not isinstance(split_size, int | tuple | list):
        raise TypeError(
            "split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, not "
            f"{type(split_size).__name__}"
        )
    if split_size == 0 and input.array.shape[dim]:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {input.array.shape[dim]}"
        )
    size = split_size if isinstance(split_size, int) else [whole_number(n) for n in split_size]
    if isinstance(size, list) and None in size:
        wrong = size.index(None)
        raise TypeError(
            "split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, but found element of type "
            f"{type_name(split_size[wrong])} at pos {wrong}"
        )
    if isinstance(size, int) and size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if isinstance(size, list) and any(n < 0 for n in size):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={size}"
        )
    if isinstance(size, list) and sum(size) != input.array.shape[dim]:
        raise RuntimeError(
            "split_with_sizes expects split_sizes to sum exactly to "
            f"{input.array.shape[dim]} (input tensor's size at dimension {dim}), but got split_sizes={size}"
        )
    return tuple(rows.split(input, size, dim) if isinstance(size, int) else rows.split_with_sizes(input, size, dim))


def chunk(input, chunks, dim=0):
    """At most the given number of pieces along a dimension, as views from one node."""
    if input.array.ndim == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks < 1:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    length = input.array.shape[dimension(input, dim)]
    if not length:
        return split(input, [0] * chunks, dim)
    return split(input, max(1, -(-length // chunks)), dim)


def repeat(input, *sizes, repeats=None):
    """Copies side by side, in new memory."""
    repeats = composites.shape_arguments(sizes if repeats is None else (repeats,))
    if len(repeats) < input.array.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )
    if any(n < 0 for n in repeats):
        shape = (1,) * (len(repeats) - input.array.ndim) + input.array.shape
        sizes = [n * r for n, r in zip(shape, repeats, strict=True)]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(sizes)}: {sizes}")
    result = rows.repeat(input, repeats)
    if state.inference or not input.is_inference():
        return result
    counter_of(result).value += 1
    return make_view(result, result.array)


def from_inference(input, result):
    """A result that PyTorch begins as a copy of the input, which it records even for an inference tensor."""
    if not input.is_inference() or state.recording <= 0 or not requires_grad(input):
        return result
    copy = rows.copy_(new_tensor(np.array(input.array)), input)
    copy.array[...] = result.array
    return copy


def flip(input, *along, dims=None):
    """The order of elements reversed along dimensions."""
    dims = tuple(dimension(input, d) for d in composites.shape_arguments(along if dims is None else (dims,)))
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    moves = input.array.size > 1 and any(input.array.shape[d] > 1 for d in dims)
    return rows.flip(input, dims) if moves else from_inference(input, rows.flip(input, dims))


def index_add(input, dim, index, source, *, alpha=1):
    """A copy of input with the slices of alpha * source added at the places index names."""
    return rows.index_add(input, dimension(input, dim), index, source, alpha)


def scatter_add(input, dim, index, src):
    """A copy of input with src added at the places index names along a dimension."""
    return rows.scatter_add(input, dimension(input, dim), index, src)


# --- matrices ----------------------------------------------------------------------------------------------


def outer(input, vec2):
    """All products of an element of one vector with one of the other."""
    for name, t in (("self", input), ("vec2", vec2)):
        if t.array.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {t.array.ndim}-D")
    return rows.mul(composites.reshape(input, (-1, 1)), vec2)


def inner(input, other):
    """The sum of products along the last dimensions."""
    if not input.array.ndim or not other.array.ndim:
        return rows.mul(input, other)
    if input.array.shape[-1] != other.array.shape[-1]:
        sizes = list(input.array.shape), list(other.array.shape)
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {sizes[0]} and {sizes[1]}"
        )
    return tensordot(input, other, ([-1], [-1]))


def tensordot(a, b, dims=2):
    """The sum of products over several dimensions: the last of a with the first of b, or two lists of dimensions."""
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims.numel() > 1 else int(dims.item())
    if not isinstance(dims, int | tuple | list):
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, "
            f"but got dims={dims}"
        )
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > a.array.ndim or dims > b.array.ndim:
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims = range(-dims, 0), range(dims)
    if isinstance(dims[0], int):
        raise TypeError("tensordot(): argument 'dims_self' (position 3) must be tuple of ints, not int")
    if len(dims[0]) != len(dims[1]):
        raise RuntimeError("both dimension lists should have same length")
    if a.array.dtype != b.array.dtype:
        raise RuntimeError("both inputs should have same dtype")
    over_a, over_b = ([dimension(t, d) for d in ds] for t, ds in zip((a, b), dims, strict=True))
    for d, e in zip(*dims, strict=True):
        if b.array.shape[e] == 1:
            a = composites.sum(a, d, True).to(a.dtype)  # the one factor is the same for all
        elif a.array.shape[d] == 1:
            b = composites.sum(b, e, True).to(b.dtype)
        elif a.array.shape[d] != b.array.shape[e]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.array.shape[d]} in dim {d} and second has "
                f"size {b.array.shape[e]} in dim {e}"
            )
    left = [d for d in range(a.array.ndim) if d not in over_a]
    right = [d for d in range(b.array.ndim) if d not in over_b]
    length = math.prod(a.array.shape[d] for d in over_a)
    heights, widths = [a.array.shape[d] for d in left], [b.array.shape[d] for d in right]
    a, b = composites.permute(a, *left, *over_a), composites.permute(b, *over_b, *right)
    if math.prod(heights + widths) != 1:
        a, b = composites.reshape(a, math.prod(heights), length), composites.reshape(b, length, math.prod(widths))
        return composites.reshape(composites.mm(a, b), heights + widths)
    if a.is_contiguous() and b.is_contiguous():
        return composites.reshape(composites.dot(composites.flatten(a), composites.flatten(b)), heights + widths)
    whole = composites.sum(rows.mul(composites.squeeze(a), composites.squeeze(b)))
    return composites.reshape(whole.to(a.dtype), heights + widths)


# --- reductions and searches -------------------------------------------------------------------------------


@composites.numpy_names
def prod(input, dim=None, keepdim=False, *, dtype=None):
    """The product along one dimension, or of all elements."""
    if dtype is not None:
        input = input.to(dtype)
    if dim is None:
        composites.check_kept("prod", keepdim)
        return rows.prod_all(input)
    return rows.prod_dim(input, dimension(input, dim), keepdim)


def _spread(row, input, dim, unbiased, correction, keepdim):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    correction = 1 if correction is None else correction
    return row(input, composites.dims_of(input, dim), correction if unbiased else 0, keepdim)


@composites.numpy_names
def var(input, dim=None, unbiased=True, keepdim=False, *, correction=1):
    """The variance; divided by n - 1 unless `correction` says otherwise."""
    return _spread(rows.var, input, dim, unbiased, correction, keepdim)


@composites.numpy_names
def std(input, dim=None, unbiased=True, keepdim=False, *, correction=1):
    """The standard deviation, the root of `var`."""
    return _spread(rows.std, input, dim, unbiased, correction, keepdim)


def norm(input, p=2, dim=None, keepdim=False, dtype=None):
    """The p-norm of all elements, or along dimensions; with a dtype, of the elements turned into it."""
    if input.array.dtype.kind != "f":
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {input.dtype.title}"
        )
    if dtype is not None:
        wanted = dtypes.PYTHON.get(dtype, dtype)
        if wanted.itemsize < input.dtype.itemsize or not wanted.is_floating_point:
            raise RuntimeError(
                f"linalg.vector_norm: the dtype of the input ({input.dtype.title}) should be convertible without "
                f"narrowing to the specified dtype ({wanted.title})"
            )
        input = input.to(dtype)
    p = 2 if p is None or isinstance(p, str) and p == "fro" else number_of(p)
    if not isinstance(p, int | float):
        raise errors.not_supported(f"norm with p={p!r}", "Use a number for p, or 'fro'.")
    return rows.norm(input, p, composites.dims_of(input, dim), keepdim)


def check_not_empty(name, input, dim):
    """RuntimeError for the extreme value of nothing, IndexError for a dimension of length 0."""
    if input.array.size:
        return
    dims = composites.dims_of(input, dim)
    if not dims:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
            "the 'dim' argument."
        )
    for d, named in zip(dims, (dim,) if isinstance(dim, int) else dim, strict=True):
        if not input.array.shape[d]:
            raise IndexError(f"{name}(): Expected reduction dim {named} to have non-zero size.")


@composites.numpy_names
def amax(input, dim=(), keepdim=False):
    """The largest element along dimensions; equal ones share the gradient."""
    check_not_empty("amax", input, dim)
    result = rows.amax(input, composites.dims_of(input, dim) or composites.every(input), keepdim)
    return result if input.array.ndim or dim == () or keepdim else gradient_in_a_row(result)


@composites.numpy_names
def amin(input, dim=(), keepdim=False):
    """The smallest element along dimensions; equal ones share the gradient."""
    check_not_empty("amin", input, dim)
    result = rows.amin(input, composites.dims_of(input, dim) or composites.every(input), keepdim)
    return result if input.array.ndim or dim == () or keepdim else gradient_in_a_row(result)


def gradient_in_a_row(result):
    """An extreme value of a number along its dimension: PyTorch's formula makes a gradient with one dimension of it.

    That is seen only when the number had a dimension when its node was made.
    """
    node = result.node
    before = node and node.edges[0] and public_edge(node.edges[0])[0].hooks
    if before and before.forms:
        cls = type(node)
        node.__class__ = composites._renamed.setdefault((cls, 1), type(cls.__name__, (cls,), {
            "__slots__": (),
            "apply": lambda node, grad: (cls.apply(node, grad)[0].reshape(1),),
            "apply_to_tensors": lambda node, grad: (cls.apply_to_tensors(node, grad)[0].reshape(1),),
        }))
    return result


@composites.numpy_names
def logsumexp(input, dim, keepdim=False):
    """log(sum(exp(input))) along dimensions, without overflow."""
    return rows.logsumexp(input, composites.dims_of(input, dim) or composites.every(input), keepdim)


@composites.numpy_names
def cumsum(input, dim, *, dtype=None):
    """Running sums along a dimension."""
    input = input if dtype is None else input.to(dtype)
    return composites.number_from_inference(input, rows.cumsum(input, dimension(input, dim)))


@composites.numpy_names
def cumprod(input, dim, *, dtype=None):
    """Running products along a dimension."""
    input = input if dtype is None else input.to(dtype)
    return composites.number_from_inference(input, rows.cumprod(input, dimension(input, dim)))


def sort(input, dim=-1, descending=False, *, stable=None):
    """(values, indices) in order along a dimension."""
    values, places = rows.sort_dim(input, dimension(input, dim), descending)
    result = composites.pair("sort", (from_inference(input, values), places))
    if stable is not None and result[0].node is not None:
        composites.rename_node(result[0].node, "SortBackward1")
    return result


def argsort(input, dim=-1, descending=False, *, stable=False):
    """The places of the elements in order along a dimension."""
    return sort(input, dim, descending)[1]


def topk(input, k, dim=-1, largest=True, sorted=True):
    """(values, indices) of the k largest, or smallest, elements along a dimension."""
    if k < 0:
        raise RuntimeError("selected index k out of range")
    values, places = rows.topk_dim(input, k, dimension(input, dim), largest)
    return composites.pair("topk", (composites.number_from_inference(input, values, "copy_") if k else values, places))


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
            share = function("restore_dim")(grads[1], x.shape, dim, keepdim)
            parts.append(function("mean_grad")(share, tuple(x.shape), kernels.numel(x.shape, dim)))
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
    return spread_and_mean(VarMeanBackward0, var, input, dim, unbiased, keepdim, correction)


@composites.numpy_names
def std_mean(input, dim=None, unbiased=True, keepdim=False, *, correction=1):
    """(standard deviation, mean) over dimensions."""
    return spread_and_mean(StdMeanBackward0, std, input, dim, unbiased, keepdim, correction)


def nonzero(input, *, as_tuple=False):
    """The places of the elements that are not zero: one row a place, or one tensor a dimension."""
    if as_tuple:
        return composites.unbind(nonzero(input if input.array.ndim else rows.unsqueeze(input, 0)), 1)
    found = np.nonzero(np.atleast_1d(input.array))
    found = found[: input.array.ndim]
    lines = np.stack(found) if found else np.zeros((0, int(bool(input.array))), np.int64)
    return without_gradient(np.array(lines.T, order="F"))  # by columns, as in PyTorch


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
    return rows.uniform_(input, creation.even_values(input, names.get("from", a), names.get("to", b), generator))


def normal_(input, mean=0.0, std=1.0, *, generator=None):
    """Overwrite the tensor with normal random numbers."""
    return rows.normal_(input, creation.normal_values(input, mean, std, generator))


def random_(input, *bounds, generator=None):
    """Overwrite the tensor with whole numbers from a up to but without b: random_(a, b), random_(b), or anything."""
    largest = {"f": 2 ** (24 if input.array.dtype.itemsize == 4 else 53), "i": 2**63 - 1, "b": 1}
    low, high = bounds if len(bounds) == 2 else (0, bounds[0] if bounds else largest[input.array.dtype.kind] + 1)
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    (draw, source), like = creation.source_of(generator), memory_of(input)
    drawn = draw.whole_numbers(source, like.size, int(low), int(high))
    return rows.random_(input, draw.in_memory_order(drawn, like))


def bernoulli_(input, p=0.5, *, generator=None):
    """Overwrite the tensor with ones, with probability p (a number, or one for each element), and zeros."""
    chance, kind = (p.array, p.array.dtype) if isinstance(p, Tensor) else (p, np.float64)
    if not isinstance(p, Tensor) and not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    (draw, source), like = creation.source_of(generator), memory_of(input)
    return rows.bernoulli_draw_(input, draw.in_memory_order(draw.fractions(source, like.size, kind), like) < chance)


def normal(mean, std=1.0, size=None, *, generator=None, dtype=None, device=None, requires_grad=False):
    """Normal random numbers with the given mean and standard deviation."""
    if isinstance(std, Tensor):
        if (std.array < 0).any():
            raise RuntimeError("normal expects all elements of std >= 0.0")
    elif std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if size is not None:
        kind = creation.floating("normal_kernel_cpu", dtype)
        memory = new_tensor(np.zeros(creation.sizes_from((size,)), kind))
        return creation.finish(normal_(memory, mean, std, generator=generator).array, None, requires_grad, device)
    if isinstance(mean, Tensor) and isinstance(std, Tensor):
        kernels.sizes_of_both(mean.array, std.array)
    shape = np.broadcast_shapes(np.shape(getattr(mean, "array", mean)), np.shape(getattr(std, "array", std)))
    kind = (mean if isinstance(mean, Tensor) else std).array.dtype
    noise = normal_(new_tensor(np.zeros(shape, kind)), generator=generator)
    return (noise * std + mean).detach()


def bernoulli(input, p=None, *, generator=None):
    """1 with the probability that each element gives (or, with p, each with that one), else 0."""
    if p is not None:
        result = bernoulli_(creation.zeros(input.array.shape, dtype=input.dtype), p, generator=generator)
        edge = gradient_edge(input) if state.recording > 0 else None
        if edge is not None:
            result.node = without_derivative("aten::bernoulli", (edge,))
        return result
    kernels.floats(input.array, "bernoulli_tensor_cpu_p_")
    if not ((input.array >= 0) & (input.array <= 1)).all():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false: each is a probability.")
    (draw, source), like = creation.source_of(generator), memory_of(input)
    drawn = draw.fractions(source, like.size, like.dtype)
    return rows.bernoulli(input, drawn.reshape(like.shape) < like)


def randint_like(
    input, low, high=None, *, generator=None, dtype=None, device=None, requires_grad=False
):
    """Random integers from low up to but without high, in the shape and type of `input`, laid out like it."""
    low, high = (0, low) if high is None else (low, high)
    drawn = creation.randint(low, high, (input.numel(),), generator=generator).array
    order, like = creation.layout(input), memory_of(input)
    laid_out = creation.source_of()[0].in_memory_order(drawn, like, order)
    return creation.finish(laid_out, dtype or input.dtype, requires_grad, device)


# --- new tensors in an old one's type ----------------------------------------------------------------------


def new_full(input, size, fill_value, *, dtype=None, device=None, requires_grad=False):
    """One value in another shape and this tensor's type."""
    return creation.full(size, fill_value, dtype=dtype or input.dtype, device=device, requires_grad=requires_grad)


def new_empty(input, *size, dtype=None, device=None, requires_grad=False):
    """Memory in another shape and this tensor's type, holding zeros."""
    return creation.empty(*size, dtype=dtype or input.dtype, device=device, requires_grad=requires_grad)
