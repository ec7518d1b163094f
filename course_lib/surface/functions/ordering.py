"""Elements in order: sort, topk, median; those that are not zero, or different.

PyTorch: aten/src/ATen/native (Sorting.cpp, Unique.cpp).
"""

import numpy as np

from course_lib.engine.arguments import dimension
from course_lib.engine.build import rows
from course_lib.engine.tensor import Tensor
from course_lib.surface.functions import shapes
from course_lib.surface.functions.results import pair, without_gradient


def sort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None) -> object:
    """Return (values, indices) in order along a dimension."""
    values, places = rows.sort_dim(input, dimension(input, dim), descending)
    return pair("sort", (values, places))


def argsort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Tensor:
    """Return the places of the elements in order along a dimension."""
    return sort(input, dim, descending)[1]


def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> object:
    """Return (values, indices) of the k largest, or smallest, elements along a dimension."""
    return pair("topk", rows.topk_dim(input, k, dimension(input, dim), largest))


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Tensor | tuple:
    """Return the places of the elements that are not zero: one row a place, or one tensor a dimension."""
    if as_tuple:
        return shapes.unbind(nonzero(input if input.array.ndim else rows.unsqueeze(input, 0)), 1)
    found = np.nonzero(np.atleast_1d(input.array))
    found = found[: input.array.ndim]
    lines = np.stack(found) if found else np.zeros((0, int(bool(input.array))), np.int64)
    return without_gradient(np.array(lines.T, order="F"))  # by columns, as in PyTorch
