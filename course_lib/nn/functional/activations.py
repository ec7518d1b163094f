"""Activations: functions of one tensor, most of them element by element.

PyTorch: torch/nn/functional.py, aten/src/ATen/native/Activation.cpp.
"""

import warnings

from course_lib.arrays import dtypes
from course_lib.arrays.kernels.checks import floats
from course_lib.arrays.messages import type_name
from course_lib.engine.arguments import Number, whole_number
from course_lib.engine.build import rows
from course_lib.engine.tensor import Tensor
from course_lib.nn import derivatives  # noqa: F401  (fills the table)
from course_lib.surface import functions as composites
from course_lib.surface.parsing import with_argument_errors, with_argument_errors_later

relu_, sigmoid, tanh = (
    with_argument_errors(getattr(rows, name), name, module=__name__) for name in ("relu_", "sigmoid", "tanh")
)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return max(input, 0); its slope at 0 is 0."""
    return rows.relu_(input) if inplace else rows.relu(input)


def logsigmoid(input: Tensor) -> Tensor:
    """Return log(sigmoid(input)), without overflow."""
    return rows.log_sigmoid(input)[0]


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return input * sigmoid(input)."""
    return rows.silu_(input) if inplace else rows.silu(input)


@with_argument_errors_later
def leaky_relu(input: Tensor, negative_slope: Number = 0.01, inplace: bool = False) -> Tensor:
    """Return input where it is positive, negative_slope * input elsewhere."""
    return (rows.leaky_relu_over_ if inplace else rows.leaky_relu)(input, negative_slope)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """Return input times the chance that a standard normal number is below it; "tanh" approximates that chance."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return rows.gelu(input, approximate)


@with_argument_errors_later
def softplus(input: Tensor, beta: Number = 1, threshold: Number = 20) -> Tensor:
    """Return log(1 + exp(beta * input)) / beta; input itself where beta * input is above the threshold."""
    return rows.softplus(input, beta, threshold)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Return one half of a dimension times the sigmoid of the other. RuntimeError for a dimension that has no half."""
    if not input.dim() or input.shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} of {list(input.shape)} is not")
    floats(input.array, "glu_cpu")
    half, gate = input.chunk(2, dim)
    return composites.rename_node(half * rows.sigmoid(gate), "GluBackward0")


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtypes.dtype | None = None) -> Tensor:
    """Return exp(input) divided by its sum along dim. (PyTorch's third argument is for its warning.)"""
    return composites.softmax(input, chosen_dim("softmax", input, dim), dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtypes.dtype | None = None
) -> Tensor:
    """Return the logarithm of softmax, without overflow."""
    return composites.log_softmax(input, chosen_dim("log_softmax", input, dim), dtype)


def chosen_dim(name: str, input: Tensor, dim: int | None) -> int:
    """Return the dimension to normalise along; without one, PyTorch's old guess, with its warning."""
    if dim is not None:
        if type(dim) is not int and whole_number(dim) is None:
            raise TypeError(f"{name}(): argument 'dim' (position 1) must be int, not {type_name(dim)}")
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if input.dim() in (0, 1, 3) else 1
