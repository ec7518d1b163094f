"""Elements at places that an index or a mask names: gather, scatter, where, masked_fill.

PyTorch: aten/src/ATen/native (TensorAdvancedIndexing.cpp, TensorCompare.cpp).
"""

import builtins

import numpy as np

from course_lib.arrays import kernels
from course_lib.engine.arguments import dimension, number_of
from course_lib.engine.build import rows
from course_lib.engine.tensor import Tensor, new_tensor
from course_lib.surface import creation, indexing
from course_lib.surface.functions import shapes
from course_lib.surface.functions.results import named, without_gradient


def where(condition, input=None, other=None):
    """input where the condition holds, other elsewhere; either may be a number."""
    if input is None and other is None:
        return tuple(without_gradient(places) for places in np.nonzero(np.atleast_1d(condition.array)))
    if condition.array.dtype.kind != "b":
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.title}"
        )
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        input = creation.tensor(number_of(input))
    return rows.select_where(condition, input, other)


def index_fill_(input, dim, index, value):
    """Write a number into the slices that index names along a dimension."""
    indexing.setitem(input, slices_at(input, dim, index), value)
    return input


def index_copy_(input, dim, index, source):
    """Replace the slices that index names along a dimension by those of source."""
    kernels.check_slices(input.array, dimension(input, dim), index.array, source.array)
    indexing.setitem(input, slices_at(input, dim, index), source)
    return input


def slices_at(input, dim, index):
    """The index that names slices along a dimension: input[:, :, index] for the third."""
    return (slice(None),) * dimension(input, dim) + (index,)


def masked_select(input, mask):
    """The elements where the mask is True, in one dimension; the two are broadcast against each other."""
    if mask.array.dtype.kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    kernels.sizes_of_both(input.array, mask.array)
    shape = np.broadcast_shapes(input.array.shape, mask.array.shape)
    return named(shapes.expand(input, shape)[shapes.expand(mask, shape)], "MaskedSelectBackward0")


def take_along_dim(input, indices, dim=None):
    """The elements at the places that indices, broadcast against the input, name along a dimension."""
    if dim is None:
        return rows.gather(shapes.reshape(input, -1), 0, shapes.reshape(indices, -1))
    dim = dimension(input, dim)
    indices = new_tensor(indices.array % builtins.max(input.array.shape[dim], 1))  # counted from the end, too
    others = [[1 if d == dim else n for d, n in enumerate(t.array.shape)] for t in (input, indices)]
    kernels.sizes_of_both(*(np.empty(sizes) for sizes in others))
    shape = list(np.broadcast_shapes(*others))
    shape[dim] = input.shape[dim]
    input, places = shapes.expand(input, shape), list(shape)
    places[dim] = indices.shape[dim]
    return rows.gather(input, dim, shapes.expand(indices, places))


def index_put_(self, indices, values, accumulate=False):
    """Write (or add) values at the places that index tensors name."""
    return indexing.put_(self, list(indices), values, accumulate)
