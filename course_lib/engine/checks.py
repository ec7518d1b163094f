"""Check what users hand over: what hooks return, the marks of a custom Function, unpacked tensors.

PyTorch: torch/csrc/autograd/python_hook.cpp, python_function.cpp (mark_dirty), saved_variable.cpp (unpack).
"""

import warnings
from collections.abc import Callable

import numpy as np

from course_lib.arrays import dtypes, messages
from course_lib.arrays.messages import type_name
from course_lib.engine.grad_mode import state
from course_lib.engine.tensor import Tensor, counter_of, mark_inference, new_tensor

# --- what hooks return -------------------------------------------------------------------------------------


def as_tensor(grad: Tensor | np.ndarray) -> Tensor:
    """Return the gradient as a tensor: hooks are given tensors, also when the engine computes on arrays."""
    if grad is None or isinstance(grad, Tensor):
        return grad
    return mark_inference(new_tensor(grad)) if state.inference else new_tensor(grad)


def like(tensor: Tensor | None, original: Tensor | np.ndarray) -> Tensor | np.ndarray:
    """Return the gradient back in the form the engine had it: an array if it was one."""
    if tensor is None or isinstance(original, Tensor):
        return tensor
    return tensor.array


def check_result(hook: Callable, result: object, value: Tensor | None) -> None:
    """Check that a hook returned a gradient of the same shape, and none where none arrived."""
    if value is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not isinstance(result, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type_name(result)}'")
    name = getattr(hook, "__name__", "<unknown>")
    if result.array.dtype != value.array.dtype:
        types = f"was {value.type()} got {result.type()}"
        raise RuntimeError(f"hook '{name}' has changed the type of value ({types})")
    if result.array.shape != value.array.shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value")


def check_results(hook: Callable, result: object, wanted: list | tuple) -> None:
    """Check that a node's hook returned a tuple, with as many gradients as it was given and of their forms."""
    if not isinstance(result, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type_name(result)}'")
    if len(result) != len(wanted):
        name = getattr(hook, "__name__", "<unknown>")
        raise RuntimeError(
            f"hook '{name}' has returned an incorrect number of values (got {len(result)}, but expected {len(wanted)})"
        )
    for new, old in zip(result, wanted, strict=True):
        if new is not None:
            check_result(hook, new, as_tensor(old))


# --- the marks of a custom Function ------------------------------------------------------------------------


def check_marks(ctx: object) -> None:
    """Raise RuntimeError unless what a custom Function's forward marked are tensors."""
    if not all(isinstance(tensor, Tensor) for tensor in ctx.dirty_tensors):
        raise RuntimeError("mark_dirty can only accept variables, but argument ")  # PyTorch's text ends there
    if not all(isinstance(tensor, Tensor) for tensor in ctx.non_differentiable):
        raise RuntimeError("mark_non_differentiable only accepts variable arguments, but got ")


def check_dirty(dirty: tuple, outputs: tuple) -> None:
    """Raise RuntimeError unless what mark_dirty named is among the outputs.

    RuntimeError outside of inference mode also for a tensor made in it: the write cannot be counted.
    """
    if not state.inference and any(tensor.meta is not None and tensor.meta.inference is True for tensor in dirty):
        raise RuntimeError(messages.INFERENCE_IN_PLACE)
    if not all(any(tensor is o for o in outputs) for tensor in dirty):
        for tensor in dirty:  # they count as written to all the same
            counter_of(tensor).value += 1
        raise RuntimeError(messages.DIRTY_NOT_RETURNED)


def check_dirty_input(tensor: Tensor) -> None:
    """Warn of a tensor that was marked dirty and recorded, but was no input. RuntimeError if it is a view.

    The write to a view would give its base a history, and the base of no input is none of the Function's business.
    """
    if tensor._is_view():
        raise RuntimeError(messages.DIRTY_NO_INPUT)
    warnings.warn(messages.DIRTY_NO_INPUT, UserWarning, stacklevel=7)


# --- what unpack hooks return ------------------------------------------------------------------------------


def as_packed(tensor: object, form: tuple | None, node: object) -> Tensor:
    """Return an unpacked tensor in the shape and floating type in which it was packed; TypeError for anything else.

    In PyTorch the formula is computed with what the hook returned, and the gradient is brought to its input's form
    afterwards. A custom Function is handed what the hook returned, and so is who only looks: then `form` is None.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(messages.UNPACKED_NO_TENSOR.format(type(tensor).__name__))
    if form in (None, (tensor.array.shape, tensor.array.dtype)) or hasattr(node, "save_for_backward"):
        return tensor
    shape, dtype = form
    if tensor.array.shape != shape and tensor.array.size == np.prod(shape):
        tensor = tensor.reshape(shape)
    return tensor.to(dtypes.FROM_NUMPY[dtype]) if dtype.kind == "f" else tensor
