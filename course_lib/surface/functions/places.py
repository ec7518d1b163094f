"""Elements at places that an index or a mask names: gather, scatter, where, masked_fill.

PyTorch: aten/src/ATen/native (TensorAdvancedIndexing.cpp, TensorCompare.cpp).
"""


import numpy as np

from course_lib.arrays import kernels
from course_lib.engine.arguments import Operand, number_of
from course_lib.engine.build import rows
from course_lib.engine.tensor import Tensor
from course_lib.surface import creation, indexing
from course_lib.surface.functions import shapes
from course_lib.surface.functions.results import rename_node, without_gradient


def where(condition: Tensor, input: Tensor | None = None, other: Operand | None = None) -> Tensor:
    """Return input where the condition holds, other elsewhere; either may be a number."""
    if input is None and other is None:
        return tuple(without_gradient(places) for places in np.nonzero(np.atleast_1d(condition.array)))
    if condition.array.dtype.kind != "b":
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.title}"
        )
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        input = creation.tensor(number_of(input))
    return rows.select_where(condition, input, other)


def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """Return the elements where the mask is True, in one dimension; the two are broadcast against each other."""
    if mask.array.dtype.kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    kernels.sizes_of_both(input.array, mask.array)
    shape = np.broadcast_shapes(input.array.shape, mask.array.shape)
    return rename_node(shapes.expand(input, shape)[shapes.expand(mask, shape)], "MaskedSelectBackward0")


def index_put_(self: Tensor, indices: tuple, values: Tensor, accumulate: bool = False) -> Tensor:
    """Write (or add) values at the places that index tensors name."""
    return indexing.put_(self, list(indices), values, accumulate)
