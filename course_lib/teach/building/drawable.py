"""`drawable(engine)`: after this, `draw` shows the graphs of a learner's engine.

It belongs to the course, not to the learner: the instruments ask tensors and nodes for a few names of PyTorch's
that the engine itself has no use for.
"""


class Storage:
    """The memory of an array, as far as a picture is concerned: where it begins."""

    def __init__(self, array):
        while array.base is not None and hasattr(array.base, "strides"):
            array = array.base
        self.array = array

    def data_ptr(self):
        return self.array.__array_interface__["data"][0]


class Slot:
    """What a node keeps under one name: to be looked at without the check, or with it."""

    unpack_hook = None

    def __init__(self, kept, node):
        self.data, self.is_freed = kept.tensor, kept.tensor is None
        self.unpack = lambda: kept.unpack(node)


def slot_of(node, name):
    """The slot of this name, or None if the node had no use for it."""
    return Slot(node.saved[name], node) if name in node.saved else None


def drawable(engine):
    """Teach the classes of an engine the names that a picture asks for. Returns the engine."""
    tensor, node = engine.Tensor, engine.Node
    tensor.grad_fn = tensor.version = None  # for the class; every tensor sets its own
    tensor.requires_grad = tensor.retains_grad = False
    if not hasattr(tensor, "is_leaf"):  # before lesson 02
        tensor.is_leaf = property(lambda self: self.grad_fn is None)
    if not hasattr(tensor, "shape"):  # before lesson 03
        tensor.shape = property(lambda self: self.array.shape)
    tensor.dtype = property(lambda self: self.array.dtype)
    tensor.numel = lambda self: self.array.size
    tensor.untyped_storage = lambda self: Storage(self.array)
    tensor.stride = lambda self: tuple(step // self.array.itemsize for step in self.array.strides)
    tensor.storage_offset = lambda self: (
        (self.array.__array_interface__["data"][0] - Storage(self.array).data_ptr()) // self.array.itemsize
    )
    tensor._backward_hooks = property(lambda self: getattr(self, "hooks", ()) if self.grad_fn is None else ())
    node._sequence_nr = lambda self: self.number
    saved = getattr(engine, "SavedVariable", None)
    for name in ("a", "b", "result") if saved else ():
        setattr(node, "_raw_saved_" + name, property(lambda self, name=name: slot_of(self, name)))
        setattr(node, "_saved_" + name, property(lambda self, name=name: self.read(name)))
    return engine
