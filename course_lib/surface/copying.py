"""Copies of a tensor as an object: deepcopy, pickles, and files.

PyTorch: torch/_tensor.py, torch/serialization.py.
"""

import os
import pathlib
import pickle
import warnings

import numpy as np

from course_lib.arrays import messages
from course_lib.engine import views
from course_lib.engine.grad_mode import state
from course_lib.engine.graph import make_leaf
from course_lib.engine.tensor import Tensor, counter_of, meta_of, new_tensor, writable_array
from course_lib.engine.views import requires_grad
from course_lib.surface import creation

Tensor.keeps_grad_when_copied = True
Tensor.writes_when_copied = 1  # PyTorch fills the copy in place


def __reduce_ex__(self, protocol):
    warn_of_hooks(self)
    return _rebuild, (type(self), np.array(self.array), requires_grad(self)), self.__dict__ or None


def warn_of_hooks(tensor: Tensor) -> None:
    """Warn that a copy of the object is without its hooks. (Of a Parameter's nobody expects anything else.)"""
    for hook in (tensor.keeps_grad_when_copied and tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(messages.HOOK_NOT_COPIED.format(repr(hook)), stacklevel=3)


def _rebuild(cls, array, wants_grad):
    tensor = new_tensor(creation.with_known_type(array), cls)
    counter_of(tensor).value += 1  # PyTorch makes an empty tensor and gives it the memory
    if state.inference:
        meta_of(tensor).inference = True
    return make_leaf(tensor) if wants_grad else tensor


def save(obj: object, f: object) -> None:
    """Write an object, such as a state dict, to a path or an open file. (PyTorch cannot read it: it is a pickle.)

    Each tensor is written by itself: what shared memory before shares none when it is read.

    What stood at the path is replaced when the new file is complete: an error leaves it as it was.
    """
    data = pickle.dumps(obj)
    if hasattr(f, "write"):
        f.write(data)
        return
    beside = pathlib.Path(f"{os.fspath(f)}.{os.getpid()}.part")
    try:
        beside.write_bytes(data)
        beside.replace(f)
    finally:
        beside.unlink(missing_ok=True)


def load(f: object, map_location: object = None, *, weights_only: bool = True) -> object:
    """Return what `save` wrote; with weights_only=True UnpicklingError for more than tensors in containers.

    weights_only=False runs whatever code the file names: for files that you trust only.
    """
    reader = WeightsOnly if weights_only else pickle.Unpickler
    if hasattr(f, "read"):
        return reader(f).load()
    with open(f, "rb") as file:
        return reader(file).load()


class WeightsOnly(pickle.Unpickler):
    """Reads tensors and containers and runs no code that the file names."""

    known = {
        "collections": ("OrderedDict",), "numpy": ("ndarray", "dtype"),
        "numpy._core.multiarray": ("_reconstruct", "scalar"),
        "course_lib.surface.copying": ("_rebuild",), "course_lib.engine.tensor": ("Tensor",),
        "course_lib.nn.parameter": ("Parameter",), "course_lib.arrays.printing": ("Size",),
    }

    def find_class(self, module: str, name: str) -> object:
        """Find only what is known to make tensors and containers."""
        if name not in self.known.get(module, ()):
            raise pickle.UnpicklingError(
                f"Weights only load failed: the file wants {module}.{name}. If you trust it, use weights_only=False."
            )
        return super().find_class(module, name)


def __deepcopy__(self, memo):
    if views.grad_fn(self) is not None:
        raise RuntimeError(messages.DEEPCOPY_OF_NON_LEAF)
    if id(self) in memo:
        return memo[id(self)]
    copy = memo[id(self)] = new_tensor(np.array(self.array), type(self))
    counter_of(copy).value += self.writes_when_copied
    if state.inference:
        meta_of(copy).inference = True
    if requires_grad(self):
        make_leaf(copy)
    if self.meta is not None and self.meta.grad is not None and self.keeps_grad_when_copied:
        meta_of(copy).grad = __deepcopy__(self.meta.grad, memo)
    if self.__dict__ and self.keeps_grad_when_copied:
        from copy import deepcopy

        copy.__dict__.update(deepcopy(self.__dict__, memo))
    return copy


def __copy__(self):
    """Return another leaf on the same memory, with a counter of its own."""
    warn_of_hooks(self)
    copy = new_tensor(writable_array(self), type(self))
    counter_of(copy).value += self.writes_when_copied
    copy.__dict__.update(self.__dict__)
    if state.inference and self.keeps_grad_when_copied:
        meta_of(copy).inference = True
    return make_leaf(copy) if requires_grad(self) else copy
