"""`x[...]` and `x[...] = v`, whose index may be a list of tensors: their rows would have no fixed number of inputs.

PyTorch: torch/csrc/autograd/python_variable_indexing.cpp, aten/src/ATen/native/TensorAdvancedIndexing.cpp.
"""

import numpy as np

from course_lib.arrays import dtypes, kernels
from course_lib.arrays.memory import overlaps
from course_lib.arrays.messages import OVERLAPS_OPERAND, type_name, warn_once
from course_lib.engine import grad_mode
from course_lib.engine.build import rows
from course_lib.engine.graph import Node, init_node
from course_lib.engine.ops import instrument
from course_lib.engine.saved import FREED, SavedVariable, add_slot_properties
from course_lib.engine.tensor import Tensor, mark_inference, new_tensor, writable_array
from course_lib.engine.unbroadcast import unbroadcast
from course_lib.engine.views import check_in_place, count_write, gradient_edge, rebase_history, requires_grad

state = grad_mode.state
LIST_AS_TUPLE = "Using a non-tuple sequence for multidimensional indexing is deprecated. Use x[tuple(seq)] instead"

# --- reading -----------------------------------------------------------------------------------------------


def getitem(tensor: Tensor, index: object) -> Tensor:
    """Return `tensor[index]`: a view for numbers, slices, None and ...; a copy when a tensor or a list takes part."""
    if type(index) is slice:
        return take_slice(tensor, 0, index)
    if type(index) is int and tensor.array.ndim:
        return take_index(tensor, 0, index, 0)
    view, indices = apply_simple(tensor, index)
    if indices:
        return take(view, indices)
    return rows.alias(tensor) if view is tensor else view


def apply_simple(tensor: Tensor, index: object) -> tuple:
    """Apply numbers, slices, None and ...; return the view and the index tensors left, None where there is none."""
    parts = list(index) if isinstance(index, tuple) or counts_as_tuple(index) else [index]
    if tensor.array.ndim == 0 and len(parts) == 1 and is_mask(parts[0]) and parts[0].ndim == 0:
        tensor = rows.unsqueeze(tensor, 0)  # a mask without dimensions picks the one element or none
        parts = [new_tensor(np.flatnonzero(index_tensor(parts[0]).array))]
    used = sum(dimensions_used(part) for part in parts)
    if used > tensor.array.ndim:
        if tensor.array.ndim == 0:
            raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` to convert it to a number")
        raise IndexError(f"too many indices for tensor of dimension {tensor.array.ndim}")
    dim, indices, left = 0, [], tensor.array.ndim - used
    for place, part in enumerate(parts):
        if part is Ellipsis:
            dim += left
        elif part is None:
            tensor = rows.unsqueeze(tensor, dim)
            dim += 1
        elif isinstance(part, slice):
            tensor = take_slice(tensor, dim, part, skip_whole=True)
            dim += 1
        elif is_number(part):
            tensor = take_index(tensor, dim, int(part), place)
        else:
            indices += [None] * (dim - len(indices)) + [index_tensor(part)]
            dim += dimensions_used(part)
            indices += [None] * (dim - len(indices))
    while indices and indices[-1] is None:
        indices.pop()
    return tensor, indices


def counts_as_tuple(index: object) -> bool:
    """Return True for a short list with tensors, lists, slices, ... or None in it: an index for each dimension."""
    if not isinstance(index, list) or len(index) >= 32:
        return False
    counts = any(isinstance(i, Tensor | list | tuple | range | slice) or i is Ellipsis or i is None for i in index)
    if counts:
        warn_once(LIST_AS_TUPLE, stacklevel=4)
    return counts


def dimensions_used(part: object) -> int:
    """Return how many dimensions of the tensor an index part stands for."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if is_mask(part) else 1


def is_mask(part: object) -> bool:
    """Return True for a bool tensor or array."""
    return isinstance(part, Tensor | np.ndarray) and part.dtype in (dtypes.bool_, dtypes.BOOL)


def is_number(part: Tensor | float | list) -> bool:
    """Return True for an index that selects one place: an int, or an integer tensor without dimensions."""
    if isinstance(part, Tensor):
        return part.array.ndim == 0 and part.array.dtype.kind == "i"
    return isinstance(part, int | np.integer) and not isinstance(part, bool)


def index_tensor(part: Tensor | float | list) -> Tensor:
    """Return an index tensor from a tensor, a list or an array."""
    from course_lib.surface.creation import tensor

    if not isinstance(part, Tensor):
        if not isinstance(part, list | tuple | np.ndarray | range):
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
                f"{type(part).__name__})"
            )
        part = tensor(part)
        part = part if part.array.size else part.long()
    if part.array.dtype.kind == "f" and part.array.size:
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return part


def take_index(tensor: Tensor, dim: int, index: int, named_dim: int) -> Tensor:
    """Return one place along a dimension; IndexError, with PyTorch's number for the dimension, if there is none."""
    length = tensor.array.shape[dim]
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of bounds for dimension {named_dim} with size {length}")
    return rows.select(tensor, dim, index % length)


def take_slice(tensor: Tensor, dim: int, part: slice, skip_whole: bool = False) -> Tensor:
    """Return a slice of a dimension; ValueError for a step that is not positive."""
    if tensor.array.ndim == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if part.step == 0:
        raise ValueError("slice step cannot be zero")
    if part.step is not None and part.step < 0:
        raise ValueError("step must be greater than zero")
    length = tensor.array.shape[dim]
    start, end, step = part.indices(length)
    if skip_whole and not part.start and (start, end, step) == (0, length, 1):
        return tensor
    return rows.slice_dim(tensor, dim, start, max(start, end), step)


class NodeOfPlaces(Node):
    """The base of the nodes of `x[i]` and `x[i] = v`: they keep indices, and their formulas take tensors."""

    __slots__ = ("saved_indices",)

    def apply(self, grad: np.ndarray) -> tuple:
        return tuple(None if g is None else g.array for g in self.apply_to_tensors(new_tensor(grad)))

    def unpacked(self) -> list:
        """Return the index tensors that are kept, after the version check."""
        return [s and s.unpack(self) for s in self.saved_indices]

    def release(self) -> None:
        self.saved_indices = [s and FREED for s in self.saved_indices]


class IndexBackward0(NodeOfPlaces):
    """The history of `x[i]` with index tensors: the gradient is added back at the places that were read."""

    __slots__ = ("saved_self_sym_sizes",)
    saved_names, saved_tensor_names = ("indices", "self_sym_sizes"), ("indices",)

    def apply(self, grad: np.ndarray) -> tuple:
        whole = np.zeros(self.saved_self_sym_sizes, grad.dtype)
        add_at(whole, numpy_index(self.unpacked()), grad)
        return (whole,)

    def apply_to_tensors(self, grad: Tensor) -> tuple:
        whole = new_tensor(np.zeros(self.saved_self_sym_sizes, grad.array.dtype))
        return (put_(whole, self.unpacked(), grad, accumulate=True, kind=IndexPutImplBackward0),)


add_slot_properties(IndexBackward0)


def add_at(whole: np.ndarray, index: tuple, values: np.ndarray) -> None:
    """Add the gradient of what an index named at its places: whole rows are quicker by themselves."""
    first = index[0]
    if len(index) == 1 and first.dtype == np.int64:
        kernels.add_rows(whole, first.reshape(-1) % max(len(whole), 1), values.reshape(first.size, *whole.shape[1:]))
    else:
        np.add.at(whole, index, values)


def numpy_index(indices: list) -> tuple:
    """Return the index as NumPy takes it."""
    return tuple(slice(None) if i is None else i.array for i in indices)


def in_pytorchs_words(error: object) -> object:
    """Return the IndexError for what NumPy says of an index."""
    text = str(error).replace("for axis", "for dimension").replace("indexing arrays", "indexing tensors")
    return IndexError(text.replace("boolean index did not match", "the shape of the mask does not match the"))


def take(tensor: Tensor, indices: list) -> Tensor:
    """Return elements at the places that index tensors name, in new memory."""
    try:
        array = tensor.array[numpy_index(indices)]
    except IndexError as error:
        raise in_pytorchs_words(error) from None
    result = new_tensor(kernels.packed(array) if array.ndim else array)
    if state.recording <= 0:
        return result if state.recording == 0 else mark_inference(result)
    edge = gradient_edge(tensor)
    if edge is not None:
        node = result.node = init_node(IndexBackward0(), (edge,))
        node.saved_self_sym_sizes = tensor.array.shape
        node.saved_indices = keep_all(indices)
        if state.recording == 2:
            instrument(node, result)
    return result


# --- writing -----------------------------------------------------------------------------------------------


def check_apart(tensor: Tensor, *others) -> None:
    """Raise RuntimeError when a tensor to be written to has an element in common with what is read meanwhile."""
    memory = writable_array(tensor)
    if any(isinstance(other, Tensor) and overlaps(memory, writable_array(other)) for other in others):
        raise RuntimeError(OVERLAPS_OPERAND)


def setitem(tensor: Tensor, index: object, value: object) -> None:
    """Set `tensor[index] = value`: writes a view of the tensor, or with index tensors the tensor itself."""
    if not isinstance(value, Tensor):
        if not isinstance(value, int | float | np.integer):
            raise TypeError(f"can't assign a {type_name(value)} to a {tensor.type()}")
        value = new_tensor(np.asarray(value).astype(tensor.array.dtype))
    if type(index) is slice:
        view, indices = take_slice(tensor, 0, index, skip_whole=True), []
    else:
        view, indices = apply_simple(tensor, index)
    if indices:
        put_(view, indices, value if value.array.shape[:1] != (1,) else rows.view(value, without_ones(value)))
    elif value.array.ndim == 0 != view.array.ndim:
        rows.fill_tensor_(view, value)
    else:
        view.copy_(spread(value, view.array.shape))


def spread(value: Tensor, shape: tuple) -> Tensor:
    """Return an assigned value in the shape of its place; it may have more leading dimensions of length 1."""
    if value.array.shape == shape or not value.array.ndim:
        return value
    value = rows.view(value, without_ones(value))
    return value if value.array.shape == shape else rows.expand(value, shape)


def without_ones(value: Tensor) -> tuple:
    """Return a value's sizes without leading dimensions of length 1."""
    sizes = value.array.shape
    while sizes and sizes[0] == 1:
        sizes = sizes[1:]
    return sizes


class IndexPutBackward0(NodeOfPlaces):
    """The history of `x[i] = v` with index tensors: x gets no gradient where it was replaced, v gets it there."""

    __slots__ = ("saved_accumulate", "value_form")
    saved_names, saved_tensor_names = ("accumulate", "indices"), ("indices",)

    def apply_to_tensors(self, grad: Tensor) -> tuple:
        indices, (into, value) = self.unpacked(), self.edges
        grad_self = grad_value = None
        if into is not None:
            grad_self = grad if self.saved_accumulate else put_(rows.clone(grad), indices, 0.0)
        if value is not None:
            grad_value = self.fit_value(take(grad, indices))
        return grad_self, grad_value

    def fit_value(self, part: Tensor) -> Tensor:
        """Return the gradient of the part that was written, in the form of the value, which may have leading ones."""
        shape, dtype = self.value_form
        extra = max(len(shape) - len(part.shape), 0)
        fitted = unbroadcast(part, shape[extra:], dtype)
        return fitted.reshape(shape) if extra else fitted


add_slot_properties(IndexPutBackward0)


class IndexPutImplBackward0(IndexPutBackward0):
    """The same, where the gradient of an index was put into zeros."""

    __slots__ = ()


def put_(
    tensor: Tensor, indices: list, value: Tensor | float, accumulate: bool = False, kind: type = IndexPutBackward0
) -> Tensor:
    """Write (or add) `value` at the places that index tensors name. In place; the indices are kept."""
    is_tensor = isinstance(value, Tensor)
    values = value.array if is_tensor else value
    edges = (None, None)
    check_in_place(tensor, state.recording > 0 and (requires_grad(tensor) or is_tensor and requires_grad(value)))
    if state.recording > 0:
        edges = gradient_edge(tensor), gradient_edge(value) if is_tensor else None
    tracked = edges != (None, None)
    check_apart(tensor, value, *indices)
    kinds = [index.array.dtype.kind for index in indices if index is not None]
    is_fill = np.size(values) == 1 and not accumulate and kinds == ["b"]
    memory, index = writable_array(tensor), numpy_index(indices)
    if is_tensor and value.array.dtype != tensor.array.dtype and not is_fill:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{tensor.dtype.title} for the destination and {value.dtype.title} for the source."
        )
    kept = keep_all(indices) if tracked else None
    try:
        if accumulate:
            np.add.at(memory, index, values)
        else:
            memory[index] = values
    except ValueError:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(np.shape(values))} cannot be broadcast to indexing result of "
            f"shape {list(memory[index].shape)}"
        ) from None
    except (IndexError, TypeError) as error:
        raise in_pytorchs_words(error) from None
    count_write(tensor)
    if tracked:
        node = init_node(kind(), edges)
        node.saved_indices, node.saved_accumulate = kept, accumulate
        node.value_form = (np.shape(values), values.dtype if is_tensor else tensor.array.dtype)
        rebase_history(tensor, node)
        if state.recording == 2:
            instrument(node, tensor)
    return tensor


def keep_all(indices: list) -> list:
    """Return the index tensors saved, one slot each; None stays None."""
    return [None if index is None else SavedVariable.of(index) for index in indices]
