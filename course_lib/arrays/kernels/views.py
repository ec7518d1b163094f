"""Looking at the same memory in another way, and the gradients that undo it.

PyTorch: aten/src/ATen/native/TensorShape.cpp, torch/csrc/autograd/FunctionsManual.cpp.

The first part computes values, the second is what gradient formulas call. A formula runs on arrays, or on tensors when
the backward pass is itself recorded: see `twin_of` in engine/build.py.
"""

import math

import numpy as np

from course_lib.arrays.dtypes import BOOL
from course_lib.arrays.dtypes import of_array as title
from course_lib.arrays.kernels.layouts import copy, laid_out_like, zeros_of
from course_lib.arrays.memory import Storage, part_of

RESHAPE_ALWAYS_COPIES = np.__version__.startswith("2.0")  # where it must; it has no `copy` to forbid it


def copy_of_gradient(x: np.ndarray) -> np.ndarray:
    """Copy a gradient; elements that share a place go on sharing one, so nobody may write to it."""
    if type(x) is not np.ndarray or 0 not in x.strides:
        return copy(x)
    once = x[tuple(slice(None) if step else slice(1) for step in x.strides)]
    return expand(copy(once), x.shape)


def view(x: np.ndarray, shape: tuple) -> np.ndarray:
    """Return the same memory with another shape; RuntimeError when that needs a copy."""
    shape = complete_shape(x.size, shape)
    if x.flags.c_contiguous:
        return x.reshape(shape)
    try:
        if RESHAPE_ALWAYS_COPIES:
            same = x.view()
            same.shape = shape
            return same
        return x.view().reshape(shape, copy=False)
    except (ValueError, AttributeError):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across "
            "two contiguous subspaces). Use .reshape(...) instead."
        ) from None


def complete_shape(size: int, shape: tuple) -> tuple:
    """Return the shape with -1 worked out; RuntimeError when the number of elements does not fit."""
    shape = tuple([int(n) for n in shape])
    if math.prod(shape) == size and min(shape, default=0) >= 0:
        return shape
    for d, n in enumerate(shape):
        if n < -1:
            raise RuntimeError(f"invalid shape dimension {n} at index {d} of shape {list(shape)}")
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    known = math.prod(n for n in shape if n != -1)
    if -1 in shape and known and size % known == 0:
        return tuple(size // known if n == -1 else n for n in shape)
    if -1 in shape and known == 0 and size == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 "
            "can be any value and is ambiguous"
        )
    if -1 in shape or known != size:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")
    return shape


def copy_shaped(x: np.ndarray, shape: tuple) -> np.ndarray:
    """Return the elements in row-major order in another shape; only used on memory that nobody else sees."""
    return np.ascontiguousarray(x).reshape(complete_shape(x.size, shape))


def swap(x: np.ndarray, dim0: int, dim1: int) -> np.ndarray:
    """Return two dimensions exchanged; a number is its own transpose."""
    return x.swapaxes(dim0, dim1) if x.ndim else np.asarray(x)[...]


def add_dim(x: np.ndarray, dim: int) -> np.ndarray:
    """Return x with a new dimension of length 1."""
    return x.reshape((*x.shape[:dim], 1, *x.shape[dim:]))


def squeeze(x: np.ndarray, dim: int | None = None) -> np.ndarray:
    """Return x without dimensions of length 1: all of them, or those named."""
    if dim is None:
        return x.squeeze()
    return np.squeeze(x, tuple(d for d in (dim if isinstance(dim, tuple) else (dim,)) if x.ndim and x.shape[d] == 1))


def broadcast(x: np.ndarray, sizes: tuple) -> np.ndarray:
    """Return x seen with dimensions repeated; -1 keeps a length. RuntimeError when the lengths do not fit.

    PyTorch: aten/src/ATen/ExpandUtils.cpp (inferExpandGeometry). np.broadcast_to gives dimensions of length 1 other
    strides, and takes ten times as long.
    """
    x, sizes = np.asarray(x), [int(n) for n in sizes]
    shape, strides, lead = x.shape, x.strides, len(sizes) - x.ndim
    if lead < 0:
        kind = "CPUBoolType" if x.dtype is BOOL else title(x).tensor_type
        raise RuntimeError(
            f"expand({kind}{{{list(shape)}}}, size={sizes}): the number of sizes provided ({len(sizes)}) must be "
            f"greater or equal to the number of dimensions in the tensor ({x.ndim})"
        )
    wanted, steps, step_of_new = list(sizes), [0] * len(sizes), x.itemsize if x.ndim else 0
    for d in range(len(sizes) - 1, -1, -1):
        size, (n, steps[d]) = sizes[d], (shape[d - lead], strides[d - lead]) if d >= lead else (1, step_of_new)
        if size == -1 and d >= lead:
            wanted[d] = n
        elif size != n:
            if n != 1 or size < 0:
                raise RuntimeError(
                    f"The expanded size of the tensor ({size}) must match the existing size ({n}) at non-singleton "
                    f"dimension {d}.  Target sizes: {sizes}.  Tensor sizes: {list(shape)}"
                )
            steps[d] = 0
        step_of_new = wanted[d] * steps[d]
    if x.flags.c_contiguous and x.size and 0 not in wanted:
        return np.ndarray(wanted, x.dtype, x, 0, steps)
    return np.lib.stride_tricks.as_strided(x, wanted, steps)


def take_index(x: np.ndarray, dim: int, index: int) -> np.ndarray:
    """Return x at one place along a dimension; a view."""
    return x[(slice(None),) * dim + (index,) + (...,)]


def take_slice(x: np.ndarray, dim: int, start: np.ndarray, end: np.ndarray, step: int) -> np.ndarray:
    """Return x between two places along a dimension; a view."""
    return x[(slice(None),) * dim + (slice(start, end, step),)]


def unbind(x: np.ndarray, dim: int) -> list:
    """Return one view for each place along a dimension."""
    return [take_index(x, dim, i) for i in range(x.shape[dim])]


def expand(x: np.ndarray, sizes: tuple) -> np.ndarray:
    """Return x repeated to a shape without a copy: who would write to such a gradient is refused, as in PyTorch."""
    x = np.asarray(x)
    lead = len(sizes) - x.ndim
    own = (x.shape[0] * x.strides[0] if x.ndim else x.itemsize,) * lead + x.strides
    steps = [0 if n != 1 and (d < lead or x.shape[d - lead] != n) else own[d] for d, n in enumerate(sizes)]
    if x.flags.c_contiguous and x.size:
        return np.ndarray(sizes, x.dtype, x, 0, steps)
    return np.lib.stride_tricks.as_strided(x, sizes, steps)


def reshape(x: np.ndarray, sizes: tuple) -> np.ndarray:
    return x.reshape(sizes)


def inverse_order(dims: tuple) -> tuple:
    """Return the permutation that undoes another."""
    order = [0] * len(dims)
    for place, d in enumerate(dims):
        order[d % len(dims)] = place
    return tuple(order)


def sum_to(x: np.ndarray, sizes: tuple) -> np.ndarray:
    """Return x summed over the dimensions along which `sizes` was expanded."""
    extra = summed_dims(x.shape, sizes)
    return np.add.reduce(x, axis=extra, keepdims=True).reshape(sizes) if extra else x.reshape(sizes)


def summed_dims(sizes: tuple, shape: tuple) -> tuple:
    """Return the dimensions of `sizes` that broadcasting added or stretched, seen from `shape`."""
    lead = len(sizes) - len(shape)
    return tuple([d for d in range(len(sizes)) if d < lead or (shape[d - lead] == 1 and sizes[d] != 1)])


def slice_of(start: int, end: int, step: int) -> slice:
    return slice(start, end, step)


def place(grad: np.ndarray, sizes: tuple, dim: int, where: int | slice) -> np.ndarray:
    """Return zeros, with the gradient at one index or slice of a dimension."""
    result = zeros_of(grad, sizes)
    result[(slice(None),) * dim + (where,)] = grad
    return result


def stack_grads(grads: list, sizes: tuple, dim: int) -> np.ndarray:
    """Return the gradients of all outputs of unbind, zeros for those that got none, put together."""
    known = next(g for g in grads if g is not None)
    result = np.zeros(sizes, known.dtype)
    pieces = np.moveaxis(result, dim, 0)  # a view: what is put there is in the result
    for number, g in enumerate(grads):
        if g is not None:
            pieces[number] = g
    return result


def flip(x: np.ndarray, dims: tuple) -> np.ndarray:
    """Return the elements in reverse order along dimensions, in new memory."""
    return laid_out_like(np.flip(x, dims) if x.ndim else x, x)


def as_strided(x: np.ndarray, size: tuple, stride: tuple, offset: int) -> np.ndarray:
    """Return a view of the storage behind x, by shape, steps and beginning in elements."""
    return part_of(Storage(x).array.ravel(order="K"), size, stride, offset)


def diagonal(x: np.ndarray, offset: int, dim1: int, dim2: int) -> np.ndarray:
    """Return the diagonal of two dimensions, as the last dimension; a view that can be written to."""
    result = np.diagonal(x, offset, dim1, dim2)
    result.flags.writeable = True
    return result


def split(x: np.ndarray, split_size: int | list, dim: int) -> list:
    """Return views of pieces along a dimension: of equal length (the last may be shorter), or of the lengths given."""
    length = x.shape[dim]
    if isinstance(split_size, int):
        starts = list(range(0, length, split_size)) or [0]
        return [take_slice(x, dim, s, min(s + split_size, length), 1) for s in starts]
    ends = np.cumsum(split_size)
    return [take_slice(x, dim, end - n, end, 1) for n, end in zip(split_size, ends, strict=True)]


def places_of(sizes: tuple, strides: tuple) -> np.ndarray:
    """Return where in memory the elements of a tensor lie, counted from its first."""
    return sum((np.arange(n).reshape(-1, *[1] * (len(sizes) - d - 1)) * step
                for d, (n, step) in enumerate(zip(sizes, strides, strict=True))), np.zeros(sizes, np.int64))


def place_diagonal(grad: np.ndarray, sizes: tuple, offset: int, dim1: int, dim2: int) -> np.ndarray:
    """Return zeros, with the gradient on a diagonal."""
    result = zeros_of(grad, sizes)
    diagonal(result, offset, dim1, dim2)[...] = grad
    return result


def piece_lengths(length: int, split_size: int) -> list:
    """Return the lengths of the pieces that split makes."""
    if not isinstance(split_size, int):
        return list(split_size)
    return [min(split_size, length - s) for s in range(0, length, split_size)] or [0]


def rolled(x: np.ndarray, shifts: tuple, dims: tuple) -> np.ndarray:
    """Return the elements moved along dimensions, or along all of them as one."""
    return np.roll(np.ascontiguousarray(x), shifts if dims else shifts[0], dims or None) if x.ndim else x.copy()


def roll_back(grad: np.ndarray, shifts: tuple, dims: tuple) -> np.ndarray:
    """Return the gradients moved back."""
    return rolled(grad, tuple([-shift for shift in shifts]), dims)
