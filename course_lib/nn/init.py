"""Starting values for parameters. Every function overwrites its tensor in place, unrecorded, and returns it.

PyTorch: torch/nn/init.py.
"""

import math
import warnings

import numpy as np

from course_lib.autograd.grad_mode import no_grad
from course_lib.engine.tensor import Tensor
from course_lib.surface import creation
from course_lib.surface.left_out import doors


def overwrite(tensor: Tensor, values: np.ndarray) -> Tensor:
    """Write values into a tensor without recording it; the version counts one."""
    with no_grad():
        return tensor.copy_(creation.tensor(values) if isinstance(values, np.ndarray) else values)


def zeros_(tensor: Tensor) -> Tensor:
    """Return all zeros."""
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Return all ones."""
    return constant_(tensor, 1.0)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Return one value everywhere."""
    with no_grad():
        return tensor.fill_(val)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: object = None) -> Tensor:
    """Return random numbers spread evenly over [a, b)."""
    return overwrite(tensor, creation.even_values(tensor, a, b, generator))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: object = None) -> Tensor:
    """Return normal random numbers."""
    return overwrite(tensor, creation.normal_values(tensor, mean, std, generator))


def calculate_gain(nonlinearity: str, param: float | str | None = None) -> float:
    """Return the factor by which weights must grow to keep the variance after an activation."""
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


def fans(tensor: Tensor) -> tuple:
    """Return (numbers that go into one output, numbers that one input goes into)."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    patch = math.prod(tensor.shape[2:])
    return tensor.shape[1] * patch, tensor.shape[0] * patch


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: object = None) -> Tensor:
    """Draw evenly, with variance gain^2 * 2 / (fan in + fan out)."""
    bound = gain * math.sqrt(6.0 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: object = None) -> Tensor:
    """Draw normal numbers, with variance gain^2 * 2 / (fan in + fan out)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fans(tensor))), generator)


def kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan = fans(tensor)[mode == "fan_out"]
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan or 1)


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: object = None
) -> Tensor:
    """Draw evenly, scaled to keep the variance through an activation; a is leaky_relu's slope."""
    bound = math.sqrt(3.0) * kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: int = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: object = None
) -> Tensor:
    """Draw normal numbers, scaled to keep the variance through an activation; a is leaky_relu's slope."""
    return normal_(tensor, 0.0, kaiming_std(tensor, a, mode, nonlinearity), generator)


__all__ = """
    calculate_gain constant_ kaiming_normal_ kaiming_uniform_ normal_ ones_ uniform_
    xavier_normal_ xavier_uniform_ zeros_
""".split()
__getattr__, __dir__ = doors("torch.nn.init", __all__)
