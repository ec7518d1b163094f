"""Normalising, and dropping out.

PyTorch: torch/nn/functional.py, aten/src/ATen/native (Normalization.cpp, layer_norm.cpp, Dropout.cpp, Distance.cpp).
"""


import numpy as np

from course_lib.arrays.kernels import floats
from course_lib.arrays.memory import check_cast
from course_lib.engine.arguments import Number, Sizes, tensor_argument
from course_lib.engine.build import rows
from course_lib.engine.tensor import Tensor, writable_array
from course_lib.surface import creation
from course_lib.surface import functions as composites
from course_lib.surface.parsing import with_argument_errors_later


@with_argument_errors_later
def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
    bias: Tensor | None = None, training: bool = False, momentum: Number = 0.1, eps: Number = 1e-05,
) -> Tensor:
    """Return (input - mean) / sqrt(variance + eps) * weight + bias, channel by channel.

    training: use the batch's own mean and (biased) variance, and move the running ones towards them. ValueError for
    a batch with one value a channel, RuntimeError for running statistics of another length or missing.
    """
    channels = input.shape[composites.dimension(input, 1)]
    if training and input.numel() == channels:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    vectors = dict(running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    for name, vector in vectors.items():
        if vector is None and not training and name.startswith("running"):
            raise RuntimeError(f"{name} must be defined in evaluation mode")
        if vector is not None and vector.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {vector.numel()}")
    check_kinds("batch_norm", input, *vectors.values())
    return rows.native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


@with_argument_errors_later
def layer_norm(
    input: Tensor, normalized_shape: Sizes, weight: Tensor | None = None, bias: Tensor | None = None,
    eps: Number = 1e-05,
) -> Tensor:
    """Return (input - mean) / sqrt(variance + eps) * weight + bias over the last dimensions."""
    shape = checked_shape("layer_norm", input, normalized_shape, weight=weight, bias=bias)
    check_kinds("LayerNormKernelImpl", input, weight, bias)
    return rows.native_layer_norm(input, shape, weight, bias, eps)[0]


def checked_shape(function: str, input: Tensor, normalized_shape: Sizes, **vectors) -> tuple:
    """Return the sizes to normalise over, which must be the input's last ones, and those of weight and bias."""
    shape = tuple(normalized_shape)
    if tuple(input.shape)[-len(shape) :] != shape:
        expected = ", ".join(["*", *map(str, shape)])
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [{expected}], but got input of "
            f"size{list(input.shape)}"
        )
    for name, vector in vectors.items():
        if vector is not None and tuple(vector.shape) != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(vector.shape)} and normalized_shape = {list(shape)}"
            )
    return shape


def check_kinds(kernel: str, input: Tensor, *others) -> None:
    """Raise NotImplementedError for an input of integers, RuntimeError unless all tensors are of one element type."""
    floats(input.array, kernel)
    for other in others:
        if other is not None and other.array.dtype is not input.array.dtype:
            raise RuntimeError(f"expected scalar type {input.dtype.title} but found {other.dtype.title}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Return each element set to zero with chance p, the others divided by 1 - p. Does nothing unless training."""
    tensor_argument("dropout", "input", input)
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if p == 0 or not training or input.numel() == 0:
        return input
    check_cast(np.dtype(np.float32), input.array.dtype)
    mask = creation.zeros_like(input.detach()) if p == 1 else kept_with_chance(1 - p, input) / (1 - p)
    return rows.mul_(input, mask) if inplace else rows.mul(input, mask)


def kept_with_chance(chance: float, input: Tensor) -> Tensor:
    """Return ones with the given chance, else zeros, in the shape and type of `input`."""
    (draw, source), like = creation.source_of(), writable_array(input)
    drawn = draw.in_memory_order(draw.fractions(source, like.size, np.float64), like, creation.layout(input))
    return creation.finish((drawn < chance).astype(like.dtype))


@with_argument_errors_later
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: Number = 1e-12) -> Tensor:
    """Return input divided by its p-norm along dim (but at least eps)."""
    length = rows.clamp_min(input.norm(p, dim, True), eps)
    return input / composites.expand(length, input.shape)
