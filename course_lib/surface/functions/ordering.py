"""Elements in order: sort, topk, median; those that are not zero, or different.

PyTorch: aten/src/ATen/native (Sorting.cpp, Unique.cpp).
"""

import numpy as np

from course_lib.engine.arguments import dimension
from course_lib.engine.build import rows
from course_lib.surface.functions import shapes
from course_lib.surface.functions.results import pair, without_gradient


def sort(input, dim=-1, descending=False, *, stable=None):
    """(values, indices) in order along a dimension."""
    values, places = rows.sort_dim(input, dimension(input, dim), descending)
    return pair("sort", (values, places))


def argsort(input, dim=-1, descending=False, *, stable=False):
    """The places of the elements in order along a dimension."""
    return sort(input, dim, descending)[1]


def topk(input, k, dim=-1, largest=True, sorted=True):
    """(values, indices) of the k largest, or smallest, elements along a dimension."""
    return pair("topk", rows.topk_dim(input, k, dimension(input, dim), largest))


def nonzero(input, *, as_tuple=False):
    """The places of the elements that are not zero: one row a place, or one tensor a dimension."""
    if as_tuple:
        return shapes.unbind(nonzero(input if input.array.ndim else rows.unsqueeze(input, 0)), 1)
    found = np.nonzero(np.atleast_1d(input.array))
    found = found[: input.array.ndim]
    lines = np.stack(found) if found else np.zeros((0, int(bool(input.array))), np.int64)
    return without_gradient(np.array(lines.T, order="F"))  # by columns, as in PyTorch
