"""Elements read or written at places that an index or a mask names.

PyTorch: aten/src/ATen/native (TensorAdvancedIndexing.cpp, ScatterGatherChecks.h, IndexingUtils.h).
"""


import numpy as np

from course_lib.arrays.dtypes import of_array as title
from course_lib.arrays.kernels.checks import sizes_of_both, whole


def masked_fill(x: np.ndarray, mask: np.ndarray, value: float) -> np.ndarray:
    """Return x with `value` wherever the mask is True."""
    if mask.dtype.kind != "b":
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {title(mask).c_name}")
    value = getattr(value, "array", value)
    if np.ndim(value):
        raise RuntimeError(f"masked_fill_ only supports a 0-dimensional value, but got {np.ndim(value)} dimension(s).")
    sizes_of_both(mask, x)
    return np.asarray(np.where(mask, whole(value, x.dtype), x), order="C")


def as_line(x: np.ndarray) -> np.ndarray:
    """Return a number as a vector of one element, which it is wherever places along a dimension are named."""
    return x if np.ndim(x) else np.reshape(x, 1)


def pick(x: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    """Return elements of x at the places index names along a dimension; RuntimeError for a place that is not there."""
    if not (x.ndim and index.ndim):
        return pick(as_line(x), dim, as_line(index)).reshape(index.shape)
    check_scattered(x, dim, index, index, "gather")
    x = x[tuple(slice(None) if d == dim else slice(n) for d, n in enumerate(index.shape))]
    return np.take_along_axis(x, index, axis=dim)


def check_places(index: np.ndarray, length: int, dim: int) -> None:
    """Raise RuntimeError for an index outside [0, length)."""
    wrong = index[(index < 0) | (index >= length)]
    if wrong.size:
        raise RuntimeError(f"index {wrong.flat[0]} is out of bounds for dimension {dim} with size {length}")


def take_places(x: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    """Return the slices of x at the places index names; IndexError for a place that is not there."""
    if index.dtype.kind != "i":
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if x.ndim == 0:
        if index.size != 1:
            raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
        return x.copy()
    if index.size and not (0 <= index.min() and index.max() < x.shape[dim]):
        raise IndexError("index out of range in self")
    return np.take(x, np.atleast_1d(index), axis=dim)


def scatter_add(x: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray) -> np.ndarray:
    """Return a copy of x with src[i] added at index[i] along a dimension; RuntimeError for shapes that do not fit."""
    check_scattered(x, dim, index, src)
    result = np.array(x, order="C")
    np.add.at(as_line(result), *scattered(dim, as_line(index), as_line(src)))
    return result


def check_scattered(x: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray, name: str = "scatter") -> None:
    """Raise RuntimeError for an index of places that are not there, or of another form than x and its sources."""
    if index.dtype.kind != "i":
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    sizes, places, given = (np.shape(each) or (1,) for each in (x, index, src))
    if not len(sizes) == len(places) == len(given):
        which = "src" if len(sizes) == len(places) else "input"
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {which} tensor")
    if any(d != dim and i > n for d, (i, n) in enumerate(zip(places, sizes, strict=True))) or any(
        i > n for i, n in zip(places, given, strict=True)
    ):
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self {list(x.shape)} apart from dimension {dim} "
            f"and to be no larger size than src {list(np.shape(src))}"
        )
    check_places(index, sizes[dim], dim)


def scattered(dim: int, index: np.ndarray, src: np.ndarray) -> tuple:
    """Return (the places in NumPy's words, the part of src that goes there)."""
    places = list(np.indices(index.shape, sparse=True))
    places[dim] = index
    return tuple(places), src[tuple(slice(n) for n in index.shape)]


def index_add(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, alpha: float = 1) -> np.ndarray:
    """Copy x with alpha * source[i] added at place index[i] of a dimension. RuntimeError for what does not fit."""
    check_slices(x, dim, index, source)
    result, source = np.array(x, order="C"), as_line(source)
    add_rows(np.moveaxis(as_line(result), dim, 0), as_line(index), np.moveaxis(source, dim, 0), alpha)
    return result


def check_slices(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> None:
    """Raise RuntimeError for places that are not there, or for other slices than these."""
    if index.ndim > 1 or index.dtype.kind != "i":
        form = f"of shape {list(index.shape)} and type {title(index).title}"
        raise RuntimeError(f"The index must be a vector of whole numbers, not {form}.")
    if x.dtype != source.dtype:
        kinds = title(x).title, title(source).title
        raise RuntimeError(f"self ({kinds[0]}) and source ({kinds[1]}) must have the same scalar type")
    (line, given), n = (as_line(each).shape for each in (x, source)), index.size
    if (*line[:dim], n, *line[dim + 1 :]) != given:
        raise RuntimeError(
            f"The source must have one slice for each of the {n} indices and otherwise the shape of self: self.shape = "
            f"{list(x.shape)} source.shape = {list(source.shape)}, for dim: {dim}"
        )
    check_places(index, line[dim], dim)


def add_rows(whole: np.ndarray, places: np.ndarray, rows: np.ndarray, alpha: float = 1) -> np.ndarray:
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


def put_at(x: np.ndarray, dim: int, index: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return a copy of x with values[i], or one value, written at index[i] along a dimension."""
    src = values if isinstance(values, np.ndarray | np.generic) else np.broadcast_to(x.dtype.type(values), index.shape)
    if x.dtype != src.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    check_scattered(x, dim, index, src)
    result = np.array(x, order="C")
    places, part = scattered(dim, as_line(index), as_line(src))
    as_line(result)[places] = part
    return result
