"""Helpers on the parameters of a model: clipping gradients, and parameters as one vector.

PyTorch: torch/nn/utils (clip_grad.py, convert_parameters.py).
"""

import math
import types
import warnings

from course_lib.autograd.grad_mode import no_grad
from course_lib.engine.tensor import Tensor
from course_lib.surface import creation
from course_lib.surface import functions as composites
from course_lib.surface.joining import cat, stack
from course_lib.surface.left_out import doors


def gradients(parameters: list) -> list:
    """Return the gradients that are there, from one tensor or several."""
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [p.grad for p in parameters if p.grad is not None]


def get_total_norm(tensors: list, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Tensor:
    """Return the norm of all elements of all tensors together."""
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not tensors:
        return creation.tensor(0.0)
    norm_type = float(norm_type)
    total = stack([t.norm(norm_type) for t in tensors]).norm(norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To scale by it all the same, set `error_if_nonfinite=False`"
        )
    return total


def clip_grad_norm_(
    parameters: object, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scale all gradients in place by one factor so that their total norm is at most max_norm.

    Returns the norm before. RuntimeError for an infinite or NaN norm, if error_if_nonfinite; a warning for a generator
    with nothing left in it, such as the `model.parameters()` that an optimizer was given.
    """
    may_be_used_up = isinstance(parameters, types.GeneratorType)
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    if may_be_used_up and not parameters:
        text = "`parameters` is an empty generator, no gradient clipping will occur."
        warnings.warn(text, UserWarning, stacklevel=2)
    with no_grad():
        total = get_total_norm(gradients(parameters), norm_type, error_if_nonfinite)
        factor = composites.clamp(float(max_norm) / (total + 1e-6), max=1.0)
        for grad in gradients(parameters):  # the write counts in any case
            grad.mul_(factor)
    return total


def clip_grad_value_(parameters: list, clip_value: float) -> None:
    """Limit every element of every gradient in place to [-clip_value, clip_value]."""
    limit = float(clip_value)
    with no_grad():
        for grad in gradients(parameters):  # PyTorch clips from below, then from above: two writes
            grad.clamp_(min=-limit).clamp_(max=limit)


def parameters_to_vector(parameters: object) -> Tensor:
    """Return all elements of all parameters in one vector, recorded."""
    return cat([p.reshape(-1) for p in parameters], 0)


def vector_to_parameters(vec: Tensor, parameters: object) -> None:
    """Let each parameter look at its piece of the vector. TypeError unless it is a tensor."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start = 0
    for parameter in parameters:
        piece = vec[start : start + parameter.numel()]
        parameter.data = composites.view(piece, parameter.shape).data
        start += parameter.numel()


__all__ = "clip_grad_norm_ clip_grad_value_ get_total_norm parameters_to_vector vector_to_parameters".split()
__getattr__, __dir__ = doors("torch.nn.utils", __all__)
