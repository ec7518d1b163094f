"""Other shapes of the same elements: views where memory allows it, and copies side by side.

PyTorch: aten/src/ATen/native (TensorShape.cpp, TensorTransformations.cpp).
"""

import math

import numpy as np

from course_lib.arrays import dtypes, errors, kernels
from course_lib.arrays.memory import Storage, check_room
from course_lib.arrays.messages import warn_once
from course_lib.engine.arguments import dimension, whole_number
from course_lib.engine.build import rows
from course_lib.engine.fit import fit
from course_lib.engine.tensor import Tensor, memory_of, new_tensor
from course_lib.surface import creation
from course_lib.surface.functions.dimensions import check_distinct, dims_of, shape_arguments
from course_lib.surface.functions.results import without_gradient
from course_lib.surface.joining import cat


def view(input, *shape, size=None):
    """The same memory in another shape; RuntimeError when that would need a copy."""
    shape = shape if size is None else (size,)
    if len(shape) == 1 and isinstance(shape[0], dtypes.dtype):
        raise errors.not_supported("view(dtype)", "Use .to(dtype) to convert the elements.")
    shape = shape_arguments(shape)
    return rows.view(input, kernels.complete_shape(input.array.size, shape))


def reshape(input, *sizes, shape=None):
    """Another shape: a view when the memory allows it, otherwise a copy."""
    shape = shape_arguments(sizes if shape is None else (shape,))
    array, shape = memory_of(input), kernels.complete_shape(input.array.size, shape)
    if array.flags.c_contiguous:
        return rows.view(input, shape)
    try:
        kernels.view(array, shape)
    except RuntimeError:
        return rows.unsafe_view(input.clone(), shape)
    return rows.reshape_alias(input, shape)


def flatten(input, start_dim=0, end_dim=-1):
    """Several dimensions made one; the tensor itself when there is nothing to do."""
    start, end = dimension(input, start_dim), dimension(input, end_dim)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if input.array.ndim == 0:
        return reshape(input, 1)
    if start == end:
        return input
    sizes = input.array.shape
    return reshape(input, (*sizes[:start], math.prod(sizes[start : end + 1]), *sizes[end + 1 :]))


def t(input):
    """A matrix with rows and columns exchanged."""
    if input.array.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.array.ndim}D")
    return rows.t(input)


def mT(input):
    """The last two dimensions exchanged."""
    if input.array.ndim == 0:
        return input
    if input.array.ndim == 1:
        raise RuntimeError("tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return rows.transpose(input, input.array.ndim - 2, input.array.ndim - 1)


def permute(input, *order, dims=None):
    """The dimensions in another order."""
    dims = shape_arguments(order if dims is None else (dims,))
    if len(dims) != input.array.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {input.array.ndim} is not equal to len(dims) = {len(dims)}"
        )
    dims = tuple(dimension(input, d) for d in dims)
    if len(set(dims)) != len(dims):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return rows.permute(input, dims)


def squeeze(input, dim=None):
    """Without dimensions of length 1: all of them, or those named."""
    if dim is None:
        return rows.squeeze(input)
    if not isinstance(dim, tuple | list):
        return rows.squeeze_dim(input, dimension(input, dim))
    return rows.squeeze_dim(input, dims_of(input, dim) or ())


def expand(input, *sizes, size=None):
    """The tensor seen with dimensions repeated; -1 keeps a length."""
    return rows.expand(input, shape_arguments(sizes if size is None else (size,)))


def select(input, dim, index):
    """One place along a dimension, as a view."""
    if input.array.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = dimension(input, dim)
    length = input.array.shape[dim]
    if not -length <= index < length:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.array.shape)} at dimension {dim}"
        )
    return rows.select(input, dim, int(index) % length)


def unbind(input, dim=0):
    """All places along a dimension, as a tuple of views from one node."""
    if input.array.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return tuple(rows.unbind(input, dimension(input, dim)))


def as_strided(input, size, stride, storage_offset=None):
    """A view of the tensor's storage with a shape, steps and a beginning of one's own choice."""
    size, stride = creation.sizes_from((size,)), creation.sizes_from((stride,))
    offset = input.storage_offset() if storage_offset is None else storage_offset
    if len(size) != len(stride) or any(step < 0 for step in stride):
        raise RuntimeError(f"as_strided: expected one step of 0 or more for each dimension of {size}, got {stride}")
    check_room(size, stride, offset, input.array.itemsize, Storage(memory_of(input)).nbytes())
    return rows.as_strided(input, size, stride, offset, offset - input.storage_offset())


def unfold(input, dimension_, size, step):
    """A view of all windows of a dimension: `size` long, `step` apart; they become the last dimension."""
    dim = dimension(input, dimension_)
    length = input.array.shape[dim] if input.array.ndim else 1
    if not 0 <= size <= length or step <= 0:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {length} but size is {size}, step is {step}")
    windows = rows.unfold(input if input.array.ndim else rows.unsqueeze(input, 0), dim, size, step)
    return windows if input.array.ndim else windows[0]


def sum_to_size(input, *size):
    """The tensor summed over the dimensions along which `size` would be expanded to its shape."""
    size, shape = creation.sizes_from(size), input.array.shape
    if not kernels.can_be_summed(shape, size):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(shape)}}}.")
    return fit(input, size, input.array.dtype)


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
    return view(input, (*shape[:dim], *sizes, *shape[dim + 1 :]))


def movedim(input, source, destination):
    """Dimensions moved to other places; the rest keep their order."""
    source, destination = ([d] if isinstance(d, int) else list(d) for d in (source, destination))
    sources, targets = ([dimension(input, d) for d in dims] for dims in (source, destination))
    if len(sources) != len(targets) or len(set(sources)) < len(sources) or len(set(targets)) < len(targets):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({source} dims) should contain the same number of "
            f"dims as destination ({destination} dims), each once"
        )
    if not input.array.ndim:
        return rows.alias(input)
    rest = iter([d for d in range(input.array.ndim) if d not in sources])
    place = dict(zip(targets, sources, strict=True))
    return permute(input, [place[d] if d in place else next(rest) for d in range(input.array.ndim)])


def tile(input, *dims):
    """Copies side by side; missing dimensions in front are 1."""
    dims = creation.sizes_from(dims)
    return repeat(input, (1,) * (input.array.ndim - len(dims)) + dims)


def vstack(tensors):
    """Tensors joined as rows."""
    tensors = [view(t, (1, 1)) if t.array.ndim == 0 else t for t in tensors]
    return cat([rows.unsqueeze(t, 0) if t.array.ndim == 1 else t for t in tensors], 0)


def hstack(tensors):
    """Tensors joined along their second dimension; vectors along their only one."""
    tensors = [reshape(t, 1) if t.array.ndim == 0 else t for t in tensors]
    return cat(tensors, 0 if tensors and tensors[0].array.ndim == 1 else 1)


def meshgrid(*tensors, indexing=None):
    """For vectors of coordinates, a grid of each coordinate."""
    if indexing is None:
        warn_once(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", stacklevel=2
        )
    if len(tensors) == 1 and not isinstance(tensors[0], Tensor):
        tensors = tensors[0]
    for tensor in tensors:
        if tensor.array.ndim > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {tensor.tolist()}"
            )
    if indexing not in (None, "xy", "ij"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    if indexing == "xy":
        grids = meshgrid(*tensors[1::-1], *tensors[2:], indexing="ij")
        return (*grids[1::-1], *grids[2:])
    shape = tuple(t.array.size for t in tensors)
    lined = [reshape(t, (*(1,) * d, -1, *(1,) * (len(shape) - d - 1))) for d, t in enumerate(tensors)]
    return tuple(expand(t, shape) for t in lined)


def narrow(input, dim, start, length):
    """A stretch of a dimension, as a view."""
    if input.array.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    dim, start = dimension(input, dim), whole_number(start)
    size = input.array.shape[dim]
    if start is None:
        raise RuntimeError("start must be an 0-dim integral Tensor.")
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
    dim, size = dimension(input, dim), whole_number(split_size)
    length = input.array.shape[dim]
    if size is not None:
        if size < 0 or not size and length:
            where = "" if size else f" for a dimension of length {length}"
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}{where}")
        return tuple(rows.split(input, size, dim))
    sizes = list(creation.sizes_from((split_size,)))
    if sum(sizes) != length or any(n < 0 for n in sizes):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at dimension "
            f"{dim}), but got split_sizes={sizes}"
        )
    return tuple(rows.split_with_sizes(input, sizes, dim))


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
    repeats = shape_arguments(sizes if repeats is None else (repeats,))
    if len(repeats) < input.array.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )
    if any(n < 0 for n in repeats):
        shape = (1,) * (len(repeats) - input.array.ndim) + input.array.shape
        sizes = [n * r for n, r in zip(shape, repeats, strict=True)]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(sizes)}: {sizes}")
    return rows.repeat(input, repeats)


def flip(input, *along, dims=None):
    """The order of elements reversed along dimensions."""
    dims = tuple(dimension(input, d) for d in shape_arguments(along if dims is None else (dims,)))
    check_distinct(dims)
    return rows.flip(input, dims)


def ravel(input):
    """All elements in one dimension: a view when they lie in rows, else of a copy that does."""
    return view(input.contiguous(), -1)


def roll(input, shifts, dims=()):
    """The elements moved along dimensions; what leaves at one end comes in at the other."""
    shifts, dims = (tuple(v) if isinstance(v, list | tuple) else (v,) for v in (shifts, () if dims is None else dims))
    if len(dims) != len(shifts) and (dims or len(shifts) != 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    return rows.roll(input, shifts, tuple(dimension(input, d) for d in dims))


def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    """Each element (or slice along dim) repeated in its place; of one tensor, each place as often as it says."""
    if repeats is None:
        return without_gradient(np.repeat(np.arange(input.array.size), input.array))
    if dim is None:
        input, dim = reshape(input, -1), 0
    dim = dimension(input, dim)
    if isinstance(repeats, Tensor):
        if repeats.array.ndim > 1 or repeats.array.size not in (1, input.array.shape[dim]):
            raise RuntimeError(
                f"repeats must have the same size as input along dim, but got repeats.shape = {list(repeats.shape)} "
                f"and input.size({dim}) = {input.array.shape[dim]}"
            )
        return rows.index_select(input, dim, new_tensor(np.repeat(np.arange(input.array.shape[dim]), repeats.array)))
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    sizes = list(input.array.shape)
    copies = expand(rows.unsqueeze(input, dim + 1), (*sizes[: dim + 1], repeats, *sizes[dim + 1 :]))
    return flatten(rows.clone_contiguous(copies), dim, dim + 1)


def ndimension(input):
    """The number of dimensions."""
    return input.array.ndim
