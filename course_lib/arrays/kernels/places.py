"""Elements read or written at places that an index or a mask names.

PyTorch: aten/src/ATen/native (TensorAdvancedIndexing.cpp, ScatterGatherChecks.h, IndexingUtils.h).
"""

import math

import numpy as np

from course_lib.arrays.dtypes import of_array as title
from course_lib.arrays.kernels.checks import sizes_differ, whole
from course_lib.arrays.kernels.layouts import copy


def masked_fill(x, mask, value):
    """x with `value` wherever the mask is True."""
    if mask.dtype.kind != "b":
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {title(mask).c_name}")
    value = getattr(value, "array", value)
    if np.ndim(value):
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{np.ndim(value)} dimension(s)."
        )
    try:
        mask = np.broadcast_to(mask, np.broadcast_shapes(mask.shape, x.shape))
    except ValueError:
        raise sizes_differ(mask.shape, x.shape) from None
    return np.asarray(np.where(mask, whole(value, x.dtype), x), order="C")


def mask_of_shared(x, mask):
    """The mask for elements of x that share a place: True for all of them if it is for one."""
    mask, shared = np.broadcast_to(mask, x.shape), tuple(d for d, step in enumerate(x.strides) if step == 0)
    return np.broadcast_to(mask.any(shared, keepdims=True), mask.shape)


def as_line(x):
    """A number as a vector of one element, which it is wherever places along a dimension are named."""
    return x if np.ndim(x) else np.reshape(x, 1)


def pick(x, dim, index):
    """Elements of x at the places index names along a dimension; RuntimeError for a place that is not there."""
    if index.dtype.kind != "i":
        raise RuntimeError("gather(): Expected dtype int32/int64 for index")
    if not index.size:
        return np.zeros(index.shape, x.dtype)
    if not (x.ndim and index.ndim):
        return pick(as_line(x), dim, as_line(index)).reshape(index.shape)
    if x.ndim != index.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for d, (i, n) in enumerate(zip(index.shape, x.shape, strict=True)):
        if d != dim and i > n:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger than self "
                f"{list(x.shape)} apart from dimension {dim}"
            )
    x = x[tuple(slice(None) if d == dim else slice(n) for d, n in enumerate(index.shape))]
    check_places(index, x.shape[dim], dim)
    return np.take_along_axis(x, index, axis=dim)


def check_places(index, length, dim):
    """RuntimeError for an index outside [0, length)."""
    wrong = index[(index < 0) | (index >= length)]
    if wrong.size:
        raise RuntimeError(f"index {wrong.flat[0]} is out of bounds for dimension {dim} with size {length}")


def take_places(x, dim, index):
    """The slices of x at the places index names; IndexError for a place that is not there."""
    if index.dtype.kind != "i":
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if x.ndim == 0:
        if index.size != 1:
            raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
        return x.copy()
    wrong = index[(index < 0) | (index >= x.shape[dim])]
    if wrong.size and dim and not x.shape[dim]:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    if wrong.size and dim:
        raise RuntimeError(f"INDICES element is out of DATA bounds, id={wrong[0]} axis_dim={x.shape[dim]}")
    if wrong.size:
        raise IndexError("index out of range in self")
    return np.take(x, np.atleast_1d(index), axis=dim)


def scatter_add(x, dim, index, src):
    """A copy of x with src[i] added at index[i] along a dimension; RuntimeError for shapes that do not fit."""
    if index.dtype.kind != "i":
        raise RuntimeError("scatter(): Expected dtype int32/int64 for index")
    if x.dtype != src.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if not index.size:
        return np.array(x, order="C")
    check_scattered(x, dim, index, src)
    check_places(index, x.shape[dim] if x.ndim else 1, dim)
    result = np.array(x, order="C")
    np.add.at(as_line(result), *scattered(dim, as_line(index), as_line(src)))
    return result


def check_scattered(x, dim, index, src):
    """RuntimeError, or IndexError, for an index that names more places than there are, or has not enough sources."""
    sizes, places, given = (np.shape(each) or (1,) for each in (x, index, src))
    if len(sizes) != len(places):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    fits = all(d == dim or i <= n for d, (i, n) in enumerate(zip(places, sizes, strict=True)))
    fits = fits and all(i <= n for i, n in zip(places, given, strict=False))
    if fits and np.ndim(src) and len(places) > len(given):
        n = len(given)
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {n})")
    if len(places) != len(given):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if not fits:
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self {list(x.shape)} apart from dimension {dim} "
            f"and to be no larger size than src {list(np.shape(src))}"
        )


def scattered(dim, index, src):
    """(the places in NumPy's words, the part of src that goes there)."""
    places = list(np.indices(index.shape, sparse=True))
    places[dim] = index
    return tuple(places), src[tuple(slice(n) for n in index.shape)]


def index_add(x, dim, index, source, alpha=1):
    """A copy of x with alpha * source[i] added at place index[i] of a dimension; errors for what does not fit."""
    if index.ndim > 1:
        raise IndexError(
            f"index_add_(): Index is supposed to be a vector, but got dim: {index.ndim} with type: "
            f"{title(index).title} and size: {list(index.shape)}"
        )
    if index.dtype.kind != "i":
        raise RuntimeError(f"index_add_(): Expected dtype int32/int64 for index but got: {title(index).title}")
    if x.dtype != source.dtype:
        kinds = title(x).title, title(source).title
        raise RuntimeError(f"index_add_(): self ({kinds[0]}) and source ({kinds[1]}) must have the same scalar type")
    if dim and dim >= source.ndim:
        raise RuntimeError(
            f"index_add_(): Indexing dim {dim} is out of bounds of the source tensor with dim {source.ndim}"
        )
    if not source.ndim and index.size != 1:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if source.ndim and index.size != source.shape[dim]:
        raise RuntimeError(
            f"index_add_(): Number of indices ({index.size}) should be equal to source.size(dim): "
            f"({source.shape[dim]}), for dim: {dim}"
        )
    sizes = [t.shape[:dim] + t.shape[dim + 1 :] if x.ndim and source.ndim else t.shape for t in (x, source)]
    if sizes[0] != sizes[1]:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(x.shape)} source.shape = {list(source.shape)}"
        )
    if x.ndim <= 1 and index.size and not (0 <= index.min() and index.max() < x.size):
        raise IndexError("index out of range in self")
    check_places(index, x.shape[dim] if x.ndim else 1, dim)
    result, source = np.array(x, order="C"), as_line(source)
    add_rows(np.moveaxis(as_line(result), dim, 0), as_line(index), np.moveaxis(source, dim, 0), alpha)
    return result


def add_rows(whole, places, rows, alpha=1):
    """Add each row, times alpha, at its place. For more than a few, np.add.at does it in seven times the time.

    What goes to one place is summed first, in the order of the rows.
    """
    rows = rows if alpha == 1 else rows * alpha
    if rows.size < 1000 or rows.dtype.kind == "b":
        return np.add.at(whole, places, rows)
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    new = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))[: len(ordered)]
    if len(new) == len(places):
        whole[places] += rows
    elif len(new):
        whole[ordered[new]] += np.add.reduceat(rows[order], new, axis=0)


def masked_select(x, mask):
    """The elements where the mask is True, in one dimension."""
    if mask.dtype.kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    try:
        x, mask = np.broadcast_arrays(x, mask)
    except ValueError:
        raise sizes_differ(mask.shape, x.shape) from None
    return x[mask]


def masked_scatter(x, mask, source):
    """x with the elements of `source` put, in order, where the mask is True."""
    if x.dtype != source.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got{title(x).title} and "
            f"{title(source).title}"
        )
    result = np.array(np.broadcast_to(x, np.broadcast_shapes(x.shape, mask.shape)))
    chosen = np.broadcast_to(mask, result.shape)
    result[chosen] = source.reshape(-1)[: np.sum(chosen)]
    return result


def filled_up(x, sizes):
    """A line of gradients in a shape that has more elements: those that were not used get 0."""
    return np.concatenate([x, np.zeros(math.prod(sizes) - len(x), x.dtype)]).reshape(sizes)


def put_at(x, dim, index, values):
    """A copy of x with values[i], or one value, written at index[i] along a dimension."""
    src = values if isinstance(values, np.ndarray | np.generic) else np.broadcast_to(x.dtype.type(values), index.shape)
    if index.dtype.kind != "i" or x.dtype != src.dtype:
        scatter_add(x, dim, index, src)  # raises, and says why
    result = np.array(x, order="C")
    if index.size:
        check_scattered(x, dim, index, src)
        check_places(index, x.shape[dim] if x.ndim else 1, dim)
        places, part = scattered(dim, as_line(index), as_line(src))
        as_line(result)[places] = part
    return result


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
    result = np.array(copy(x))
    line = as_line(result)
    if np.ndim(value):
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    check_slices("", as_line(index), -line.shape[dim], line.shape[dim], dim)
    line[(slice(None),) * dim + (index,)] = whole(value, x.dtype)
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
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {title(index).title}")
    if source.dtype != x.dtype:
        kinds = title(x).title, title(source).title
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
    line, index = as_line(result), as_line(index)
    check_slices("index_copy_(): ", index, 0, line.shape[dim], dim)
    line[(slice(None),) * dim + (index,)] = as_line(source)
    return result


def different(index):
    """Each index once."""
    return np.unique(index)


def scatter_value(x, dim, index, value):
    return put_at(x, dim, index, value)
