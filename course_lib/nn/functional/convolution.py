"""Convolution, pooling and padding.

PyTorch: torch/nn/functional.py, aten/src/ATen/native (Convolution.cpp, Pool.h, PadNd.cpp).
"""

from course_lib.arrays.errors import not_supported, refuse
from course_lib.engine.arguments import Operand, Sizes
from course_lib.engine.build import rows
from course_lib.engine.tensor import Tensor
from course_lib.surface import functions as composites
from course_lib.surface.parsing import with_argument_errors_later


def per_dimension(value: Sizes, dimensions: int) -> tuple:
    """Return one number for each dimension."""
    if isinstance(value, int):
        return (value,) * dimensions
    return tuple(value) * dimensions if len(value) == 1 else tuple(value)


# --- convolution -------------------------------------------------------------------------------------------


@with_argument_errors_later
def conv1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1, padding: Sizes = 0, dilation: int = 1,
    groups: int = 1,
) -> Tensor:
    """Return convolution over one dimension: input (N, C, L), weight (out, C, K)."""
    usual_form("conv1d", padding, dilation, groups)
    return convolve(1, input, weight, bias, stride, padding)


@with_argument_errors_later
def conv2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1, padding: Sizes = 0, dilation: int = 1,
    groups: int = 1,
) -> Tensor:
    """Return convolution over two dimensions: input (N, C, H, W), weight (out, C, KH, KW)."""
    usual_form("conv2d", padding, dilation, groups)
    return convolve(2, input, weight, bias, stride, padding)


def usual_form(function: str, padding: Sizes, dilation: int | tuple, groups: int) -> None:
    """Raise NotSupportedError for a convolution with gaps in its kernel, in groups, or with a named padding."""
    if isinstance(padding, str):
        keeps_size = "Give numbers: (kernel_size - 1) // 2 keeps the size when kernel_size is odd."
        raise not_supported(f"padding={padding!r} of {function}", keeps_size)
    spread = dilation not in (1, (1,), (1, 1), [1], [1, 1])
    refuse(function, "Leave it out.", dilation=spread, groups=groups != 1)


def convolve(
    dimensions: int, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sizes, padding: Sizes
) -> Tensor:
    """Return convolution over one or two dimensions; an input without a batch dimension gets one for a moment."""
    unbatched = input.dim() == dimensions + 1
    if unbatched:
        input = composites.unsqueeze(input, 0)
    stride, padding = per_dimension(stride, dimensions), per_dimension(padding, dimensions)
    check_convolution(dimensions, input, weight, bias, padding)
    result = rows.convolution(input, weight, bias, stride, padding)
    return composites.squeeze(result, 0) if unbatched else result


def check_convolution(dimensions: int, input: Tensor, weight: Tensor, bias: Tensor | None, padding: Sizes) -> None:
    """Raise RuntimeError, in PyTorch's words, for shapes and types that do not go together."""
    if input.dim() != dimensions + 2:
        raise RuntimeError(
            f"Expected {dimensions + 1}D (unbatched) or {dimensions + 2}D (batched) input to conv{dimensions}d, but "
            f"got input of size: {list(input.shape)}"
        )
    sizes = list(weight.shape)
    if input.shape[1] != sizes[1]:
        raise RuntimeError(
            f"Given groups=1, weight of size {sizes}, expected input{list(input.shape)} to have {sizes[1]} "
            f"channels, but got {input.shape[1]} channels instead"
        )
    kernel, padded = sizes[2:], [n + 2 * p for n, p in zip(input.shape[2:], padding, strict=True)]
    if any(k > n for k, n in zip(kernel, padded, strict=True)):
        shown = [" x ".join(map(str, numbers)) for numbers in (padded, kernel)]
        raise RuntimeError(
            f"Calculated padded input size per channel: ({shown[0]}). Kernel size: ({shown[1]}). Kernel size can't be "
            "greater than actual input size"
        )
    for other in (weight, bias):
        if other is not None and other.dtype != input.dtype:
            raise RuntimeError(f"expected scalar type {input.dtype.title} but found {other.dtype.title}")


# --- pooling -----------------------------------------------------------------------------------------------


def pooling(input: Tensor, kernel: int, stride: Sizes | None, padding: Sizes) -> tuple:
    """Return (kernel, stride, padding), two numbers each. RuntimeError for windows that do not fit."""
    kernel, padding = per_dimension(kernel, 2), per_dimension(padding, 2)
    stride = kernel if stride is None or stride in ([], ()) else per_dimension(stride, 2)
    if input.dim() not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError("non-empty 3D or 4D (batch mode) tensor expected for input")
    for p, k in zip(padding, kernel, strict=True):
        if not 0 <= p <= k // 2:
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k}")
    each = zip(input.shape[-2:], kernel, stride, padding, strict=True)
    lengths = [(n + 2 * p - k) // s + 1 for n, k, s, p in each]
    if min(lengths) < 1:
        raise RuntimeError(
            f"Given input size: {list(input.shape)}. Calculated output size: {lengths}. Output size is too small"
        )
    return kernel, stride, padding


@with_argument_errors_later
def max_pool2d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: int = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor:
    """Return the largest element of each patch (and its place); the first of equal ones gets the gradient."""
    refuse("max_pool2d", "Leave it out.", dilation=per_dimension(dilation, 2) != (1, 1), ceil_mode=ceil_mode)
    result, places = rows.max_pool2d(input, *pooling(input, kernel_size, stride, padding))
    return (result, places) if return_indices else result


@with_argument_errors_later
def avg_pool2d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Return the mean of each patch."""
    refuse("avg_pool2d", "Leave it out.", ceil_mode=ceil_mode, count_include_pad=not count_include_pad)
    return rows.avg_pool2d(input, *pooling(input, kernel_size, stride, padding))


# --- padding -----------------------------------------------------------------------------------------------


@with_argument_errors_later
def pad(input: Tensor, pad: tuple, mode: str = "constant", value: Operand | None = None) -> Tensor:
    """Return the input with more, or for negative numbers less, at its edges.

    pad: (before, after) for the last dimension, then for the one in front of it, and so on
    """
    if mode != "constant":
        raise not_supported(f"pad with mode={mode!r}", "Join the edges that you want with cat.")
    fits = len(pad) % 2 == 0 and len(pad) <= 2 * input.dim()
    if not fits or any(
        input.shape[-1 - i // 2] + min(pad[i], 0) + min(pad[i + 1], 0) < 0 for i in range(0, len(pad), 2)
    ):
        raise RuntimeError(f"Padding length must be two numbers a dimension, but got {pad} for {list(input.shape)}")
    return rows.constant_pad_nd(input, tuple(pad), value or 0)
