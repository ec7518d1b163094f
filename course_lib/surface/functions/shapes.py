"""Other shapes of the same elements: views where memory allows it, and copies side by side.

PyTorch: aten/src/ATen/native (TensorShape.cpp, TensorTransformations.cpp).
"""

import math

from course_lib.arrays import kernels
from course_lib.arrays.messages import warn_once
from course_lib.engine.arguments import Sizes, dimension, whole_number
from course_lib.engine.build import rows
from course_lib.engine.tensor import Tensor, writable_array
from course_lib.surface.creation import sizes_from
from course_lib.surface.functions.dimensions import check_distinct, dims_of
from course_lib.surface.joining import cat


def view(input: Tensor, *shape, size: Sizes | None = None) -> Tensor:
    """Return the same memory in another shape; RuntimeError when that would need a copy."""
    shape = sizes_from(shape if size is None else (size,))
    return rows.view(input, kernels.complete_shape(input.array.size, shape))


def reshape(input: Tensor, *sizes, shape: Sizes | None = None) -> Tensor:
    """Return another shape: a view when the memory allows it, otherwise a copy."""
    shape = sizes_from(sizes if shape is None else (shape,))
    array, shape = writable_array(input), kernels.complete_shape(input.array.size, shape)
    if array.flags.c_contiguous:
        return rows.view(input, shape)
    try:
        kernels.view(array, shape)
    except RuntimeError:
        return rows.unsafe_view(input.clone(), shape)
    return rows.reshape_alias(input, shape)


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Return several dimensions made one; the tensor itself when there is nothing to do."""
    start, end = dimension(input, start_dim), dimension(input, end_dim)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if input.array.ndim == 0:
        return reshape(input, 1)
    if start == end:
        return input
    sizes = input.array.shape
    return reshape(input, (*sizes[:start], math.prod(sizes[start : end + 1]), *sizes[end + 1 :]))


def t(input: Tensor) -> Tensor:
    """Return a matrix with rows and columns exchanged."""
    if input.array.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.array.ndim}D")
    return rows.t(input)


def mT(input: Tensor) -> Tensor:
    """Return the last two dimensions exchanged."""
    if input.array.ndim == 0:
        return input
    if input.array.ndim == 1:
        raise RuntimeError("tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return rows.transpose(input, input.array.ndim - 2, input.array.ndim - 1)


def permute(input: Tensor, *order, dims: Sizes | None = None) -> Tensor:
    """Return the dimensions in another order."""
    dims, given = sizes_from(order if dims is None else (dims,)), input.array.ndim
    if len(dims) != given or len({d % given for d in dims}) < given:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {given} is not equal to len(dims) = {len(set(dims))}"
        )
    return rows.permute(input, tuple(dimension(input, d) for d in dims))


def squeeze(input: Tensor, dim: Sizes | None = None) -> Tensor:
    """Return the tensor without dimensions of length 1: all of them, or those named."""
    if dim is None:
        return rows.squeeze(input)
    if not isinstance(dim, tuple | list):
        return rows.squeeze_dim(input, dimension(input, dim))
    return rows.squeeze_dim(input, dims_of(input, dim) or ())


def expand(input: Tensor, *sizes, size: Sizes | None = None) -> Tensor:
    """Return the tensor seen with dimensions repeated; -1 keeps a length."""
    return rows.expand(input, sizes_from(sizes if size is None else (size,)))


def length_along(name: str, input: Tensor, dim: int, error: type = RuntimeError) -> tuple:
    """Return (the dimension counted from the front, its length); an error for a tensor without dimensions."""
    if not input.array.ndim:
        raise error(f"{name}() cannot be applied to a 0-dim tensor.")
    dim = dimension(input, dim)
    return dim, input.array.shape[dim]


def select(input: Tensor, dim: int, index: int) -> Tensor:
    """Return one place along a dimension, as a view."""
    dim, length = length_along("select", input, dim, IndexError)
    if not -length <= index < length:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.array.shape)} at dimension {dim}"
        )
    return rows.select(input, dim, int(index) % length)


def unbind(input: Tensor, dim: int = 0) -> tuple:
    """Return all places along a dimension, as a tuple of views from one node."""
    return tuple(rows.unbind(input, length_along("unbind", input, dim, IndexError)[0]))


def as_strided(input: Tensor, size: Sizes, stride: Sizes, storage_offset: int | None = None) -> Tensor:
    """Return a view of the tensor's storage with a shape, steps and a beginning of one's own choice."""
    size, stride = sizes_from((size,)), sizes_from((stride,))
    offset = input.storage_offset() if storage_offset is None else storage_offset
    if len(size) != len(stride) or any(step < 0 for step in stride):
        raise RuntimeError(f"as_strided: expected one step of 0 or more for each dimension of {size}, got {stride}")
    return rows.as_strided(input, size, stride, offset, offset - input.storage_offset())


def vstack(tensors: list) -> Tensor:
    """Return tensors joined as rows."""
    tensors = [view(t, (1, 1)) if t.array.ndim == 0 else t for t in tensors]
    return cat([rows.unsqueeze(t, 0) if t.array.ndim == 1 else t for t in tensors], 0)


def hstack(tensors: list) -> Tensor:
    """Return tensors joined along their second dimension; vectors along their only one."""
    tensors = [reshape(t, 1) if t.array.ndim == 0 else t for t in tensors]
    return cat(tensors, 0 if tensors and tensors[0].array.ndim == 1 else 1)


def meshgrid(*tensors, indexing: str | None = None) -> tuple:
    """Return, for vectors of coordinates, a grid of each coordinate."""
    if indexing is None:
        warn_once(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", stacklevel=2
        )
    if len(tensors) == 1 and not isinstance(tensors[0], Tensor):
        tensors = tensors[0]
    if indexing not in (None, "xy", "ij") or any(t.array.ndim > 1 for t in tensors):
        raise RuntimeError(f'torch.meshgrid: vectors and an indexing of "xy" or "ij" expected, got {indexing}')
    if indexing == "xy":
        grids = meshgrid(*tensors[1::-1], *tensors[2:], indexing="ij")
        return (*grids[1::-1], *grids[2:])
    shape = tuple(t.array.size for t in tensors)
    lined = [reshape(t, (*(1,) * d, -1, *(1,) * (len(shape) - d - 1))) for d, t in enumerate(tensors)]
    return tuple(expand(t, shape) for t in lined)


def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Return a stretch of a dimension, as a view."""
    (dim, size), first = length_along("narrow", input, dim), whole_number(start)
    if first is None or not -size <= first <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    first += size * (first < 0)
    if length < 0 or first + length > size:
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return rows.slice_dim(input, dim, first, first + length, 1)


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Return the diagonal of two dimensions, as a view."""
    first, second = dimension(input, dim1), dimension(input, dim2)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return rows.diagonal(input, offset, first, second)


def split(input: Tensor, split_size: int | list, dim: int = 0) -> tuple:
    """Return pieces of the given length (or lengths) along a dimension, as views from one node."""
    (dim, length), size = length_along("split", input, dim), whole_number(split_size)
    if size is not None:
        if size < 0 or not size and length:
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size} of {length}")
        return tuple(rows.split(input, size, dim))
    sizes = list(sizes_from((split_size,)))
    if sum(sizes) != length or any(n < 0 for n in sizes):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at dimension "
            f"{dim}), but got split_sizes={sizes}"
        )
    return tuple(rows.split_with_sizes(input, sizes, dim))


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple:
    """Return at most the given number of pieces along a dimension, as views from one node."""
    dim, length = length_along("chunk", input, dim)
    if chunks < 1:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    return split(input, max(1, -(-length // chunks)) if length else [0] * chunks, dim)


def repeat(input: Tensor, *sizes, repeats: Sizes | None = None) -> Tensor:
    """Return copies side by side, in new memory."""
    repeats = sizes_from(sizes if repeats is None else (repeats,))
    if len(repeats) < input.array.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )
    if any(n < 0 for n in repeats):
        raise RuntimeError(f"Trying to create tensor with negative dimension: {list(repeats)} times")
    return rows.repeat(input, repeats)


def flip(input: Tensor, *along, dims: Sizes | None = None) -> Tensor:
    """Return the order of elements reversed along dimensions."""
    dims = tuple(dimension(input, d) for d in sizes_from(along if dims is None else (dims,)))
    check_distinct(dims)
    return rows.flip(input, dims)


def ravel(input: Tensor) -> Tensor:
    """Return all elements in one dimension: a view when they lie in rows, else of a copy that does."""
    return view(input.contiguous(), -1)


def roll(input: Tensor, shifts: Sizes, dims: Sizes = ()) -> Tensor:
    """Return the elements moved along dimensions; what leaves at one end comes in at the other."""
    shifts, dims = (tuple(v) if isinstance(v, list | tuple) else (v,) for v in (shifts, () if dims is None else dims))
    if len(dims) != len(shifts) and (dims or len(shifts) != 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    return rows.roll(input, shifts, tuple(dimension(input, d) for d in dims))
