"""Views and writing in place: who shares memory with whom, and how history follows when memory is overwritten.

PyTorch: torch/csrc/autograd/variable.cpp (rebase_history, grad_fn), functions/tensor.cpp (CopySlices),
VariableTypeUtils.h (check_inplace), aten/src/ATen/MemoryOverlap.cpp.

Note [How history follows a write]
`x.mul_(3)` changes memory and history. For a tensor that owns its memory the history is simple: x had the node N,
now it has MulBackward0, whose edge leads to N. Everything computed from x before keeps its edge to N, and is right:
it used the old value.

With a view the memory belongs to the base, so the base's value changes too, and the value of every other view:

    base = a * 1;  v = base[:2];  w = base[1:];  v.mul_(3)

  1. The write is done, and the counter that base, v and w share goes up. What was saved of any of them is stale.
  2. `rebase_history` gives the base the node CopySlices. It holds MulBackward0 and where in the base v lies. Going
     back, it cuts that part out of the gradient, sends it through MulBackward0 and puts the result in its place; the
     rest passes as it is.
  3. Nobody tells w. It remembers the version at which its node was right (ViewOf.version); the next time somebody
     asks for its history, `grad_fn` sees that the counter has moved and makes a new node, AsStridedBackward0: "part
     of whatever the base is now", with an edge to CopySlices. v gets such a node, too, and at once.

So a write costs the same however many views there are, and a view that nobody asks about again costs nothing.

Note [What may not be written to]
A leaf that requires grad, because its gradient would then belong to a value that is no longer there; a view of one;
memory whose elements stand in several places of the tensor (`expand`). Views that came several at a time (`split`),
from a custom Function or from another grad mode, where history would have to follow: their `origin` says why
("multiple outputs", "custom function", "no_grad" or "inference").
"""

import weakref
from collections.abc import Callable

import numpy as np

from course_lib.arrays import errors, messages
from course_lib.arrays.memory import Storage, check_cast, check_overlap, empty_strided, overwrite, part_of
from course_lib.engine import grad_mode
from course_lib.engine.checks import as_tensor, like
from course_lib.engine.graph import DEAD_END, AccumulateGrad, Node, forward_name, gradients_of, init_node
from course_lib.engine.hooks import hooks_of
from course_lib.engine.saved import add_slot_properties
from course_lib.engine.tensor import (
    NO_EDGE,
    AutogradMeta,
    Tensor,
    allocate,
    counter_of,
    meta_of,
    new_tensor,
    writable_array,
)

state = grad_mode.state


class ViewOf:
    """The record of a view: its base, where it was made, and the version at which its node was right."""

    __slots__ = ("base", "origin", "version")

    def __init__(self, base, origin, version):
        self.base = base  # always the first tensor, never itself a view
        self.origin = origin  # None, or what forbids writing: Note [What may not be written to]
        self.version = version


def make_view(source: Tensor, array: np.ndarray, origin: str | None = None) -> Tensor:
    """Return a tensor on part of `source`'s memory, sharing its counter and remembering its base. Not yet recorded.

    A view of a view remembers the first base, so that no chain has to be walked, and inherits what forbids writing.
    """
    view, base, before = allocate(Tensor), source, None
    view.array, view.node, view.version = array, None, source.version or counter_of(source)
    view.meta = AutogradMeta()
    if source.meta is not None:
        if source.meta.inference:
            view.meta.inference = True
            return view
        if source.meta.view is not None:
            base, before = source.meta.view.base, source.meta.view.origin
    if state.recording <= 0:
        origin = "inference" if state.inference else "no_grad"
    # A view of a view keeps the stricter origin: inference mode first, then how this one was made, then the older.
    view.meta.view = ViewOf(base, before if before == "inference" else origin or before, view.version.value)
    return view


# --- from a tensor to the graph ----------------------------------------------------------------------------


def requires_grad(tensor: Tensor) -> bool:
    """Return True for computed tensors with history, leaves that want a gradient, and views of either."""
    if tensor.node is not None:
        return True
    meta = tensor.meta
    return meta is not None and (meta.requires_grad or (meta.view is not None and requires_grad(meta.view.base)))


def grad_fn(tensor: Tensor) -> Node | None:
    """Return the node that computed the tensor's present value; made anew for a view whose base was written to.

    RuntimeError for a view that may not outlive such a write: see `messages.view_may_not_be_written`.
    """
    meta = tensor.meta
    if meta is None or meta.view is None:
        return tensor.node
    view = meta.view
    if tensor.node is None and not requires_grad(view.base):
        return None
    if view.version != tensor.version.value:
        refuse_stale_view(tensor, view, by_this_view=False)
        node = init_node(AsStridedBackward0(), (gradient_edge(view.base),))
        node.remember_geometry(tensor, view.base)
        set_history(tensor, node)
        view.version = tensor.version.value
    return tensor.node


def gradient_edge(tensor: Tensor) -> Node | tuple | None:
    """Return where a gradient for this tensor goes: its node, (node, output number), a leaf's accumulator, or None."""
    meta = tensor.meta
    if meta is None:
        return tensor.node
    if meta.leaf_edge is not NO_EDGE:  # a leaf that has been asked before, and nothing else
        return accumulator_of(tensor)
    node = tensor.node
    if meta.view is not None and (node is None or meta.view.version != tensor.version.value):
        node = grad_fn(tensor)
    if node is not None:
        return (node, meta.output_nr) if meta.edge_to_output else node
    if meta.requires_grad:
        return accumulator_of(tensor)
    if meta.view is not None and requires_grad(meta.view.base):
        return DEAD_END
    return None


# Note [A leaf's edge is kept twice]
# An operation finds the edge of an ordinary result without a call: it is `x.node`. That of a leaf, its accumulator,
# would take a call of `gradient_edge`, which asks first whether x is a view, or computed, or wants no gradient. So the
# reference to the accumulator is kept once more, as `leaf_edge`, while x is a leaf and nothing else.
# Operations say `x.meta.leaf_edge() or gradient_edge(x)`. All other tensors have `NO_EDGE` there, and so whatever makes
# something else of a leaf has to set it back. A leaf that is used 500 times gets through forward 7 % faster like this.
def accumulator_of(leaf: Tensor) -> Node:
    """Return the one AccumulateGrad node of a leaf that requires grad, made when the first graph needs it.

    One, whatever the number of uses: it waits for all of them and adds to `.grad` once a pass.
    """
    meta = leaf.meta
    node = None if meta.accumulator is None else meta.accumulator()
    if node is None:
        node = AccumulateGrad()
        node.variable = leaf
        node.hooks = node.visited = node.notes = None
        meta.accumulator = weakref.ref(node)
        if meta.view is None and not meta.inference:
            meta.leaf_edge = meta.accumulator  # here the next operation looks first
    return node


def set_history(tensor: Tensor, node: Node, output_nr: int = 0) -> None:
    """Make `node` the tensor's history. Tensor hooks stay with the old node; retain_grad moves along."""
    old = tensor.node
    tensor.node = node
    meta = meta_of(tensor) if node.several_outputs else tensor.meta
    if meta is None:
        return
    if meta.retains_grad and old is not None:
        hooks_of(old).retain.pop(meta.output_nr, None)
        hooks_of(node).retain[output_nr] = weakref.ref(tensor)
    meta.edge_to_output, meta.leaf_edge = node.several_outputs, NO_EDGE
    meta.output_nr = output_nr


# --- writing -----------------------------------------------------------------------------------------------


def check_in_place(tensor: Tensor, recording: bool) -> None:
    """Raise RuntimeError when `tensor` may not be written to. `recording`: the write would enter the graph.

    Under no_grad nearly everything may be written to, leaves too: that is how an optimizer works. The counter moves
    all the same, so a backward pass that needs the values from before is refused.
    Where we differ: to a tensor made in inference mode PyTorch writes first and raises then. We refuse first.
    """
    meta = tensor.meta
    if meta is None:
        return
    if meta.inference is True and not state.inference:
        raise RuntimeError(messages.INFERENCE_IN_PLACE)
    if not recording:
        return
    if meta.view is not None:
        refuse_stale_view(tensor, meta.view, by_this_view=True)
        if requires_grad(tensor) and grad_fn(meta.view.base) is None:
            raise RuntimeError(errors.VIEW_OF_LEAF_IN_PLACE)
    # `tensor.node` and not `grad_fn(tensor)`, which would make a stale view's node anew: PyTorch asks as early.
    if tensor.node is None and requires_grad(tensor):
        raise RuntimeError(errors.LEAF_IN_PLACE)


def refuse_stale_view(tensor: Tensor, view: ViewOf, by_this_view: bool) -> None:
    """Raise RuntimeError for a view whose origin does not let history follow a write.

    It is asked both when the view is written to (by_this_view) and when it is used after its base was.
    """
    if view.origin is not None:
        name = None if tensor.node is None else forward_name(tensor.node)
        raise RuntimeError(messages.view_may_not_be_written(view.origin, name, tensor.meta.output_nr, by_this_view))


def write(tensor: Tensor, values: np.ndarray, *operands, uniform: bool = False) -> None:
    """Overwrite the tensor's memory and count it. `operands` are tensors that `values` were computed from.

    uniform: all values are the same, so that it does not matter when elements share a place.

    RuntimeError, with nothing changed, for a shape or an element type that does not fit, and for memory that
    overlaps itself or an operand.
    """
    target = writable_array(tensor)
    if not uniform:
        check_overlap(tensor, operands, values)
    if getattr(values, "shape", ()) != target.shape:
        wanted = np.broadcast_shapes(values.shape, target.shape)
        if wanted != target.shape:
            sizes = list(target.shape), list(wanted)
            raise RuntimeError("output with shape {} doesn't match the broadcast shape {}".format(*sizes))
    check_cast(values.dtype, target.dtype)
    target[...] = values
    count_write(tensor)


def count_write(tensor: Tensor) -> None:
    """Count a write to the tensor's memory: everything that was saved from it is now out of date.

    All writes that are allowed end here, but for AccumulateGrad's, which come by the thousand and count by themselves.
    Whether the values really changed is not asked: t_() and its like, which only change the shape, count too.
    """
    version = tensor.version or counter_of(tensor)
    version.value += 1
    if state.anomaly:
        state.anomaly.note_write(version)


def update(tensor: Tensor, ufunc: Callable, other: Tensor) -> bool:
    """Overwrite the tensor by ufunc(tensor, other) where it lies. Types must be equal. False if the shapes do not fit.

    What write() does with the same values, without a second array: 1.3 times faster for the weights of a large layer.
    """
    target, source = tensor.array, other.array
    if type(target) is not np.ndarray:
        target = writable_array(tensor)
    if target.base is not None or source.base is not None:  # else each has memory of its own
        check_overlap(tensor, (other,))
    try:
        ufunc(target, source, target)
    except ValueError:
        return False
    return count_write(tensor) or True


def rebase_history(tensor: Tensor, node: Node) -> None:
    """Make `node` the tensor's history after a recorded write; a view's base gets it through CopySlices.

    This comes after the write and the counting, so that what `node` keeps of the result has the new version.
    """
    view = None if tensor.meta is None else tensor.meta.view
    if view is None:
        set_history(tensor, node)
        return
    base_edge = gradient_edge(view.base)
    slices = CopySlices()
    init_node(slices, (base_edge, *node.edges[1:]))  # node's first edge led to the part's old value
    slices.fn = node
    slices.geometry = geometry(tensor, view.base)
    set_history(view.base, slices)
    tensor.meta.output_nr = 0
    grad_fn(tensor)  # the version has moved: this makes the view's new node, on top of the base's


# --- geometry: where in the base's memory a view lies ------------------------------------------------------


def geometry(tensor: Tensor, base: Tensor) -> tuple:
    """Return (shape, strides, offset) of a view and (shape, strides) of its base, in elements, from the base's start.

    With these alone the view's part of a gradient is found, when neither the base nor the view is there any more. The
    base may itself begin inside of a storage (made by `.data` or from NumPy): `offset` counts from where it begins.
    """
    offset = tensor.storage_offset() - base.storage_offset()
    return tuple(tensor.array.shape), tensor.stride(), offset, tuple(base.array.shape), base.stride()


class AsStridedBackward0(Node):
    """The history of a view whose base was written to: it looks at part of whatever the base is now.

    How the view was once made (a slice of a transpose of ...) does not matter any more: its geometry says where it is.
    """

    __slots__ = ("saved_size", "saved_stride", "saved_storage_offset", "geometry")
    saved_names = ("size", "stride", "storage_offset")

    def remember_geometry(self, view: Tensor, base: Tensor) -> None:
        self.geometry = geometry(view, base)
        self.saved_size, self.saved_stride = self.geometry[:2]
        self.saved_storage_offset = view.storage_offset()

    def apply(self, grad: Tensor | np.ndarray) -> tuple:
        """Return zeros for the whole base, with the gradient where the view looks (summed where it looks twice)."""
        shape, strides, offset, base_shape, base_strides = self.geometry
        if 0 in strides:  # an expanded view: every appearance counts
            repeated = tuple(d for d, step in enumerate(strides) if step == 0)
            grad = like(as_tensor(grad).sum(repeated, True), grad)
        if not isinstance(grad, Tensor):
            whole, buffer = empty_strided(base_shape, base_strides, grad.dtype)
            part_of(buffer, grad.shape, strides, offset)[...] = grad
            return (whole,)
        whole = new_tensor(empty_strided(base_shape, base_strides, grad.array.dtype)[0])
        view_at(whole, grad.array.shape, strides, offset).add_(grad)
        return (whole,)


add_slot_properties(AsStridedBackward0)


class CopySlices(Node):
    """The history of a base, part of which was overwritten through a view by the operation `fn`.

    The gradient of the part goes through `fn` and takes the part's place; the rest passes unchanged. The first edge of
    `fn` led to the part's old value, so here the first edge leads to the base's old history, which holds that part.
    """

    __slots__ = ("fn", "geometry")
    can_skip_inputs = True

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    def apply(self, grad: Tensor | np.ndarray, edges: list | None = None) -> tuple:
        if self.fn is None:
            raise RuntimeError(errors.SAVED_TENSORS_FREED)
        edge = (edges or self.edges)[0]  # where the base's gradient goes, if anybody wants it
        return self.to_tensor(grad, edge) if isinstance(grad, Tensor) else self.to_array(np.asarray(grad), edge)

    apply_to_tensors = apply

    def to_array(self, grad: np.ndarray, edge: Node | None) -> tuple:
        shape, strides, offset, base_shape, base_strides = self.geometry
        whole, buffer = empty_strided(base_shape, base_strides, grad.dtype)
        whole[...] = grad
        part = part_of(buffer, shape, strides, offset)
        first, *others = gradients_of(self.fn, part.copy())
        if edge and first is not None:
            overwrite(part, first)
        return (None if edge is None or first is None else whole, *others)

    def to_tensor(self, grad: Tensor, edge: Node | None) -> tuple:
        shape, strides, offset, base_shape, base_strides = self.geometry
        whole = new_tensor(empty_strided(base_shape, base_strides, grad.array.dtype)[0])
        whole.copy_(grad)
        part = view_at(whole, shape, strides, offset)
        first, *others = gradients_of(self.fn, part.clone())
        if edge and first is not None:
            part.copy_(first)
        return (None if edge is None or first is None else whole, *others)

    def release(self) -> None:
        self.fn = None


def view_at(tensor: Tensor, shape: tuple, strides: tuple, offset: int) -> Tensor:
    """Return a recorded view of a tensor that fills its own memory, described by its geometry."""
    view = make_view(tensor, part_of(Storage(tensor.array).array, shape, strides, offset))
    edge = gradient_edge(tensor)
    if edge is not None and state.recording > 0:
        view.node = init_node(AsStridedBackward0(), (edge,))
        view.node.remember_geometry(view, tensor)
    return view
