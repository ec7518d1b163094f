"""cat and stack: tensors joined along a dimension. Their rows would have no fixed number of inputs.

PyTorch: aten/src/ATen/native/TensorShape.cpp (cat, stack), derivatives.yaml.
"""

import numpy as np

from course_lib.arrays import dtypes, kernels
from course_lib.arrays.messages import type_name
from course_lib.engine import grad_mode
from course_lib.engine.arguments import Operand, dimension
from course_lib.engine.build import rows
from course_lib.engine.graph import Node, init_node
from course_lib.engine.ops import instrument
from course_lib.engine.saved import add_slot_properties
from course_lib.engine.tensor import Tensor, mark_inference, new_tensor
from course_lib.engine.views import gradient_edge

state = grad_mode.state


class CatBackward0(Node):
    """The history of cat: each input gets its own stretch of the gradient."""

    __slots__ = ("saved_dim", "lengths", "input_metadata")
    saved_names = ("dim",)

    def apply(self, grad: np.ndarray) -> tuple:
        pieces, end = [], 0
        for length in self.lengths:
            start, end = end, end + (length or 0)
            pieces.append(self.piece(grad, start, end, length))
        return tuple(pieces)

    def piece(self, grad: np.ndarray, start: int, end: Operand, length: int) -> np.ndarray:
        """Return one input's stretch; an empty vector may stand among tensors of any shape, and its length is None."""
        if isinstance(grad, Tensor):
            return new_tensor(np.zeros(0, grad.array.dtype)) if length is None else rows.slice_dim(
                grad, self.saved_dim, start, end, 1
            )
        return np.zeros(0, grad.dtype) if length is None else kernels.take_slice(grad, self.saved_dim, start, end, 1)


class StackBackward0(Node):
    """The history of stack: each input gets its own layer of the gradient."""

    __slots__ = ("saved_dim", "input_metadata")
    saved_names = ("dim",)

    def apply(self, grad: Tensor | np.ndarray) -> tuple:
        if isinstance(grad, Tensor):
            return tuple(rows.select(grad, self.saved_dim, i) for i in range(len(self.edges)))
        return tuple(np.moveaxis(grad, self.saved_dim, 0))


add_slot_properties(CatBackward0)
add_slot_properties(StackBackward0)


def tensor_list(name: str, tensors: Tensor | list | tuple) -> list:
    """Return the inputs of cat or stack, checked."""
    if not isinstance(tensors, list | tuple):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type_name(tensors)}")
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected Tensor as element {position} in argument 0, but got {type_name(tensor)}")
    if not tensors:
        error = ValueError if name == "cat" else RuntimeError
        raise error(f"torch.{name}(): expected a non-empty list of Tensors")
    return list(tensors)


def cat(tensors: Tensor | list, dim: int = 0) -> Tensor:
    """Return the tensors one after the other along a dimension; RuntimeError when other dimensions differ."""
    tensors = tensor_list("cat", tensors)
    kept = [t for t in tensors if t.array.shape != (0,)] or tensors[:1]
    dim, first = dimension(kept[0], dim), kept[0].array.shape
    for position, tensor in enumerate(tensors):
        shape = tensor.array.shape
        if shape == (0,):
            continue
        if len(shape) == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {position}) cannot be concatenated")
        if len(shape) != len(first):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
        for d, (a, b) in enumerate(zip(first, shape, strict=True)):
            if d != dim and a != b:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {a} but got size {b} for "
                    f"tensor number {position} in the list."
                )
    result = new_tensor(np.ascontiguousarray(np.concatenate(arrays_of_one_type(kept, tensors), dim)))
    lengths = [None if t.array.shape == (0,) else t.array.shape[dim] for t in tensors]
    return joined(result, CatBackward0, tensors, dim, lengths)


def stack(tensors: list | tuple, dim: int = 0) -> Tensor:
    """Return the tensors side by side along a new dimension; RuntimeError when their shapes differ."""
    tensors = tensor_list("stack", tensors)
    dim, first = dimension(tensors[0], dim, extra=1), tensors[0].array.shape
    for position, tensor in enumerate(tensors):
        if tensor.array.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                f"{list(tensor.array.shape)} at entry {position}"
            )
    arrays = [kernels.add_dim(array, dim) for array in arrays_of_one_type(tensors, tensors)]
    result = new_tensor(np.ascontiguousarray(np.concatenate(arrays, dim)))
    return joined(result, StackBackward0, tensors, dim)


def arrays_of_one_type(kept: list, tensors: list) -> list:
    """Return the arrays of the tensors that are kept, in the common type of all."""
    first = tensors[0].array.dtype
    if all([t.array.dtype is first for t in tensors]):
        return [t.array for t in kept]
    wanted = dtypes.result_type([(t.array.dtype, 2) for t in tensors])
    return [t.array.astype(wanted, copy=False) for t in kept]


def joined(result: Tensor, node_class: type, tensors: list, dim: int, lengths: list | None = None) -> Tensor:
    """Record cat or stack."""
    if state.recording <= 0:
        return result if state.recording == 0 else mark_inference(result)
    edges = tuple(gradient_edge(t) for t in tensors)
    if all(edge is None for edge in edges):
        return result
    node = result.node = init_node(node_class(), edges)
    node.saved_dim = dim
    node.input_metadata = None
    if any(t.array.dtype is not result.array.dtype for t in tensors):
        node.input_metadata = tuple((t.array.shape, t.array.dtype) for t in tensors)
    if lengths is not None:
        node.lengths = lengths
    if state.recording == 2:
        instrument(node, result)
    return result


