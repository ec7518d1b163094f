"""`drawable(engine)` and `show_slots(engine, root)`: after these, `draw` shows the graphs of a learner's engine.

It belongs to the course, not to the learner: the instruments ask tensors and nodes for a few names of PyTorch's
that the engine itself has no use for.
"""

import contextlib
import functools
import inspect
import itertools
import math
from types import ModuleType


class Storage:
    """The memory of an array, as far as a picture is concerned: where it begins."""

    def __init__(self, array):
        while array.base is not None and hasattr(array.base, "strides"):
            array = array.base
        self.array = array

    def data_ptr(self) -> int:
        return self.array.__array_interface__["data"][0]


class Slot:
    """A saved tensor of a node, under its name: to be looked at without the check, or with it."""

    unpack_hook = None

    def __init__(self, saved, node):
        if hasattr(saved, "unpack"):
            self.data, self.unpack = saved.tensor, lambda: saved.unpack(node)
        else:  # the tensor itself, before lesson 06
            self.data, self.unpack = saved, lambda: saved
        self.is_freed = self.data is None


def slots_of(node) -> dict:
    """List what a node has saved; a learner may keep it elsewhere, and then no slots are drawn."""
    saved = getattr(node, "saved", None)
    return saved if isinstance(saved, dict) else {}


def held(node, tensor_class) -> dict:
    """Find {name: tensor} of all that a node holds: in fields, in dicts and lists, in what its rule closes over."""
    found = {}

    def look(name, value):
        if isinstance(value, tensor_class):
            found[name] = value
        elif isinstance(value, dict):
            for key, each in value.items():
                look(str(key), each)
        elif isinstance(value, (list, tuple)):
            for place, each in enumerate(value):
                look(f"{name}[{place}]", each)
        elif inspect.isfunction(value) and value.__closure__:
            for key, cell in zip(value.__code__.co_freevars, value.__closure__, strict=True):
                with contextlib.suppress(ValueError):  # an empty cell
                    if isinstance(cell.cell_contents, tensor_class):
                        found[key] = cell.cell_contents

    for name, value in vars(node).items():
        if name not in ("variable", "next_functions"):
            look(name, value)
    return found


def slot_names(node) -> dict:
    """Map a slot's name in a picture to the name under which the node saved it; a custom Function's have numbers."""
    return {f"saved_tensors[{key}]" if isinstance(key, int) else str(key): key for key in slots_of(node)}


def slot_of(node, name) -> Slot | None:
    """Return the slot of this name, or None if the node had no use for it."""
    names = slot_names(node)
    return Slot(node.saved[names[name]], node) if name in names else None


def drawable(engine) -> ModuleType:
    """Teach an engine, which has made no node yet, the names that a picture asks for. Returns the engine."""
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
    tensor._backward_hooks = property(lambda self: getattr(self.grad_fn or self, "hooks", ()))
    count_nodes(node)
    return engine


def count_nodes(node) -> None:
    """Have each node know the order in which it was made, whatever name, or none, the learner has given to that."""
    begin, numbers = node.__init__, itertools.count()

    @functools.wraps(begin)
    def counting(self, *args, **kwargs):
        self.made_as = next(numbers)
        begin(self, *args, **kwargs)

    node.__init__ = counting
    node._sequence_nr = lambda self: math.inf if hasattr(self, "variable") else self.made_as


def show_slots(engine, root) -> bool:
    """Name the slots of the nodes behind a tensor. Before lesson 06 wraps what is saved: whatever a node holds.

    A picture has one box for a leaf. Before lesson 05 a leaf gets an accumulator for each use; they are drawn as one.
    Returns whether there were such.
    """
    nodes, names, ends, several = [root.grad_fn], set(), {}, False
    wraps = getattr(engine, "SavedVariable", None)
    for node in nodes:  # the list grows while we walk along it
        if not hasattr(node, "name"):  # lessons 00 and 01 ask no accumulator for one
            type(node).name = lambda self: type(self).__name__
        if wraps and all(isinstance(saved, (engine.Tensor, wraps)) for saved in slots_of(node).values()):
            names.update(slot_names(node))
        one = [(ends.setdefault(id(getattr(to, "variable", to)), to), place) for to, place in node.next_functions]
        if [to for to, _ in one] != [to for to, _ in node.next_functions]:
            node.next_functions, several = tuple(one), True
        nodes += [to for to, _ in node.next_functions if to is not None and to not in nodes]
    plain = {} if wraps else {id(node): held(node, engine.Tensor) for node in nodes}

    def slot(node, name):
        tensor = plain.get(id(node), {}).get(name)
        return slot_of(node, name) if wraps else None if tensor is None else Slot(tensor, node)

    for name in names.union(*plain.values()):
        setattr(engine.Node, "_raw_saved_" + name, property(lambda self, name=name: slot(self, name)))
        setattr(engine.Node, "_saved_" + name, property(lambda self, name=name: slot(self, name).unpack()))
    return several
