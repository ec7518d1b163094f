"""Convolution, pooling and padding in NumPy.

PyTorch: aten/src/ATen/native (Convolution.cpp, DilatedMaxPool2d.cpp, AveragePool2d.cpp, PadNd.cpp).

Images are (N, C, L) or (N, C, H, W); pooling takes any leading dimensions. Kernel, stride, padding and dilation hold
one number for each dimension of the image, `sides` one pair: how much is added before and after.
"""

import itertools

import numpy as np

from course_lib.arrays.kernels import copy, numel, reshape, scatter_add, truth_refused
from course_lib.arrays.kernels import pick as gather  # as their rows are called: formulas have two forms
from course_lib.arrays.kernels import total as sum_dim


def windows(x, kernel, stride, sides, dilation, filler=0):
    """Every patch of x that the kernel sees: (..., *places, *kernel). A view of the padded x, nothing is copied."""
    n = len(kernel)
    if any(map(any, sides)):
        x = np.pad(x, [(0, 0)] * (x.ndim - n) + sides, constant_values=filler)
    span = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
    seen = np.lib.stride_tricks.sliding_window_view(x, span, tuple(range(x.ndim - n, x.ndim)))
    return seen[(..., *(slice(None, None, step) for step in (*stride, *dilation)))]


# --- convolution -------------------------------------------------------------------------------------------


def convolution(x, weight, bias, stride, padding, dilation, groups):
    """Each output channel: the sum over its group's input channels of patch times kernel, plus the bias."""
    n = weight.ndim - 2
    seen = windows(x, weight.shape[2:], stride, [(p, p) for p in padding], dilation)
    kernel_axes = [1, *range(2 + n, 2 + 2 * n)], [1, *range(2, 2 + n)]
    parts = [
        np.tensordot(patches, w, kernel_axes)
        for patches, w in zip(np.split(seen, groups, 1), np.split(weight, groups, 0), strict=True)
    ]
    result = np.ascontiguousarray(np.moveaxis(np.concatenate(parts, -1), -1, 1))
    return result if bias is None else result + bias.reshape(-1, *(1,) * n)


def conv_weight_grad(grad, x, sizes, stride, padding, dilation, groups):
    """The gradient for the kernel: every patch times the gradient at its place, summed over places and samples."""
    n = len(sizes) - 2
    seen = windows(x, sizes[2:], stride, [(p, p) for p in padding], dilation)
    seen = seen[(slice(None), slice(None), *map(slice, grad.shape[2:]))]
    places = [0, *range(2, 2 + n)]
    parts = [
        np.tensordot(g, patches, (places, places))
        for g, patches in zip(np.split(grad, groups, 1), np.split(seen, groups, 1), strict=True)
    ]
    return np.concatenate(parts, 0)


def conv_input_grad(grad, weight, sizes, stride, padding, dilation, groups):
    """The gradient for the input: each place's gradient, times the kernel, put back where the patch was taken."""
    kernel, places = weight.shape[2:], grad.shape[2:]
    padded = np.zeros((*sizes[:2], *(n + 2 * p for n, p in zip(sizes[2:], padding, strict=True))), grad.dtype)
    parts = list(zip(np.split(grad, groups, 1), np.split(weight, groups, 0), np.split(padded, groups, 1), strict=True))
    for tap in itertools.product(*map(range, kernel)):
        where_to = tuple(
            slice(t * d, t * d + s * (n - 1) + 1, s)
            for t, d, s, n in zip(tap, dilation, stride, places, strict=True)
        )
        for g, w, part in parts:
            moved = np.tensordot(w[(slice(None), slice(None), *tap)], g, ([0], [1]))
            part[(slice(None), slice(None), *where_to)] += np.moveaxis(moved, 1, 0)
    inside = tuple(slice(p, p + n) for n, p in zip(sizes[2:], padding, strict=True))
    return np.ascontiguousarray(padded[(slice(None), slice(None), *inside)])


def conv_bias_grad(grad):
    """The gradient for the bias: everything but the channels is summed."""
    return sum_dim(grad, (0, *range(2, grad.ndim)), False)


# --- pooling -----------------------------------------------------------------------------------------------


def pooled_length(n, kernel, stride, padding, dilation, ceil_mode):
    """How many windows fit along a dimension; with ceil_mode also one that begins inside and ends outside."""
    length = (n + 2 * padding - dilation * (kernel - 1) - 1 + (stride - 1 if ceil_mode else 0)) // stride + 1
    return length - (ceil_mode and (length - 1) * stride >= n + padding)


def pooled_sides(sizes, kernel, stride, padding, dilation, ceil_mode):
    """How much to add on both sides of each dimension, so that all windows fit."""
    sides = []
    for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation, strict=True):
        seen = (pooled_length(n, k, s, p, d, ceil_mode) - 1) * s + d * (k - 1) + 1
        sides.append((p, max(seen - n - p, p)))
    return sides


def max_pool(x, kernel, stride, padding, dilation, ceil_mode):
    """(the largest element of each patch, its place in the flattened image); padding never wins."""
    truth_refused(x, "\"max_pool2d\" not implemented for 'Bool'", NotImplementedError)
    image = x.shape[-2:]
    sides = pooled_sides(image, kernel, stride, padding, dilation, ceil_mode)
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    seen = windows(x, kernel, stride, sides, dilation, lowest)
    seen = seen.reshape(*seen.shape[:-2], -1)
    numbers = windows(np.arange(numel(image)).reshape(image), kernel, stride, sides, dilation)
    numbers = np.broadcast_to(numbers.reshape(*numbers.shape[:2], -1), seen.shape)
    best = seen.argmax(-1)[..., None]
    return np.take_along_axis(seen, best, -1)[..., 0], np.take_along_axis(numbers, best, -1)[..., 0]


def max_pool_backward(grad, x, indices):
    """Each patch's gradient, put at the place of its largest element."""
    lines = (*x.shape[:-2], -1)
    whole = np.zeros(x.shape, grad.dtype).reshape(lines)
    return scatter_add(whole, whole.ndim - 1, indices.reshape(lines), grad.reshape(lines)).reshape(x.shape)


def max_pool_pick(x, indices):
    """The element of each image that each patch's maximum came from."""
    lines = (*x.shape[:-2], numel(x.shape[-2:]))
    places = (*x.shape[:-2], numel(indices.shape[-2:]))
    return reshape(gather(reshape(x, lines), len(lines) - 1, reshape(indices, places)), indices.shape)


def avg_pool(x, kernel, stride, sides, divisor):
    """The sum of each patch, over the divisor of its place."""
    sums = windows(x, kernel, stride, sides, (1, 1)).sum((-2, -1), dtype=x.dtype)
    return sums / divisor if x.dtype.kind == "f" else np.trunc(sums / divisor).astype(x.dtype)


def avg_pool_backward(grad, sizes, kernel, stride, sides, divisor):
    """Each patch's gradient over its divisor, added to all of its elements."""
    (top, bottom), (left, right) = sides
    images = (grad / divisor).astype(grad.dtype).reshape(-1, 1, *grad.shape[-2:])
    padded = len(images), 1, sizes[-2] + top + bottom, sizes[-1] + left + right
    whole = conv_input_grad(images, np.ones((1, 1, *kernel), grad.dtype), padded, stride, (0, 0), (1, 1), 1)
    return whole[:, :, top : top + sizes[-2], left : left + sizes[-1]].reshape(sizes)


def patch_sizes(image, kernel, stride, padding, sides, count_include_pad):
    """How many elements of the image each patch has, those of the padding counted on request."""
    inside = np.pad(np.ones(image), [(p, p) for p in padding], constant_values=count_include_pad)
    further = [(0, after - p) for (_, after), p in zip(sides, padding, strict=True)]
    return windows(inside, kernel, stride, further, (1, 1)).sum((-2, -1))


# --- padding -----------------------------------------------------------------------------------------------


def padded(x, pad, value):
    """The array surrounded by a value, or cut where pad is negative; pad counts from the last dimension backwards."""
    sides = [(0, 0)] * (x.ndim - len(pad) // 2) + list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    cut = tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, sides, strict=True))
    grown = [(max(a, 0), max(b, 0)) for a, b in sides]
    if max(pad, default=0) <= 0:
        return copy(x[cut])
    return np.ascontiguousarray(np.pad(x[cut], grown, constant_values=x.dtype.type(value)))


def unpadded(grad, pad):
    """The gradient without what was added, and with zeros for what was cut."""
    return padded(grad, tuple([-n for n in pad]), 0)
