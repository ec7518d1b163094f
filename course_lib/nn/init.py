"""Starting values for parameters. Every function overwrites its tensor in place, unrecorded, and returns it.

PyTorch: torch/nn/init.py.
"""

import math
import warnings

from course_lib.autograd.grad_mode import no_grad
from course_lib.native import creation


def overwrite(tensor, values):
    """Write values into a tensor without recording it; the version counts one."""
    with no_grad():
        return tensor.copy_(values)


def zeros_(tensor):
    """All zeros."""
    return constant_(tensor, 0.0)


def ones_(tensor):
    """All ones."""
    return constant_(tensor, 1.0)


def constant_(tensor, val):
    """One value everywhere."""
    with no_grad():
        return tensor.fill_(val)


def uniform_(tensor, a=0.0, b=1.0):
    """Random numbers spread evenly over [a, b)."""
    return overwrite(tensor, creation.rand_like(tensor) * (b - a) + a)


def normal_(tensor, mean=0.0, std=1.0):
    """Normal random numbers."""
    return overwrite(tensor, creation.randn_like(tensor) * std + mean)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0):
    """Normal random numbers, drawn again until they lie in [a, b]."""
    values = creation.randn_like(tensor) * std + mean
    outside = (values < a) | (values > b)
    while outside.any():
        values = (creation.randn_like(tensor) * std + mean).where(outside, values)
        outside = (values < a) | (values > b)
    return overwrite(tensor, values)


def eye_(tensor):
    """The identity matrix."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return overwrite(tensor, creation.eye(*tensor.shape, dtype=tensor.dtype))


def calculate_gain(nonlinearity, param=None):
    """The factor by which weights must grow to keep the variance after an activation."""
    gains = {"sigmoid": 1, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4, "linear": 1}
    gains |= {"conv1d": 1, "conv2d": 1}
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in gains:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return gains[nonlinearity]


def fans(tensor):
    """(numbers that go into one output, numbers that one input goes into)."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    patch = math.prod(tensor.shape[2:])
    return tensor.shape[1] * patch, tensor.shape[0] * patch


_calculate_fan_in_and_fan_out = fans


def xavier_uniform_(tensor, gain=1.0):
    """Even, with variance gain^2 * 2 / (fan in + fan out)."""
    bound = gain * math.sqrt(6.0 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor, gain=1.0):
    """Normal, with variance gain^2 * 2 / (fan in + fan out)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fans(tensor))))


def kaiming_std(tensor, a, mode, nonlinearity):
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return calculate_gain(nonlinearity, a) / math.sqrt(fans(tensor)[mode == "fan_out"])


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu"):
    """Even, scaled to keep the variance through an activation; a is leaky_relu's slope."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    bound = math.sqrt(3.0) * kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu"):
    """Normal, scaled to keep the variance through an activation; a is leaky_relu's slope."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    return normal_(tensor, 0.0, kaiming_std(tensor, a, mode, nonlinearity))
