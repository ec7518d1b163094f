"""Convolution, pooling and padding in NumPy.

PyTorch: aten/src/ATen/native (Convolution.cpp, DilatedMaxPool2d.cpp, AveragePool2d.cpp, PadNd.cpp).

Images are (N, C, L) or (N, C, H, W); pooling takes any leading dimensions. Kernel, stride and padding hold one number
for each dimension of the image.
"""

import itertools

import numpy as np

from course_lib.arrays.kernels import copy, numel, reject_bool, reshape, scatter_add
from course_lib.arrays.kernels import pick as gather  # as their rows are called: formulas have two forms
from course_lib.arrays.kernels import total as sum_dim


def windows(x: np.ndarray, kernel: tuple, stride: tuple, padding: tuple, filler: float = 0) -> np.ndarray:
    """Return every patch of x that the kernel sees: (..., *places, *kernel). A view of the padded x, no copy."""
    n = len(kernel)
    if any(padding):
        x = np.pad(x, [(0, 0)] * (x.ndim - n) + [(p, p) for p in padding], constant_values=filler)
    seen = np.lib.stride_tricks.sliding_window_view(x, tuple(kernel), tuple(range(x.ndim - n, x.ndim)))
    return seen[(..., *(slice(None, None, step) for step in stride), *(slice(None),) * n)]


# --- convolution -------------------------------------------------------------------------------------------


def convolution(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, stride: tuple, padding: tuple
) -> np.ndarray:
    """Return each output channel: the sum over all input channels of patch times kernel, plus the bias."""
    n = weight.ndim - 2
    seen = windows(x, weight.shape[2:], stride, padding)
    result = np.tensordot(seen, weight, ([1, *range(2 + n, 2 + 2 * n)], [1, *range(2, 2 + n)]))
    result = np.ascontiguousarray(np.moveaxis(result, -1, 1))
    return result if bias is None else result + bias.reshape(-1, *(1,) * n)


def conv_weight_grad(grad: np.ndarray, x: np.ndarray, sizes: tuple, stride: tuple, padding: tuple) -> np.ndarray:
    """Return the kernel's gradient: every patch times the gradient at its place, summed over places and samples."""
    places = [0, *range(2, len(sizes))]
    return np.tensordot(grad, windows(x, sizes[2:], stride, padding), (places, places))


def conv_input_grad(grad: np.ndarray, weight: np.ndarray, sizes: tuple, stride: tuple, padding: tuple) -> np.ndarray:
    """Return the input's gradient: each place's gradient, times the kernel, put back where the patch was taken."""
    padded = np.zeros((*sizes[:2], *(n + 2 * p for n, p in zip(sizes[2:], padding, strict=True))), grad.dtype)
    for tap in itertools.product(*map(range, weight.shape[2:])):
        each = zip(tap, stride, grad.shape[2:], strict=True)
        where_to = tuple(slice(t, t + s * (n - 1) + 1, s) for t, s, n in each)
        moved = np.tensordot(weight[(slice(None), slice(None), *tap)], grad, ([0], [1]))
        padded[(slice(None), slice(None), *where_to)] += np.moveaxis(moved, 1, 0)
    inside = tuple(slice(p, p + n) for n, p in zip(sizes[2:], padding, strict=True))
    return np.ascontiguousarray(padded[(slice(None), slice(None), *inside)])


def conv_bias_grad(grad: np.ndarray) -> np.ndarray:
    """Return the gradient for the bias: everything but the channels is summed."""
    return sum_dim(grad, (0, *range(2, grad.ndim)), False)


# --- pooling -----------------------------------------------------------------------------------------------


def max_pool(x: np.ndarray, kernel: tuple, stride: tuple, padding: tuple) -> tuple:
    """Return (the largest element of each patch, its place in the flattened image); padding never wins."""
    reject_bool(x, "\"max_pool2d\" not implemented for 'Bool'", NotImplementedError)
    image = x.shape[-2:]
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    seen = windows(x, kernel, stride, padding, lowest)
    seen = seen.reshape(*seen.shape[:-2], -1)
    numbers = windows(np.arange(numel(image)).reshape(image), kernel, stride, padding)
    numbers = np.broadcast_to(numbers.reshape(*numbers.shape[:2], -1), seen.shape)
    best = seen.argmax(-1)[..., None]
    return np.take_along_axis(seen, best, -1)[..., 0], np.take_along_axis(numbers, best, -1)[..., 0]


def max_pool_backward(grad: np.ndarray, x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return each patch's gradient, put at the place of its largest element."""
    lines = (*x.shape[:-2], -1)
    whole = np.zeros(x.shape, grad.dtype).reshape(lines)
    return scatter_add(whole, whole.ndim - 1, indices.reshape(lines), grad.reshape(lines)).reshape(x.shape)


def max_pool_pick(x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return the element of each image that each patch's maximum came from."""
    lines = (*x.shape[:-2], numel(x.shape[-2:]))
    places = (*x.shape[:-2], numel(indices.shape[-2:]))
    return reshape(gather(reshape(x, lines), len(lines) - 1, reshape(indices, places)), indices.shape)


def avg_pool(x: np.ndarray, kernel: tuple, stride: tuple, padding: tuple) -> np.ndarray:
    """Return the mean of each patch, in which zeros of the padding count."""
    means = windows(x, kernel, stride, padding).sum((-2, -1), dtype=x.dtype) / numel(kernel)
    return means if x.dtype.kind == "f" else np.trunc(means).astype(x.dtype)


def avg_pool_backward(grad: np.ndarray, sizes: tuple, kernel: tuple, stride: tuple, padding: tuple) -> np.ndarray:
    """Return each patch's gradient over the number of its elements, added to all of them."""
    images = (grad / numel(kernel)).reshape(-1, 1, *grad.shape[-2:])
    ones, shape = np.ones((1, 1, *kernel), grad.dtype), (len(images), 1, *sizes[-2:])
    return conv_input_grad(images, ones, shape, stride, padding).reshape(sizes)


# --- padding -----------------------------------------------------------------------------------------------


def padded(x: np.ndarray, pad: tuple, value: float) -> np.ndarray:
    """Surround the array by a value, or cut it where pad is negative; pad counts from the last dimension backwards."""
    sides = [(0, 0)] * (x.ndim - len(pad) // 2) + list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    cut = tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, sides, strict=True))
    grown = [(max(a, 0), max(b, 0)) for a, b in sides]
    if max(pad, default=0) <= 0:
        return copy(x[cut])
    return np.ascontiguousarray(np.pad(x[cut], grown, constant_values=x.dtype.type(value)))


def unpadded(grad: np.ndarray, pad: tuple) -> np.ndarray:
    """Return the gradient without what was added, and with zeros for what was cut."""
    return padded(grad, tuple([-n for n in pad]), 0)
