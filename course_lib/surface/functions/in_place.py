"""Another shape, or another memory, for the tensor itself: counted as writes, though no element moves.

PyTorch: aten/src/ATen/native/TensorShape.cpp (unsqueeze_, t_), torch/csrc/autograd/VariableTypeManual.cpp.
"""


from course_lib.engine import views
from course_lib.engine.arguments import tensor_argument
from course_lib.engine.build import rows
from course_lib.engine.grad_mode import state
from course_lib.engine.tensor import NO_EDGE, Tensor, alias, meta_of, writable_array
from course_lib.engine.views import gradient_edge, requires_grad
from course_lib.surface import creation
from course_lib.surface.functions import shapes
from course_lib.surface.functions.results import rename_node

NODES_OF_SHAPE_CHANGES = {
    "TBackward0": "TBackward1", "TransposeBackward0": "TransposeBackward1", "UnsqueezeBackward0": "UnsqueezeBackward1",
    "SqueezeBackward0": "SqueezeBackward3", "SqueezeBackward1": "SqueezeBackward4",
}  # fmt: skip


def _in_place_shape(name, change):
    """Make t_, unsqueeze_ and the like: the tensor itself changes shape, which counts as a write."""

    def method_(self, *args):
        views.check_in_place(self, state.recording > 0 and requires_grad(self))
        edge = gradient_edge(self) if state.recording > 0 else None
        changed = change(alias(self) if edge is None else twin(self), *args)
        views.count_write(self)
        self.array = changed.array
        if edge is not None:
            made = type(changed.node).__name__
            rename_node(changed, NODES_OF_SHAPE_CHANGES.get(made, made))
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


def twin(tensor: Tensor) -> Tensor:
    """Return another tensor on the same memory with the same history."""
    other = alias(tensor)
    other.node = views.grad_fn(tensor)
    if tensor.meta is not None and tensor.meta.edge_to_output:
        meta_of(other).edge_to_output, other.meta.output_nr = True, tensor.meta.output_nr
    return other


t_, transpose_ = _in_place_shape("t_", shapes.t), _in_place_shape("transpose_", rows.transpose)
unsqueeze_ = _in_place_shape("unsqueeze_", rows.unsqueeze)
squeeze_ = _in_place_shape("squeeze_", shapes.squeeze)


def set_(self: Tensor, source: Tensor | None = None) -> Tensor:
    """Make the tensor look at another tensor's memory, or at none. Counts as a write."""
    source = creation.empty(0, dtype=self.dtype) if source is None else tensor_argument("set_", "source", source)
    if source.array.dtype != self.array.dtype:
        kinds = [t.dtype.c_name for t in (source, self)]
        raise RuntimeError(f"Could not set tensor of type {kinds[0]} to a tensor of type {kinds[1]}")
    views.check_in_place(self, state.recording > 0 and requires_grad(self))
    views.count_write(self)
    meta_of(self).accumulator, self.meta.leaf_edge = None, NO_EDGE  # from here on as a new leaf
    self.array = writable_array(source)
    return self
