"""Saved tensors: what a node keeps for its backward, the version it was at, and the check when it is used.

PyTorch: torch/csrc/autograd/saved_variable.h and .cpp, torch/autograd/graph.py (saved_tensors_hooks).

Note [By reference, with a version]
Saving copies nothing: a node keeps the tensor itself. Copies would double the memory of every training step, for the
rare program that overwrites what it saved. Instead the version of the memory is noted, and compared when the tensor
is used; a different number means that the values are no longer those of the forward pass, and backward refuses
rather than compute with others. The check is about the counter, not about values: writing the old value back does
not help, and a write through `.data` or NumPy, which have no share in the counter, goes unnoticed.

Note [A result is kept without its history]
exp saves its own result. Kept as it is, that would make a circle: the result holds its node (grad_fn), the node holds
the result. Reference counting never frees a circle, so every graph would wait for the garbage collector. SavedOutput
therefore keeps a second tensor on the same memory and counter, which knows no node, and puts the history back when it
is unpacked. With that, and leaves that hold their accumulators weakly, a graph dies the moment its last tensor does.

Note [Released one by one]
After a node has run, its slots that hold tensors are set to FREED, unless the graph is retained. What saves nothing can
be run again: `x.sum().backward()` works twice. There is no flag "used": the error comes from the empty slot.
"""

import weakref
from collections.abc import Callable

from course_lib.arrays import dtypes, errors, messages
from course_lib.engine import checks, grad_mode
from course_lib.engine.graph import forward_name
from course_lib.engine.tensor import Tensor, alias, meta_of, new_tensor

state = grad_mode.state


class SavedVariable:
    """An input kept by reference: the very same tensor, and the version its memory had at that moment.

    `history` is the node that the tensor had. An in-place operation gives a tensor a new one, and moves the counter,
    which the version tells; detach_() takes it away without moving the counter, and only this tells.
    """

    __slots__ = ("tensor", "version", "history")
    is_output, view_node = False, None

    @classmethod
    def of(cls, tensor: Tensor) -> "SavedVariable":
        """Save a tensor. RuntimeError for one made in inference mode: it has no version to note.

        Generated operations do the same in line (ops.py): the call would cost 4 % of a chain.
        """
        if tensor.meta is not None and tensor.meta.inference:
            raise RuntimeError(errors.INFERENCE_SAVED)
        kept = cls()
        kept.tensor = tensor
        kept.version = 0 if tensor.version is None else tensor.version.value
        kept.history = tensor.node  # detach_() takes this away from the tensor; unpack notices
        return kept

    def read(self, node: object) -> Tensor:
        """Return the kept tensor. RuntimeError if its memory was written to since."""
        tensor = self.tensor
        now = 0 if tensor.version is None else tensor.version.value
        if now != self.version:
            raise self.changed(node, now)
        return tensor

    def unpack(self, node: object) -> Tensor:
        """Return the kept tensor for a backward pass: RuntimeError also if it was detached in place since.

        On arrays generated nodes ask both questions in line (`write_unpack` in ops.py), and call this if one fails.
        """
        if self.history is not None and self.tensor.node is None:
            raise RuntimeError(errors.SAVED_DETACHED)
        return self.read(node)

    def changed(self, node: object, now: int) -> object:
        """Return the version error, naming the operation that made the tensor's present value.

            y = h * h; h.add_(1)            an input: the history that it has by now, AddBackward0; a leaf has none
            ... then h.detach_()            an input that has lost it: the node that kept it, when its slot is looked at
            y = h.exp(); y.add_(1)          the node's own result, kept without its history: the node
            v = h[:2]; v.exp_(); h.add_(1)  the same where it overwrote a view: the view's node, AsStridedBackward0
        """
        tensor, maker = self.tensor, node
        if self.view_node and self.view_node():
            maker = self.view_node()
        elif not self.is_output and (self.history is None or tensor.node is not None):  # the first line above
            maker = tensor.grad_fn
        output_of = ""
        if maker is not None:
            output_nr = tensor.meta.output_nr if self.is_output and tensor.meta is not None else 0  # 0 for every input
            output_of = f", which is output {output_nr} of {forward_name(maker)},"
        kind = tensor.dtype.tensor_type if tensor.dtype is not dtypes.bool_ else "CPUBoolType"
        report = state.anomaly.explain_change(self, node) if state.anomaly else ""
        return errors.modified_in_place(kind, tensor.array.shape, output_of, now, self.version, report)


class SavedOutput(SavedVariable):
    """The node's own result, as a second tensor on its memory, without the node: it would hold itself otherwise."""

    __slots__ = ("view_node",)  # after `v.exp_()` on a view v: v's AsStridedBackward0 (views.py), which errors name
    is_output = True

    @classmethod
    def of(cls, result: Tensor) -> "SavedOutput":
        kept, meta = cls(), result.meta
        kept.tensor = twin = alias(result)
        if meta is not None and meta.output_nr:
            meta_of(twin).output_nr = meta.output_nr
        is_view = meta is not None and meta.view is not None
        kept.view_node = weakref.ref(result.node) if is_view else None
        kept.version, kept.history = twin.version.value, None
        return kept

    def read(self, node: object) -> Tensor | None:
        """Return the result with its history put back: each time a new tensor, on the memory that was kept."""
        twin = super().read(node)
        result = alias(twin)
        result.node = node
        if twin.meta is not None or node.several_outputs:
            meta = meta_of(result)
            meta.edge_to_output = node.several_outputs
            meta.output_nr = 0 if twin.meta is None else twin.meta.output_nr
        return result


class Freed(SavedVariable):
    """Stands in a slot whose tensor was released: one object, FREED, for all. None stands where none was needed."""

    __slots__ = ("message",)

    def __init__(self, message):
        self.tensor = self.history = None
        self.version, self.message = 0, message

    def read(self, node: object) -> None:
        raise RuntimeError(self.message)


FREED = Freed(errors.SAVED_TENSORS_FREED)


class WrappedNumber(Tensor):
    """A Python number that took part in an operation with a tensor: `x * 2` keeps the 2 as one of these.

    In promotion only its kind (bool, int, float) counts: `float32 * 2.5` stays float32. PyTorch calls it the same, and
    releases it like any tensor: so a second backward through `x * 2` is refused, though nothing of size was kept.
    """

    __slots__ = ("number",)

    def as_tensor(self) -> Tensor:
        """Return the number as PyTorch shows it in a slot: an int64 or a float64 tensor without dimensions."""
        kind = dtypes.of_number(self.number)
        return new_tensor((dtypes.F64 if kind is dtypes.F32 else kind).type(self.number))


class PackedVariable(SavedVariable):
    """A tensor that went through a pair of saved-tensor hooks: only what `pack` returned is kept.

    No version check is possible here, and none is made: whoever packs decides what comes back. It may be a file
    name, a tensor of fewer digits, or nothing at all, if `unpack` computes the values again (checkpointing).

    What is kept beside it is the tensor's place in the graph, for second derivatives: `history`, and for a leaf its
    accumulator. Packing the tensor itself would keep its values alive, which is what hooks are there to avoid.
    """

    __slots__ = ("packed", "unpack_hook", "is_output", "meta", "output_nr", "is_leaf", "form")

    def __init__(self, tensor, pack, unpack, is_output=False):
        self.tensor = None  # sends generated code to unpack()
        self.unpack_hook, self.is_output, meta = unpack, is_output, tensor.meta
        self.output_nr = meta.output_nr if meta is not None and meta.edge_to_output else None
        self.history = None if is_output else tensor.grad_fn
        self.is_leaf = not is_output and self.history is None and tensor.requires_grad  # now: it may be detached later
        self.meta = meta if self.is_leaf else None  # that of a view would keep its base alive
        self.version, self.form = tensor._version, (tensor.array.shape, tensor.array.dtype)
        with grad_mode.AutoGradMode(False):
            self.packed = pack(tensor)
        if tensor._version != self.version:
            raise RuntimeError(messages.PACK_HOOK_WROTE)

    def unpack(self, node: object) -> Tensor:
        """Unpack for a backward pass, in the form of what was packed: PyTorch brings the gradients back instead."""
        return self.read(node, self.form)

    def read(self, node: object, form: tuple | None = None) -> Tensor | None:
        """Return what the hook makes of the packed thing, put in the kept tensor's place in the graph."""
        tensor = checks.as_packed(self.unpack_hook(self.packed), form, node)
        if self.history is None and not (self.is_leaf or self.is_output or tensor.requires_grad):
            return tensor  # a constant has no place in the graph
        result = tensor.detach()
        result.node = node if self.is_output else self.history
        if self.is_leaf:  # gradients go to the leaf's own accumulator
            meta_of(result).requires_grad, result.meta.accumulator = True, self.meta.accumulator
        elif self.output_nr is not None:
            meta_of(result).edge_to_output = True
            result.meta.output_nr = self.output_nr
        return result


# --- slots -------------------------------------------------------------------------------------------------


def pack_slots(node: object, result: Tensor | None = None) -> None:
    """Replace what a new node just kept by what the innermost pair of saved-tensor hooks makes of it.

    Numbers and shapes are not packed, nor a Python number that took part as an operand. The node's own result is shown
    as it is: if `pack` returns it, nothing breaks the circle that SavedOutput avoids.
    """
    pack, unpack = state.saved_tensor_hooks[-1]

    def packed(slot):
        if slot is None or type(slot) is PackedVariable or isinstance(slot.tensor, WrappedNumber):
            return slot
        own = slot.is_output and getattr(result, "node", None) is node and slot.tensor.array is result.array
        return PackedVariable(result if own else slot.unpack(node), pack, unpack, slot.is_output)

    for name in node.saved_tensor_names:
        slot = getattr(node, "saved_" + name, None)  # a result is not there yet before an in-place write
        kept = [packed(s) for s in slot] if type(slot) is list else packed(slot)
        setattr(node, "saved_" + name, kept)


def read_slot(node: object, name: str) -> Tensor | int | tuple:
    """Return what `node._saved_<name>` gives: the checked tensor, a number, a tuple of tensors, or None."""
    slot = getattr(node, "saved_" + name)
    if type(slot) is list and name in node.saved_tensor_names:
        return tuple(None if s is None else s.unpack(node) for s in slot)
    if not isinstance(slot, SavedVariable):
        return slot
    tensor = slot.read(node)
    return tensor.as_tensor() if type(tensor) is WrappedNumber else tensor


class SavedTensor:
    """A slot itself, `node._raw_saved_<name>`: to look at it without the check, or to give it its own hooks."""

    def __init__(self, node, name, index=None):
        self._node, self._name, self._index = node, "saved_" + name, index

    @property
    def _slot(self):
        slot = getattr(self._node, self._name)
        return slot if self._index is None else slot[self._index]

    @property
    def is_freed(self) -> bool:
        """Return True when a backward pass has released the tensor."""
        return self._slot is FREED

    @property
    def saved_version(self) -> int | None:
        """Return the version the memory had when the tensor was saved."""
        return self._slot.version

    @property
    def data(self) -> Tensor:
        """Return the kept tensor without the version check, or what a hook packed; None when it was freed."""
        tensor = getattr(self._slot, "packed", getattr(self._slot, "tensor", None))
        return tensor.as_tensor() if type(tensor) is WrappedNumber else tensor

    def unpack(self) -> Tensor:
        """Return the kept tensor as a backward pass gets it, with every check."""
        return None if self._slot is None else self._slot.unpack(self._node)

    @property
    def unpack_hook(self) -> object:
        """Return the hook that gives the tensor back; None for a slot that is not packed."""
        return getattr(self._slot, "unpack_hook", None)

    def register_hooks(self, pack: Callable | int, unpack: Callable | int) -> None:
        """Pack this one slot; RuntimeError once it was freed, or when it already has hooks."""
        if not (callable(pack) and callable(unpack)):
            raise TypeError("register_hooks" + messages.NO_PAIR_OF_HOOKS)
        slot = self._slot
        if slot is FREED:
            raise RuntimeError(messages.REGISTER_ON_FREED)
        if isinstance(slot, PackedVariable):
            raise RuntimeError(messages.REGISTER_TWICE)
        if slot is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        if slot.history is None and not slot.is_output and slot.tensor.node is not None:
            raise RuntimeError("grad_accumulator() should be only called on leaf Variables")  # it was one when saved
        if slot.tensor.version is not None:
            slot.version = slot.tensor.version.value  # packed as it is by now, as in PyTorch: hooks answer for it
        packed = PackedVariable(slot.unpack(self._node), lambda x: pack(x.detach()), unpack, slot.is_output)
        if self._index is None:
            setattr(self._node, self._name, packed)
        else:
            getattr(self._node, self._name)[self._index] = packed


def raw_slot(node: object, name: str) -> SavedTensor | None:
    """Return what `node._raw_saved_<name>` gives: a SavedTensor, a tuple of them, or None for a slot not needed."""
    slot = getattr(node, "saved_" + name)
    if type(slot) is list:
        if FREED in slot:
            raise RuntimeError(errors.SAVED_TENSORS_FREED)
        return tuple(SavedTensor(node, name, i) for i in range(len(slot)))
    return SavedTensor(node, name) if isinstance(slot, SavedVariable) or slot is None else None


def add_slot_properties(cls: type) -> type:
    """Give a node class its `_saved_<name>` and `_raw_saved_<name>` attributes."""
    for name in cls.saved_names:
        setattr(cls, "_saved_" + name, property(lambda node, name=name: read_slot(node, name)))
        if name in cls.saved_tensor_names:
            setattr(cls, "_raw_saved_" + name, property(lambda node, name=name: raw_slot(node, name)))
    return cls
