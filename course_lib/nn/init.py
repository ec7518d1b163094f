"""Starting values for parameters. Every function overwrites its tensor in place, unrecorded, and returns it.

PyTorch: torch/nn/init.py.
"""

import math
import warnings

import numpy as np

from course_lib.autograd.grad_mode import no_grad
from course_lib.surface import creation
from course_lib.surface.left_out import doors


def overwrite(tensor, values):
    """Write values into a tensor without recording it; the version counts one."""
    with no_grad():
        return tensor.copy_(creation.tensor(values) if isinstance(values, np.ndarray) else values)


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


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Random numbers spread evenly over [a, b)."""
    return overwrite(tensor, creation.even_values(tensor, a, b, generator))


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Normal random numbers."""
    return overwrite(tensor, creation.normal_values(tensor, mean, std, generator))


def calculate_gain(nonlinearity, param=None):
    """The factor by which weights must grow to keep the variance after an activation."""
    gains = {"sigmoid": 1, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4, "linear": 1}
    gains |= {f"conv{kind}{n}d": 1 for kind in ("", "_transpose") for n in (1, 2, 3)}
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, int | float):
            raise ValueError(f"negative_slope {slope} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in gains:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return gains[nonlinearity]


def fans(tensor):
    """(numbers that go into one output, numbers that one input goes into)."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    patch = math.prod(tensor.shape[2:])
    return tensor.shape[1] * patch, tensor.shape[0] * patch


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Even, with variance gain^2 * 2 / (fan in + fan out)."""
    bound = gain * math.sqrt(6.0 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal, with variance gain^2 * 2 / (fan in + fan out)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fans(tensor))), generator)


def kaiming_std(tensor, a, mode, nonlinearity):
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan = fans(tensor)[mode == "fan_out"]
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan or 1)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Even, scaled to keep the variance through an activation; a is leaky_relu's slope."""
    bound = math.sqrt(3.0) * kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal, scaled to keep the variance through an activation; a is leaky_relu's slope."""
    return normal_(tensor, 0.0, kaiming_std(tensor, a, mode, nonlinearity), generator)


__all__ = """
    calculate_gain constant_ kaiming_normal_ kaiming_uniform_ normal_ ones_ uniform_
    xavier_normal_ xavier_uniform_ zeros_
""".split()
__getattr__, __dir__ = doors("torch.nn.init", __all__)
