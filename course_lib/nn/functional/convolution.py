"""Convolution, pooling and padding.

PyTorch: torch/nn/functional.py, aten/src/ATen/native (Convolution.cpp, Pool.h, PadNd.cpp).
"""

import numpy as np

from course_lib.arrays.kernels import convolving as kernels
from course_lib.engine.build import rows
from course_lib.surface import creation
from course_lib.surface import functions as composites
from course_lib.surface.parsing import asking_later


def per_dimension(value, dimensions):
    """One number for each dimension."""
    if isinstance(value, int):
        return (value,) * dimensions
    return tuple(value) * dimensions if len(value) == 1 else tuple(value)


# --- convolution -------------------------------------------------------------------------------------------


@asking_later
def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Convolution over one dimension: input (N, C, L), weight (out, C / groups, K)."""
    return convolve(1, input, weight, bias, stride, padding, dilation, groups)


@asking_later
def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Convolution over two dimensions: input (N, C, H, W), weight (out, C / groups, KH, KW)."""
    return convolve(2, input, weight, bias, stride, padding, dilation, groups)


def convolve(dimensions, input, weight, bias, stride, padding, dilation, groups):
    """Convolution over one or two dimensions; an input without a batch dimension gets one for a moment."""
    unbatched = input.dim() == dimensions + 1
    if unbatched:
        input = composites.unsqueeze(input, 0)
    stride, dilation = per_dimension(stride, dimensions), per_dimension(dilation, dimensions)
    if padding == "same":
        if any(step != 1 for step in stride):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        spans = [d * (k - 1) for k, d in zip(weight.shape[2:], dilation, strict=True)]
        padding = [span // 2 for span in spans]
        if any(span % 2 for span in spans):
            input = pad(input, [n for span in reversed(spans) for n in (span // 2, span - span // 2)])
            padding = 0
    padding = per_dimension(0 if padding == "valid" else padding, dimensions)
    check_convolution(dimensions, input, weight, bias, padding, dilation, groups)
    result = rows.convolution(input, weight, bias, stride, padding, dilation, groups)
    return composites.squeeze(result, 0) if unbatched else result


def check_convolution(dimensions, input, weight, bias, padding, dilation, groups):
    """RuntimeError, in PyTorch's words, for shapes and types that do not go together."""
    if input.dim() != dimensions + 2:
        raise RuntimeError(
            f"Expected {dimensions + 1}D (unbatched) or {dimensions + 2}D (batched) input to conv{dimensions}d, but "
            f"got input of size: {list(input.shape)}"
        )
    sizes, channels = list(weight.shape), weight.shape[1] * groups
    if input.shape[1] != channels or sizes[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {sizes}, expected input{list(input.shape)} to have {channels} "
            f"channels, but got {input.shape[1]} channels instead"
        )
    padded = [n + 2 * p for n, p in zip(input.shape[2:], padding, strict=True)]
    kernel = [d * (k - 1) + 1 for k, d in zip(sizes[2:], dilation, strict=True)]
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


def pooling(input, kernel, stride, padding, dilation, ceil_mode):
    """(kernel, stride, padding, dilation), two numbers each. RuntimeError for windows that do not fit."""
    kernel, padding, dilation = (per_dimension(each, 2) for each in (kernel, padding, dilation))
    stride = kernel if stride is None or stride in ([], ()) else per_dimension(stride, 2)
    if input.dim() not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError("non-empty 3D or 4D (batch mode) tensor expected for input")
    for p, k, d in zip(padding, kernel, dilation, strict=True):
        if not 0 <= p <= (d * (k - 1) + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and "
                f"dilation={d}"
            )
    each = zip(input.shape[-2:], kernel, stride, padding, dilation, strict=True)
    lengths = [kernels.pooled_length(*one, ceil_mode) for one in each]
    if min(lengths) < 1:
        raise RuntimeError(
            f"Given input size: {list(input.shape)}. Calculated output size: {lengths}. Output size is too small"
        )
    return kernel, stride, padding, dilation


@asking_later
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest element of each patch; the first of equal ones gets the gradient. On request with its place."""
    result, places = rows.max_pool2d(
        input, *pooling(input, kernel_size, stride, padding, dilation, ceil_mode), ceil_mode
    )
    return (result, places) if return_indices else result


@asking_later
def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each patch."""
    kernel, stride, padding, dilation = pooling(input, kernel_size, stride, padding, 1, ceil_mode)
    image = input.shape[-2:]
    sides = kernels.pooled_sides(image, kernel, stride, padding, dilation, ceil_mode)
    sizes = kernels.patch_sizes(image, kernel, stride, padding, sides, count_include_pad)
    return rows.avg_pool2d(input, kernel, stride, sides, np.asarray(sizes, input.array.dtype))


# --- padding -----------------------------------------------------------------------------------------------

MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}  # PyTorch's word -> NumPy's


@asking_later
def pad(input, pad, mode="constant", value=None):
    """The input with more, or for negative numbers less, at its edges.

    pad: (before, after) for the last dimension, then for the one in front of it, and so on
    mode: what is added: "constant" the value (0), "replicate" the edge, "reflect" its mirror image without the edge,
    "circular" the other end
    """
    fits = len(pad) % 2 == 0 and len(pad) <= 2 * input.dim()
    if not fits or any(
        input.shape[-1 - i // 2] + min(pad[i], 0) + min(pad[i + 1], 0) < 0 for i in range(0, len(pad), 2)
    ):
        raise RuntimeError(f"Padding length must be two numbers a dimension, but got {pad} for {list(input.shape)}")
    if mode == "constant":
        return rows.constant_pad_nd(input, tuple(pad), value or 0)
    if mode not in MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value or min(pad, default=0) < 0:
        raise RuntimeError(f"Padding mode {mode!r} takes no value and no negative sizes. Cut with x[...] instead.")
    for back, sides in enumerate(zip(pad[::2], pad[1::2], strict=True), 1):
        length = input.shape[-back]
        if max(sides) > length - (mode == "reflect") and mode != "replicate":
            raise RuntimeError(f"Padding size should be less than the corresponding input dimension, but got {sides}")
        places = np.pad(np.arange(length), sides, mode=MODES[mode])
        input = rows.index_select(input, input.dim() - back, creation.tensor(places))
    return input
