"""The arithmetic of pictures and sequences: pooling, resizing, padding, unfolding, groups of channels.

PyTorch: aten/src/ATen/native (AveragePool2d.cpp, AdaptiveAveragePooling.cpp, UpSample.h, ReflectionPad.cpp, Im2Col.cpp,
group_norm.cpp, PixelShuffle.cpp, Activation.cpp).

Note [Taps]
Pooling by means, resizing and padding are one operation: along each dimension, every element of the result is a
weighted sum of a few elements of the input, its taps. (places, weights), two arrays of shape (taps, length of the
result), say which and how much; a weight of 0 is a tap that is not there, and weights of None are all 1. The way back
adds each gradient, weighted, at the places it came from.
"""

import math

import numpy as np

from course_lib.native.kernels import (
    add_rows,
    floats,
    logistic,
    numel,
    one_minus,
    reshape,
    total,
    truth_refused,
)
from course_lib.native.kernels_nn import (
    average,
    channel_shape,
    exp,
    other_axes,
    per_element,
    through_normalising,
    windows,
)

# --- taps --------------------------------------------------------------------------------------------------


def mapped(x, taps, divisor):
    """The weighted sums that taps describe, one pair for each of the last dimensions, divided by a divisor, if any."""
    dtype, first = x.dtype, x.ndim - len(taps)
    for dim, (places, weights) in enumerate(taps, first):
        if weights is None:
            x = np.take(x, places[0], axis=dim)
            continue
        parts = np.take(x, places, axis=dim)
        if not np.all(weights == 1):
            weights = weights.reshape(weights.shape + (1,) * (x.ndim - dim - 1))
            parts = np.where(weights == 0, 0, parts * weights.astype(dtype))
        x = np.add.reduce(parts, axis=dim, dtype=dtype)
    if divisor is not None:
        x = x / divisor if dtype.kind == "f" else np.trunc(x / divisor)
    return np.ascontiguousarray(x, dtype)


def mapped_back(grad, sizes, taps, divisor):
    """The gradient of the sums, weighted and added at the places that were read."""
    grad, dtype = grad if divisor is None else grad / divisor, grad.dtype
    first = grad.ndim - len(taps)
    for dim, (places, weights) in reversed(list(enumerate(taps, first))):
        moved = np.moveaxis(grad, dim, 0)
        whole = np.zeros((sizes[dim], *moved.shape[1:]), dtype)
        for tap, at in enumerate(places):
            share = moved
            if weights is not None:
                there = weights[tap] != 0
                at, share, factors = (each if there.all() else each[there] for each in (at, moved, weights[tap]))
                if not np.all(factors == 1):
                    share = share * factors.reshape(-1, *[1] * (moved.ndim - 1))
            add_rows(whole, at, share)
        grad = np.moveaxis(whole, 0, dim)
    return np.ascontiguousarray(grad, dtype)


def window_taps(n, starts, ends):
    """Taps that sum the elements from start to end, as far as they lie within n; and how many these are."""
    first, last = np.maximum(starts, 0), np.minimum(ends, n)
    places = first + np.arange(max(np.max(last - first, initial=0), 1))[:, None]
    return (np.minimum(places, max(n - 1, 0)), (places < last).astype(np.float64)), last - first


def pooled_length(n, kernel, stride, padding, dilation, ceil_mode):
    """How many windows fit along a dimension; with ceil_mode also one that begins inside and ends outside."""
    length = (n + 2 * padding - dilation * (kernel - 1) - 1 + (stride - 1 if ceil_mode else 0)) // stride + 1
    return length - (ceil_mode and (length - 1) * stride >= n + padding)


def average_taps(sizes, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override):
    """(taps, divisor) of the means of patches."""
    taps, divisor = [], np.ones(())
    for n, k, s, p in zip(sizes, kernel, stride, padding, strict=True):
        starts = np.arange(pooled_length(n, k, s, p, 1, ceil_mode)) * s - p
        ends = np.minimum(starts + k, n + p)
        tap, inside = window_taps(n, starts, ends)
        taps.append(tap)
        divisor = divisor[..., None] * (ends - starts if count_include_pad else inside)
    return tuple(taps), divisor if divisor_override is None else np.asarray(float(divisor_override))


def adaptive_starts(n, length):
    """(where each of so many windows begins, where it ends): together they cover n elements evenly."""
    counted = np.arange(length)
    return counted * n // length, -(-(counted + 1) * n // length)


def adaptive_taps(sizes, lengths):
    """(taps, divisor) of the means of as many patches as asked for."""
    taps, divisor = [], np.ones(())
    for n, length in zip(sizes, lengths, strict=True):
        tap, inside = window_taps(n, *adaptive_starts(n, length))
        taps.append(tap)
        divisor = divisor[..., None] * inside
    return tuple(taps), divisor


def linear_taps(n, length, scale, align_corners):
    """Taps of a straight line between neighbours."""
    if align_corners:
        at = np.arange(length) * ((n - 1) / (length - 1) if length > 1 else 0.0)
    else:
        at = np.maximum((np.arange(length) + 0.5) * (n / length if scale is None else 1 / scale) - 0.5, 0)
    low = np.minimum(at.astype(np.int64), n - 1)
    share = np.clip(at - low, 0, 1)
    return np.stack([low, np.minimum(low + 1, n - 1)]), np.stack([1 - share, share])


def cubic_taps(n, length, scale, align_corners):
    """Taps of a cubic curve through four neighbours, as of Keys with a = -0.75."""
    if align_corners:
        at = np.arange(length) * ((n - 1) / (length - 1) if length > 1 else 0.0)
    else:
        at = (np.arange(length) + 0.5) * (n / length if scale is None else 1 / scale) - 0.5
    low = np.floor(at).astype(np.int64)
    a, weights = -0.75, []
    for offset in range(-1, 3):
        d = np.abs(at - low - offset)
        near, far = ((a + 2) * d - (a + 3)) * d * d + 1, a * (((d - 5) * d + 8) * d - 4)
        weights.append(np.where(d <= 1, near, far))
    return np.clip(low + np.arange(-1, 3)[:, None], 0, n - 1), np.stack(weights)


def nearest_taps(n, length, scale, exact):
    """Taps of the nearest element; `exact` counts from the middle of each, the other from its beginning."""
    step = n / length if scale is None else 1 / scale
    at = np.floor(((np.arange(length) + 0.5) if exact else np.arange(length)) * np.float32(step))
    return np.minimum(at.astype(np.int64), n - 1)[None], None


# --- largest elements of unequal windows -------------------------------------------------------------------


def adaptive_max_pool(x, lengths):
    """(the largest element of each of as many windows as asked for, its place in the flattened picture)."""
    n = len(lengths)
    truth_refused(x, f"\"adaptive_max_pool{n}d\" not implemented for 'Bool'", NotImplementedError)
    sizes = x.shape[-n:]
    numbers = np.arange(math.prod(sizes)).reshape(sizes)
    flat = x.reshape(*x.shape[:-n], -1)
    best = np.zeros((*x.shape[:-n], *lengths), np.int64)
    spans = [list(zip(*adaptive_starts(m, length), strict=True)) for m, length in zip(sizes, lengths, strict=True)]
    for cell in np.ndindex(*lengths):
        part = tuple(slice(*spans[d][i]) for d, i in enumerate(cell))
        places = numbers[part].reshape(-1)
        best[(..., *cell)] = places[flat[..., places].argmax(-1)]
    return np.take_along_axis(flat, best.reshape(*x.shape[:-n], -1), -1).reshape(best.shape), best


# --- patches as columns ------------------------------------------------------------------------------------


def patch_places(sizes, kernel, dilation, padding, stride):
    """The place in the padded picture of each element (rows) of each patch (columns); and the padded sizes."""
    padded = tuple(n + 2 * p for n, p in zip(sizes, padding, strict=True))
    numbers = np.arange(math.prod(padded)).reshape(1, 1, *padded)
    seen = windows(numbers, kernel, stride, (0,) * len(sizes), dilation)[0, 0]
    n = len(sizes)
    return seen.transpose(*range(n, 2 * n), *range(n)).reshape(math.prod(kernel), -1), padded


def im2col(x, kernel, dilation, padding, stride):
    """Each patch of each picture as a column."""
    if x.ndim == 3:
        return im2col(x[None], kernel, dilation, padding, stride)[0]
    places, _ = patch_places(x.shape[2:], kernel, dilation, padding, stride)
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    columns = padded.reshape(*x.shape[:2], math.prod(padded.shape[2:]))[:, :, places]
    return columns.reshape(x.shape[0], x.shape[1] * len(places), places.shape[1])


def col2im(columns, sizes, kernel, dilation, padding, stride):
    """Columns added back into pictures at the places of their patches."""
    if columns.ndim == 2:
        return col2im(columns[None], sizes, kernel, dilation, padding, stride)[0]
    padded = tuple(n + 2 * p for n, p in zip(sizes, padding, strict=True))
    steps = list(zip(padded, kernel, dilation, stride, strict=True))
    counts = [(n - d * (k - 1) - 1) // s + 1 for n, k, d, s in steps]
    batch, channels = columns.shape[0], columns.shape[1] // math.prod(kernel)
    pictures = np.zeros((batch, channels, *padded), columns.dtype)
    parts = columns.reshape(batch, channels, *kernel, *counts)
    for offset in np.ndindex(*kernel):  # what one element of the kernel saw lies at equal steps
        each = zip(offset, counts, steps, strict=True)
        seen = (slice(o * d, o * d + s * (c - 1) + 1, s) for o, c, (_, _, d, s) in each)
        pictures[(..., *seen)] += parts[(slice(None), slice(None), *offset)]
    inside = tuple(slice(p, p + m) for p, m in zip(padding, sizes, strict=True))
    return np.ascontiguousarray(pictures[(..., *inside)])


def pixel_shuffle(x, factor):
    """Channels laid out as pixels: (..., C * r * r, H, W) -> (..., C, H * r, W * r)."""
    *lead, channels, height, width = x.shape
    x = x.reshape(*lead, channels // factor**2, factor, factor, height, width)
    n = len(lead)
    x = x.transpose(*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    return np.ascontiguousarray(x).reshape(*lead, channels // factor**2, height * factor, width * factor)


def pixel_unshuffle(x, factor):
    """Pixels laid out as channels: the way back."""
    *lead, channels, height, width = x.shape
    x = x.reshape(*lead, channels, height // factor, factor, width // factor, factor)
    n = len(lead)
    x = x.transpose(*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    return np.ascontiguousarray(x).reshape(*lead, channels * factor**2, height // factor, width // factor)


# --- groups of channels, and the rest ----------------------------------------------------------------------


def group_norm(x, weight, bias, groups, eps):
    """Each group of channels of each sample normalised, then scaled and shifted by channel."""
    floats(x, "GroupNormKernelImpl")
    normalised, _ = standardised(x.reshape(grouped_sizes(x, groups)), eps)
    shape, result = channel_shape(x.ndim), normalised.reshape(x.shape)
    result = result if weight is None else result * weight.reshape(shape)
    return result if bias is None else result + bias.reshape(shape)


def glu(x, dim):
    """One half times the sigmoid of the other."""
    a, b = np.split(x, 2, dim)
    return np.ascontiguousarray(a * logistic(b))


def softshrink(x, lambd):
    """x moved towards 0 by lambd, and 0 within; NaN stays NaN."""
    floats(x, "softshrink_cpu")
    return np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, x * 0))


def soft_margin_loss(x, target, reduction):
    """log(1 + exp(-target * x))."""
    losses = np.log1p(np.exp(-target * x))
    return losses if reduction == 0 else total(losses) / (numel(x.shape) if reduction == 1 else 1)


# --- what gradient formulas call ---------------------------------------------------------------------------


def picture_sizes(sizes):
    """The sizes without samples and channels."""
    return tuple(sizes[-2:])


def standardised(lines, eps):
    """(rows with mean 0 and deviation 1, 1 / deviation)."""
    shifted = lines - average(lines, (2,))
    inverse = rsqrt(average(shifted * shifted, (2,)) + eps)
    return shifted * inverse, inverse


def grouped_sizes(x, groups):
    """The shape with a line for each group of channels."""
    return x.shape[0], groups, numel(x.shape[1:]) // groups


def group_norm_grad(grad, x, weight, groups, eps):
    """The gradient for the input of group_norm."""
    lines = reshape(x, grouped_sizes(x, groups))
    normalised, inverse = standardised(lines, eps)
    grad = grad if weight is None else grad * reshape(weight, channel_shape(grad.ndim))
    return reshape(through_normalising(reshape(grad, lines.shape), normalised, inverse, (2,)), x.shape)


def group_norm_weight_grad(grad, x, groups, eps):
    """The gradient for the weight of group_norm."""
    normalised, _ = standardised(reshape(x, grouped_sizes(x, groups)), eps)
    return sum_dim(grad * reshape(normalised, x.shape), other_axes(grad.ndim), False)


def soft_margin_grad(grad, x, target, reduction):
    """The gradient of soft_margin_loss."""
    z = exp(-target * x)
    return -target * (z / (1 + z)) * per_element(grad, x, reduction)


def soft_margin_slope(grad, x, target, reduction):
    """The gradient of soft_margin_loss's gradient for the gradient that it got."""
    z = exp(-target * x)
    return per_element(-target * (z / (1 + z)) * grad, x, reduction)


def soft_margin_bend(grad, x, target, reduction):
    """The gradient of soft_margin_loss's slope."""
    s = sigmoid(target * x)
    return per_element(grad * (target * target * (s * (1 - s))), x, reduction)


def glu_grad(grad, x, dim):
    """The gradient of glu, for both halves."""
    gate = sigmoid(second_half(x, dim))
    return join_halves(grad * gate, grad * first_half(x, dim) * gate * (1 - gate), dim)


def glu_slopes(grad, x, dim):
    """The gradient of glu's gradient for the gradient that it got."""
    parts = grad * glu_backward(ones_like(first_half(x, dim)), x, dim)
    return first_half(parts, dim) + second_half(parts, dim)


def glu_bend(grad, grad_output, x, dim):
    """The gradient of glu's gradient for the input."""
    a, gate = first_half(x, dim), sigmoid(second_half(x, dim))
    rest = one_minus(gate)
    slope = gate * rest
    grad_a, grad_b = first_half(grad, dim), second_half(grad, dim)
    along_b = grad_b * a * grad_output * (slope * rest - gate * slope) + grad_a * grad_output * slope
    return join_halves(grad_b * grad_output * slope, along_b, dim)


glu_backward, ones_like = glu_grad, np.ones_like


def first_half(x, dim):
    return np.split(x, 2, dim)[0]


def second_half(x, dim):
    return np.split(x, 2, dim)[1]


def join_halves(a, b, dim):
    return np.concatenate([a, b], dim)


def rsqrt(x):
    return 1 / np.sqrt(x)


def sum_dim(x, dim, keepdim):
    return total(x, dim, keepdim)


sigmoid = logistic
