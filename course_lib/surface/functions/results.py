"""The results of functions: tensors without history, pairs, nodes under PyTorch's names, writes into `out`.

PyTorch: torch/csrc/autograd/FunctionsManual.cpp, torch/return_types.py.
"""

import builtins
import functools
import warnings

import numpy as np

from course_lib.arrays.memory import check_cast
from course_lib.engine.build import rows
from course_lib.engine.grad_mode import state
from course_lib.engine.tensor import Tensor, mark_inference, new_tensor
from course_lib.engine.views import requires_grad

_renamed = {}


def rename_node(result: Tensor, name: str) -> Tensor:
    """Return the result; its node has the name that PyTorch has for this form of the operation."""
    if result.node is not None:
        cls = type(result.node)
        result.node.__class__ = _renamed.setdefault((cls, name), type(name, (cls,), {"__slots__": ()}))
    return result


def without_gradient(array: np.ndarray) -> Tensor:
    """Return the result of an operation that has no gradient."""
    result = new_tensor(array)
    return mark_inference(result) if state.inference else result


def store(name: str, out: Tensor, result: Tensor, *inputs) -> Tensor:
    """Write a result into `out`; RuntimeError when an argument requires grad, as that write is not recorded."""
    if state.grad_enabled and builtins.any(isinstance(t, Tensor) and requires_grad(t) for t in (*inputs, out)):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    check_cast(result.array.dtype, out.array.dtype)
    if out.array.shape != result.array.shape:
        if out.array.size:
            sizes = list(out.array.shape), list(result.array.shape)
            text = "An output with one or more elements was resized since it had shape {}, and the result has {}."
            warnings.warn(text.format(*sizes), stacklevel=3)
        out.array = np.zeros(result.array.shape, out.array.dtype)
    return rows.copy_(out, result.detach())


class _Pair(tuple):
    """(values, indices), as max, min, sort and topk return them along a dimension."""

    __slots__ = ()
    values = property(lambda pair: pair[0])
    indices = property(lambda pair: pair[1])

    def __repr__(self):
        return f"torch.return_types.{type(self).__name__}(\nvalues={self[0]!r},\nindices={self[1]!r})"


@functools.cache
def kind_of_pair(name: str) -> type:
    """Return the type of an operation's pairs, named after it."""
    return type(name, (_Pair,), {"__slots__": (), "__module__": "torch.return_types"})


def pair(name: str, values: tuple) -> object:
    """Return a pair of results, as a type of its own that prints as PyTorch's does."""
    return kind_of_pair(name)(values)


