"""The methods of Tensor that few programs call: read when the first of them is used. methods.py names them.

PyTorch: torch/_tensor.py, torch/csrc/autograd/generated/python_variable_methods.cpp.
"""

import numpy as np

from course_lib.arrays import messages
from course_lib.arrays.kernels_more import floor_quotient
from course_lib.arrays.memory import copied_with_storage
from course_lib.engine import grad_mode, views
from course_lib.engine.arguments import broadcast_error, number, operands, promote, tensor_argument
from course_lib.engine.build import rows
from course_lib.engine.graph import want_grad
from course_lib.engine.tensor import Tensor, alias, counter_of, memory_of, meta_of, new_tensor, no_edge
from course_lib.engine.views import gradient_edge, requires_grad
from course_lib.surface import creation, indexing
from course_lib.surface import functions as composites
from course_lib.surface import functions_more as composites_more
from course_lib.surface.functions import rename_node
from course_lib.surface.methods import keep_form, warn_of_hooks

state = grad_mode.state

# --- operators ---------------------------------------------------------------------------------------------


def __floordiv__(self, other):
    return quotient_rounded_down(self, other, in_place=False)


def __ifloordiv__(self, other):
    return quotient_rounded_down(self, other, in_place=True)


def __rfloordiv__(self, other):
    return quotient_rounded_down(number(other, self), self, in_place=False)


def quotient_rounded_down(self, other, in_place):
    """self / other rounded down, as a new tensor or over self."""
    self, other = operands("floor_divide", self, other)
    tracked = state.recording > 0 and (requires_grad(self) or requires_grad(other))
    if in_place:
        views.check_in_place(self, tracked)
    edges = (gradient_edge(self, other), gradient_edge(other, self)) if tracked else ()
    edges = tuple(edge for edge in edges if edge is not None)  # as PyTorch does where there is no derivative
    tracked = bool(edges)  # none for inference tensors only
    try:
        values = floor_quotient(*promote(self, other))
    except ValueError:
        raise broadcast_error(self, other) from None
    if in_place:
        views.write(self, values, other)
        if tracked:
            views.rebase_history(self, composites_more.without_derivative("aten::floor_divide_", edges))
        return self
    result = composites.without_gradient(values)
    if tracked:
        result.node = composites_more.without_derivative("aten::floor_divide", edges)
    return result


def __mod__(self, other):
    return composites_more.remainder(self, other)


def __rmod__(self, other):
    return composites_more.remainder(other, self) if isinstance(other, Tensor) else remainder_of_number(other, self)


def remainder_of_number(value, other):
    """A number's remainder, which has no derivative in PyTorch."""
    with grad_mode.AutoGradMode(False):
        result = rows.remainder(number(value, other), other)
    edge = gradient_edge(other) if state.recording > 0 else None
    if edge is not None:
        result.node = composites_more.without_derivative("aten::remainder", (edge,))
    return result


def __imod__(self, other):
    return composites_more.remainder_(self, other)


def __rlshift__(self, other):
    return composites_more.bitwise_left_shift(creation.tensor(other), self)


def __rrshift__(self, other):
    return composites_more.bitwise_right_shift(creation.tensor(other), self)


def __reversed__(self):
    return composites_more.flip(self, 0) if self.array.ndim else self


# --- adding and writing at places --------------------------------------------------------------------------


def scatter_add_(self, dim, index, src):
    """Add src at the places that index names along a dimension."""
    indexing.before_writing(self, index, src)
    return rows.scatter_add_(self, indexing.dimension(self, dim), index, src)


def index_add_(self, dim, index, source, *, alpha=1):
    """Add the slices of alpha * source at the places that index names along a dimension."""
    indexing.before_writing(self, index, source)
    return rows.index_add_(self, indexing.dimension(self, dim), index, source, alpha)


def index_put_(self, indices, values, accumulate=False):
    """Write (or add) values at the places that index tensors name."""
    return indexing.put_(self, indexing.index_tensors(indices, 0), values, accumulate)


# --- another shape, another memory -------------------------------------------------------------------------


def t_in_place(input):
    if input.array.ndim > 2:
        raise RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {input.array.ndim}D")
    return rows.t(input)


NODES_OF_SHAPE_CHANGES = {
    "TBackward0": "TBackward1", "TransposeBackward0": "TransposeBackward1", "UnsqueezeBackward0": "UnsqueezeBackward1",
    "SqueezeBackward0": "SqueezeBackward3", "SqueezeBackward1": "SqueezeBackward4",
    "SqueezeBackward2": "SqueezeBackward5",
}  # fmt: skip


def _in_place_shape(name, change):
    """t_, unsqueeze_ and the like: the tensor itself changes shape. Counts as a write although no value moves."""

    def method_(self, *args):
        views.check_in_place(self, state.recording > 0 and requires_grad(self))
        edge = gradient_edge(self) if state.recording > 0 else None
        changed = change(alias(self) if edge is None else twin(self), *args)
        views.count_write(self)
        if edge is None:
            keep_form(self, changed.array)
        self.array = changed.array
        if edge is not None:
            rename_node(changed.node, NODES_OF_SHAPE_CHANGES[type(changed.node).__name__])
            retains = self.retains_grad
            if retains:  # what is retained stays the gradient in the old shape
                self.meta.retains_grad = False
            views.set_history(self, changed.node)
            if retains:
                self.meta.retains_grad = True
            if self._is_view():
                self.meta.view.version = self.version.value  # no value moved: the base's history stays as it is
        return self

    method_.__name__ = name
    method_.__doc__ = f"{name.rstrip('_')}, changing this tensor itself instead of returning another."
    return method_


def twin(tensor):
    """Another tensor on the same memory with the same history."""
    other = alias(tensor)
    other.node = views.grad_fn(tensor)
    if tensor.meta is not None and tensor.meta.edge_to_output:
        meta_of(other).edge_to_output, other.meta.output_nr = True, tensor.meta.output_nr
    return other


t_, transpose_ = _in_place_shape("t_", t_in_place), _in_place_shape("transpose_", composites.transpose)
unsqueeze_ = _in_place_shape("unsqueeze_", composites.unsqueeze)
squeeze_ = _in_place_shape("squeeze_", composites.squeeze)


def set_(self, source=None):
    """Make the tensor look at another tensor's memory, or at none. Counts as a write."""
    source = creation.empty(0, dtype=self.dtype) if source is None else tensor_argument("set_", "source", source)
    if source.array.dtype != self.array.dtype:
        kinds = [t.dtype.c_name for t in (source, self)]
        raise RuntimeError(f"Could not set tensor of type {kinds[0]} to a tensor of type {kinds[1]}")
    tracked = state.recording > 0 and (requires_grad(self) or requires_grad(source))
    views.check_in_place(self, tracked)
    edges = (gradient_edge(self), gradient_edge(source)) if tracked else ()
    views.count_write(self)
    if not tracked:
        keep_form(self, source.array)
        if not state.inference:
            meta_of(self).accumulator, self.meta.leaf_edge = None, no_edge  # from here on as a new leaf
    self.array = memory_of(source)
    if tracked:
        views.rebase_history(self, composites_more.without_derivative("set_", edges))
    return self


# --- copies of the object ----------------------------------------------------------------------------------


def __deepcopy__(self, memo):
    if views.grad_fn(self) is not None:
        raise RuntimeError(messages.DEEPCOPY_OF_NON_LEAF)
    if id(self) in memo:
        return memo[id(self)]
    array = copied_with_storage(memory_of(self), memo) if self.keeps_grad_when_copied else np.array(self.array)
    copy = memo[id(self)] = new_tensor(array, type(self))
    counter_of(copy).value += self.writes_when_copied
    if state.inference:
        meta_of(copy).inference = True
    if requires_grad(self):
        want_grad(copy)
    if self.meta is not None and self.meta.grad is not None and self.keeps_grad_when_copied:
        meta_of(copy).grad = __deepcopy__(self.meta.grad, memo)
    if self.__dict__ and self.keeps_grad_when_copied:
        from copy import deepcopy

        copy.__dict__.update(deepcopy(self.__dict__, memo))
    return copy


def __copy__(self):
    """Another leaf on the same memory, with a counter of its own."""
    warn_of_hooks(self)
    copy = new_tensor(memory_of(self), type(self))
    counter_of(copy).value += self.writes_when_copied
    copy.__dict__.update(self.__dict__)
    if state.inference and self.keeps_grad_when_copied:
        meta_of(copy).inference = True
    return want_grad(copy) if requires_grad(self) else copy
