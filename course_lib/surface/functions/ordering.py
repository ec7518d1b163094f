"""Elements in order: sort, topk, median; those that are not zero, or different.

PyTorch: aten/src/ATen/native (Sorting.cpp, Unique.cpp).
"""

import numpy as np

from course_lib.engine.arguments import dimension
from course_lib.engine.build import rows
from course_lib.surface.functions import shapes
from course_lib.surface.functions.dimensions import check_kept, filled
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


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements in order, and on request where each element is among them and how often it occurs."""
    axis = None if dim is None else dimension(input, dim)
    values, _, inverse, counts = np.unique(input.array, True, True, True, axis, equal_nan=False)
    answer = [without_gradient(values)]
    shape = input.array.shape if dim is None else (-1,)
    answer += [without_gradient(inverse.reshape(shape))] if return_inverse else []
    answer += [without_gradient(counts)] if return_counts else []
    return answer[0] if len(answer) == 1 else tuple(answer)


def median(input, dim=None, keepdim=False):
    """The lower of the middle elements: of all, or (values, indices) along a dimension."""
    if dim is None:
        check_kept("median", keepdim)
        return rows.median_all(input)
    return at_place_in_order("median", input, dim, keepdim, lambda length: (length - 1) // 2)


def kthvalue(input, k, dim=-1, keepdim=False):
    """(values, indices) of the k-th smallest element along a dimension."""
    return at_place_in_order("kthvalue", input, dim, keepdim, lambda length: k - 1)


def at_place_in_order(name, input, dim, keepdim, place):
    """(values, indices) of the element at one place of the order along a dimension; errors when there is none."""
    dim = filled(name, input, dim)
    length = input.array.shape[dim] if input.array.ndim else 1
    if not 0 <= place(length) < length:
        raise RuntimeError(f"{name}(): selected number k out of range for dimension {dim}")
    parts = sort(input, dim)
    if input.array.ndim:
        parts = [shapes.narrow(part, dim, place(length), 1) for part in parts]
        parts = parts if keepdim else [shapes.squeeze(part, dim) for part in parts]
    return pair(name, parts)
