"""The arithmetic behind the rows of neural networks: losses, convolution, normalisation. Plain functions of arrays.

PyTorch: aten/src/ATen/native (Loss.cpp, LossNLL.cpp, Convolution.cpp, Embedding.cpp, Normalization.cpp,
layer_norm.cpp) and torch/csrc/autograd/FunctionsManual.cpp.

As in kernels.py, the first part computes values and the second part is what gradient formulas call. Functions that
are written with operators serve arrays and tensors alike; the few that call NumPy have a twin in derivatives_nn.py.
"""

import itertools
import math

import numpy as np

from course_lib.arrays.kernels import (
    add_rows,
    copy,
    counting,
    error_function,
    expand,
    floats,
    index_add,
    logistic,
    mean,
    mul_number,
    numel,
    one_minus,
    pick,
    reshape,
    scatter_add,
    sizes_of_both,
    softmax,
    sum_of_all,
    sum_to,
    title,
    total,
    truth_refused,
    typed,
    where,
    zeros_of,
)

# --- losses ------------------------------------------------------------------------------------------------

NONE, MEAN, SUM = 0, 1, 2  # how PyTorch's nodes write reduction="none", "mean" and "sum"


def reduced(losses, reduction):
    """The losses themselves, their mean, or their sum."""
    return losses if reduction == NONE else mean(losses) if reduction == MEAN else total(losses)


def mse_loss(x, target, reduction):
    """The squares of the differences."""
    return reduced((x - target) ** 2, reduction)


def smooth_l1_loss(x, target, reduction, beta):
    """A parabola for differences below beta, a straight line of slope 1 beyond."""
    d = np.abs(floats(x, "smooth_l1_cpu") - target)
    return reduced(np.where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta).astype(d.dtype), reduction)


def huber_loss(x, target, reduction, delta):
    """A parabola for differences up to delta, a straight line of slope delta beyond; in the type of x."""
    d = np.abs(floats(x, "huber_cpu") - (target if target.dtype.kind == "f" else target.astype(x.dtype)))
    return reduced(np.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta)).astype(x.dtype), reduction)


def binary_cross_entropy(x, target, weight, reduction):
    """-log(x) where the target is 1, -log(1 - x) where it is 0; logarithms are cut off at -100."""
    inside = (x >= 0) & (x <= 1)
    wrong = ~(inside & (target >= 0) & (target <= 1))
    if wrong.any():  # the first element that is wrong decides, in the order in which the input lies in memory
        order = np.argsort(np.negative(x.strides), kind="stable") if x.ndim else ()
        first = wrong.transpose(order).argmax()
        name = "target" if inside.transpose(order).flat[first] else "input"
        raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    losses = (target - 1) * np.maximum(np.log1p(-x), -100) - target * np.maximum(np.log(x), -100)
    return reduced(losses if weight is None else scaled_over(losses, weight), reduction)


def bce_with_logits(x, target, weight, pos_weight, reduction):
    """binary_cross_entropy of sigmoid(x), from x itself so that nothing overflows."""
    softplus = np.log1p(np.exp(-np.abs(x))) + np.maximum(-x, 0)  # -log(sigmoid(x))
    if pos_weight is not None:
        sizes_of_both(pos_weight, target)
        softplus = scaled_over(softplus, (pos_weight - 1) * target + 1)
    losses = (scaled_over(1 - target, x) + softplus).astype(target.dtype, copy=False)
    return reduced(losses if weight is None else scaled_over(losses, weight), reduction)


def scaled_over(x, factor):
    """x times a factor, written over x: in its type; RuntimeError when the product has another shape."""
    sizes_of_both(x, factor)
    result = x * factor
    if result.shape != x.shape:
        raise RuntimeError(
            f"output with shape {list(x.shape)} doesn't match the broadcast shape {list(result.shape)}"
        )
    return result.astype(x.dtype, copy=False)


def threshold(x, threshold, value):
    """x where it is above the threshold, `value` elsewhere."""
    truth_refused(x, "\"threshold_cpu\" not implemented for 'Bool'", NotImplementedError)
    return np.where(x <= threshold, x.dtype.type(value), x)


def softplus(x, beta, threshold):
    """log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold."""
    floats(x, "softplus_cpu")
    return np.where(x * beta > threshold, x, np.log1p(np.exp(np.minimum(x * beta, threshold))) / beta)


def gelu(x):
    """x times the chance that a standard normal number is below x."""
    floats(x, "GeluKernelImpl")
    return (x * (0.5 * (1 + error_function(x * math.sqrt(0.5))))).astype(x.dtype)


def gelu_tanh(x):
    """gelu with the normal distribution approximated by a hyperbolic tangent."""
    return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))


def glu(x, dim):
    """One half times the sigmoid of the other."""
    a, b = np.split(x, 2, dim)
    return np.ascontiguousarray(a * logistic(b))


def log_sigmoid(x):
    """(log(sigmoid(x)), exp(-|x|)): the second is what its gradient is made of."""
    x = np.asarray(floats(x, "log_sigmoid_cpu"), order="C")
    buffer = np.exp(-np.abs(x))
    return np.minimum(x, 0) - np.log1p(buffer), buffer


def log_sigmoid_backward(grad, x, buffer):
    """The gradient of log_sigmoid, made from its second result."""
    alike(x, grad)
    slope = buffer / (1 + buffer)
    return grad * np.where(x < 0, 1 - slope, slope)


def known_classes(sizes, target, ignore_index):
    """(class numbers, which samples count); the second is None when all do. IndexError for a class there is not."""
    classes = sizes[0 if len(sizes) == 1 else 1]
    if not 0 <= ignore_index < classes and (
        not target.size or largest_number(target) < classes
    ):
        return target, None
    kept = target != ignore_index
    bad = kept & ((target < 0) | (target >= classes))
    if np.any(bad):
        raise IndexError(f"Target {np.asarray(target)[bad].flat[0]} is out of bounds.")
    return np.where(kept, target, 0), kept


HUGE = np.dtype(np.uint64)


def largest_number(target):
    """The largest of some class numbers, negative ones counting as huge. (argmax takes a third of max's time.)"""
    seen = target.view(HUGE)
    return seen[seen.argmax()] if seen.ndim == 1 else seen.max()


def at_classes(sizes, target):
    """The index that picks each sample's target class out of an array of shape (N, classes, ...)."""
    if len(sizes) < 3:
        return (counting(sizes[0]), target) if len(sizes) == 2 else target
    first, *others = np.ogrid[tuple(map(slice, target.shape))]
    return (first, target, *others)


def sample_weights(target, kept, weight, dtype):
    """Each sample's weight, 0 for those that do not count; None when all weigh 1."""
    if weight is None:
        return None if kept is None else kept.astype(dtype)
    return weight[target] if kept is None else np.where(kept, weight[target], dtype.type(0))


EXACT = 2**24  # below this, every whole number is a float32


def nll_loss(x, target, weight, reduction, ignore_index):
    """(the weighted negative entries of x at the target classes, the total weight). IndexError for no such class."""
    floats(x, "nll_loss_out_frame" if x.ndim < 3 else "nll_loss2d_forward_out_frame")
    target, kept = known_classes(x.shape, target.reshape(()) if x.ndim == 1 else target, ignore_index)
    taken = x[at_classes(x.shape, target)]
    if weight is None and kept is None and reduction != NONE:  # every sample counts, and all the same
        loss, total_weight = sum_of_all(taken), x.dtype.type(taken.size)
        loss = -loss if loss else loss  # nothing lost is 0, and not -0
        return (loss / total_weight if reduction == MEAN else loss), total_weight
    losses, weights = np.negative(taken), sample_weights(target, kept, weight, x.dtype)
    if weights is not None:
        losses = np.where(weights == 0, x.dtype.type(0), losses * weights)
    if reduction == NONE:
        return losses, x.dtype.type(0)
    total_weight = np.add.reduce(weights, axis=None)
    loss = sum_of_all(losses)
    return (loss / total_weight if reduction == MEAN else loss), total_weight


def nll_loss_backward(grad, x, target, total_weight, weight, reduction, ignore_index):
    """Minus each sample's weight at its target class, times what flows back to that sample's loss."""
    if weight is None and x.ndim == 2 and reduction != NONE and total_weight == target.size < EXACT:
        result = np.zeros(x.shape, grad.dtype)  # every sample counts, and all the same
        result[counting(x.shape[0]), target] = -grad / total_weight if reduction == MEAN else -grad
        return result
    target, kept = known_classes(x.shape, target.reshape(()) if x.ndim == 1 else target, ignore_index)
    weights = sample_weights(target, kept, weight, grad.dtype)
    grad = -grad / total_weight if reduction == MEAN else -grad
    result = np.zeros(x.shape, grad.dtype)
    result[at_classes(x.shape, target)] = grad if weights is None else np.where(weights == 0, 0, grad * weights)
    return result


def xlogy(x, y):
    """x * log(y), but 0 where x is 0 and y is a number."""
    return np.where((x == 0) & ~np.isnan(y), x.dtype.type(0), x * np.log(y))


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


# --- convolution -------------------------------------------------------------------------------------------


def windows(x, kernel, stride, padding, dilation):
    """Every patch of x that the kernel sees: (N, C, *places, *kernel). A view of the padded x, nothing is copied."""
    n = len(kernel)
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    span = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
    seen = np.lib.stride_tricks.sliding_window_view(padded, span, tuple(range(2, 2 + n)))
    places = tuple(slice(None, None, s) for s in stride)
    return seen[(slice(None), slice(None), *places, *(slice(None, None, d) for d in dilation))]


def convolution(x, weight, bias, stride, padding, dilation, groups):
    """Each output channel: the sum over its group's input channels of patch times kernel, plus the bias."""
    kernel = weight.shape[2:]
    seen = windows(x, kernel, stride, padding, dilation)
    n = len(kernel)
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
    seen = windows(x, sizes[2:], stride, padding, dilation)
    places = [0, *range(2, 2 + n)]
    seen = seen[(slice(None), slice(None), *map(slice, grad.shape[2:]))]
    parts = [
        np.tensordot(g, patches, (places, places))
        for g, patches in zip(np.split(grad, groups, 1), np.split(seen, groups, 1), strict=True)
    ]
    return np.concatenate(parts, 0)


def conv_input_grad(grad, weight, sizes, stride, padding, dilation, groups):
    """The gradient for the input: each place's gradient, times the kernel, put back where the patch was taken."""
    kernel, places = weight.shape[2:], grad.shape[2:]
    padded = np.zeros((*sizes[:2], *(n + 2 * p for n, p in zip(sizes[2:], padding, strict=True))), grad.dtype)
    halves = list(zip(np.split(grad, groups, 1), np.split(weight, groups, 0), np.split(padded, groups, 1), strict=True))
    for tap in itertools.product(*map(range, kernel)):
        where_to = tuple(
            slice(t * d, t * d + s * (n - 1) + 1, s)
            for t, d, s, n in zip(tap, dilation, stride, places, strict=True)
        )
        for g, w, part in halves:
            moved = np.tensordot(w[(slice(None), slice(None), *tap)], g, ([0], [1]))
            part[(slice(None), slice(None), *where_to)] += np.moveaxis(moved, 1, 0)
    inside = tuple(slice(p, p + n) for n, p in zip(sizes[2:], padding, strict=True))
    return np.ascontiguousarray(padded[(slice(None), slice(None), *inside)])


def max_pool(x, kernel, stride, padding, dilation, ceil_mode=False):
    """(the largest element of each patch, its place in the flattened image); padding never wins."""
    n = len(kernel)
    truth_refused(x, f"\"max_pool{n}d\" not implemented for 'Bool'", NotImplementedError)
    images = x.reshape(-1, 1, *x.shape[-n:])
    if not images.size:
        images = images.reshape(0, 1, *x.shape[-n:])
    around = [(0, 0), (0, 0), *sides_of_patches(x.shape[-n:], kernel, stride, padding, dilation, ceil_mode)]
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    seen = windows(np.pad(images, around, constant_values=lowest), kernel, stride, (0,) * n, dilation)
    flat = seen.reshape(*seen.shape[: 2 + n], -1)
    best = flat.argmax(-1)[..., None]
    places = np.pad(np.arange(numel(x.shape[-n:])).reshape(1, 1, *x.shape[-n:]), around)
    index = windows(places, kernel, stride, (0,) * n, dilation).reshape(1, 1, *seen.shape[2 : 2 + n], -1)
    index = np.take_along_axis(np.broadcast_to(index, flat.shape), best, -1)[..., 0]
    shape = (*x.shape[:-n], *seen.shape[2 : 2 + n])
    return np.take_along_axis(flat, best, -1).reshape(shape), np.ascontiguousarray(index).reshape(shape)


def sides_of_patches(sizes, kernel, stride, padding, dilation, ceil_mode):
    """How much to pad on both sides of each dimension; with ceil_mode enough for a last patch that reaches beyond."""
    for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation, strict=True):
        span, more = d * (k - 1) + 1, 0
        if ceil_mode:
            last = -(-(n + 2 * p - span) // s) * s
            last -= s * (last >= n + p)
            more = max(last + span - (n + 2 * p), 0)
        yield p, p + more


def max_pool_backward(grad, x, indices, kernel):
    """Each patch's gradient, put at the place of its largest element."""
    lines = flat_images(np.zeros(x.shape, grad.dtype), kernel)
    indices, grad = flat_images(indices, kernel), flat_images(grad, kernel)
    return scatter_add(lines, lines.ndim - 1, indices, grad).reshape(x.shape)


# Note [Taps]
# Pooling by means and padding are one operation: along each dimension, every element of the result is a sum of a few
# elements of the input, its taps. (places, there), two arrays of shape (taps, length of the result), say where they
# are, and which of them are there at all; None means all. The way back adds each gradient at the places it came from.


def pooled(x, taps, divisor):
    """The sums that taps describe, one pair for each of the last dimensions, divided by a divisor, if any."""
    dtype, first = x.dtype, x.ndim - len(taps)
    for dim, (places, there) in enumerate(taps, first):
        if there is None:
            x = np.take(x, places[0], axis=dim)
            continue
        parts = np.take(x, places, axis=dim)
        if not there.all():
            parts = np.where(there.reshape(there.shape + (1,) * (x.ndim - dim - 1)), parts, 0)
        x = np.add.reduce(parts, axis=dim, dtype=dtype)
    if divisor is not None:
        x = x / divisor if dtype.kind == "f" else np.trunc(x / divisor)
    return np.ascontiguousarray(x, dtype)


def pooled_back(grad, x, taps, divisor):
    """The gradient of the sums, added at the places that were read."""
    grad, dtype = grad if divisor is None else grad / divisor, grad.dtype
    first = grad.ndim - len(taps)
    for dim, (places, there) in reversed(list(enumerate(taps, first))):
        moved = np.moveaxis(grad, dim, 0)
        whole = np.zeros((x.shape[dim], *moved.shape[1:]), dtype)
        for tap, at in enumerate(places):
            kept = slice(None) if there is None or there[tap].all() else there[tap]
            add_rows(whole, at[kept], moved[kept])
        grad = np.moveaxis(whole, 0, dim)
    return np.ascontiguousarray(grad, dtype)


def window_taps(n, starts, ends):
    """Taps that sum the elements from start to end, as far as they lie within n; and how many these are."""
    first, last = np.maximum(starts, 0), np.minimum(ends, n)
    places = first + np.arange(max(np.max(last - first, initial=0), 1))[:, None]
    return (np.minimum(places, max(n - 1, 0)), places < last), last - first


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


# --- looking up and normalising ----------------------------------------------------------------------------


def safe_softmax(x, dim):
    """softmax, and 0 where every element is -inf: what may look nowhere sees nothing."""
    return np.where(np.all(x == -math.inf, axis=dim, keepdims=True), x.dtype.type(0), softmax(x, dim))


def attention(query, key, value, mask, is_causal, scale):
    """(softmax(query @ key.T * scale + mask) @ value, the logarithm of the sum of exponentials for each query)."""
    scores = attention_scores(query, key, mask, is_causal, scale)
    top = np.maximum(np.max(scores, -1, keepdims=True), np.finfo(scores.dtype).min)
    sums = np.log(np.sum(np.exp(scores - top), -1)) + top[..., 0]
    return safe_softmax(scores, scores.ndim - 1) @ value, sums


def attention_scores(query, key, mask, is_causal, scale):
    """How much each query likes each key; a causal one does not like what comes after it."""
    scores = (query @ key.swapaxes(-1, -2)) * scale
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, scores.dtype.type(-math.inf))
    return scores if mask is None else scores + mask


def attention_bend(grads, edges, query, key, value, output, logsumexp, mask, is_causal, scale):
    """The gradients of attention for its three inputs."""
    scores = attention_scores(query, key, mask, is_causal, scale)
    weights = safe_softmax(scores, scores.ndim - 1)
    spread = grads[0] @ value.swapaxes(-1, -2)
    bent = weights * (spread - np.sum(spread * weights, -1, keepdims=True)) * scale
    return bent @ key, bent.swapaxes(-1, -2) @ query, weights.swapaxes(-1, -2) @ grads[0]


def embedding(weight, indices):
    """The rows of weight that indices name; IndexError for a row that is not there."""
    if indices.size and (np.min(indices) < 0 or np.max(indices) >= len(weight)):
        raise IndexError("index out of range in self")
    return weight[indices]


def batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps):
    """(result, mean, 1 / standard deviation) by channel; in training the running statistics move towards the batch's.

    They are written without counting a version, as in PyTorch, so that two forward passes may precede a backward.
    """
    axes = other_axes(floats(x, "batch_norm").ndim)
    if training or running_mean is None:
        center, spread = np.mean(x, axes), np.var(x, axes)
        if running_mean is not None:
            n = x.size / x.shape[1]
            running_mean += running_mean.dtype.type(momentum) * (center - running_mean)
            running_var += running_var.dtype.type(momentum) * (spread * (n / (n - 1)) - running_var)
        inverse = 1 / np.sqrt(spread + eps)
        saved = center, inverse
    else:
        center, inverse = running_mean, 1 / np.sqrt(running_var + eps)
        saved = np.zeros(0, x.dtype), np.zeros(0, x.dtype)  # nothing of the batch was used
    shape = channel_shape(x.ndim)
    result = (x - center.reshape(shape)) * inverse.reshape(shape)
    result = result if weight is None else result * weight.reshape(shape)
    return (result if bias is None else result + bias.reshape(shape)).astype(x.dtype), *saved


def layer_norm(x, normalized_shape, weight, bias, eps):
    """(result, mean, 1 / standard deviation) over the last dimensions."""
    floats(x, "LayerNormKernelImpl")
    axes = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    center = average(x, axes) if x.size else np.zeros((*x.shape[: axes[0]], *(1 for _ in axes)), x.dtype)
    shifted = x - center
    inverse = 1 / np.sqrt(average(shifted * shifted, axes) + eps)
    if x.size and np.isnan(np.add.reduce(inverse, axis=None)):
        center = np.where(np.isnan(inverse), inverse, center)  # PyTorch's running mean is lost at an infinite element
    result = shifted * inverse
    result = result if weight is None else result * weight
    result = result + (0 if bias is None else bias)  # which makes of -0.0 0.0
    return np.ascontiguousarray(result, x.dtype), center, inverse


# --- what gradient formulas call ---------------------------------------------------------------------------


def per_element(grad, x, reduction):
    """The gradient of one loss, before the losses were averaged or summed."""
    return grad / max(numel(x.shape), 1) if reduction == 1 else grad


def gap(a, b):
    """a - b, where one may be truth values."""
    return a - b


def smooth_l1_backward(grad, x, target, reduction, beta):
    """The gradient of smooth_l1_loss for x: its slope at the difference, which lies between -1 and 1."""
    d = gap(x, target)
    return where(abs(d) >= beta, sign(d), d / beta) * per_element(grad, x, reduction)


def huber_backward(grad, x, target, reduction, delta):
    """The gradient of huber_loss for x: its slope at the difference, which lies between -delta and delta."""
    alike(x, target)
    d = x - target
    return where(abs(d) >= delta, sign(d) * delta, d) * per_element(grad, x, reduction)


def alike(x, other):
    """RuntimeError unless both have one element type: few kernels of gradients promote."""
    if x.dtype != other.dtype:
        raise RuntimeError(f"Found dtype {type_title(other)} but expected {type_title(x)}")


def same_scalars(x, grad):
    """RuntimeError for a gradient of another type than x, which took data of another type since the forward pass."""
    if x.dtype != grad.dtype:
        raise RuntimeError(f"expected scalar type {type_title(x)} but found {type_title(grad)}")


def type_title(x):
    """The name of an element type, of a tensor or an array, as in DoubleTensor."""
    return x.dtype.title if hasattr(x.dtype, "title") else title(x).title


def weighted(grad, weight):
    """The gradient times a weight, if there is one."""
    return grad if weight is None else grad * weight


def bce_grad(grad, x, target, weight, reduction):
    """The gradient of binary_cross_entropy for its input."""
    return typed(weighted(bce_slope(x, target), weight) * per_element(grad, x, reduction), x)


def bce_slope(x, target):
    """The slope of binary_cross_entropy for its input; the denominator is kept away from 0."""
    return (x - target) / at_least((1 - x) * x, 1e-12)


def bce_target_slope(x):
    """The slope of binary_cross_entropy for its target."""
    return -log(x / (1 - x))


def fitting(target, x):
    """A target that is subtracted where sigmoid(x) lies; RuntimeError when x took data of another shape since."""
    if target.shape != x.shape and (wanted := np.broadcast_shapes(target.shape, x.shape)) != x.shape:
        raise RuntimeError(f"output with shape {list(x.shape)} doesn't match the broadcast shape {list(wanted)}")
    return target


def bce_logits_slope(x, target, pos_weight):
    """The slope of bce_with_logits for its input."""
    if pos_weight is None:
        return sigmoid(x) - fitting(target, x)
    t = pos_weight * target
    return (t + 1 - target) * sigmoid(x) - t


def bce_logits_target_slope(x, pos_weight):
    """The slope of bce_with_logits for its target."""
    return -x if pos_weight is None else softplus_of(x) * (pos_weight - 1) - x


def softplus_of(x):
    """-log(sigmoid(x))."""
    return at_least(-x, 0) + log(1 + exp(-abs(x)))


def gelu_slope(x):
    """The slope of gelu: the normal distribution up to x, plus x times its density."""
    return 0.5 * (1 + error_function(x * math.sqrt(0.5))) + x * exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))


def gelu_bend(x):
    """The second derivative of gelu."""
    square = x * x
    density = mul_number(exp(mul_number(square, -0.5)), 1 / math.sqrt(2 * math.pi))
    return mul_number(density, 2) - square * density


def gelu_tanh_bend(x):
    """The second derivative of gelu_tanh."""
    beta, kappa = 0.7978845608028654, 0.044715
    t = tanh(mul_number(x + mul_number(x**3, kappa), beta))
    g, half = one_minus(t * t), mul_number(x, 0.5)
    h = mul_number(add_number(mul_number(x, 3 * kappa) * x, 1), beta)
    gh = g * h
    return gh - mul_number(t * g, 2) * half * h * h + mul_number(x, 6 * kappa * beta) * half * g


def bent_log_sigmoid(grad, grad_output, x):
    """The gradient of log_sigmoid's slope."""
    s = sigmoid(x)
    return grad * grad_output * sub_number(s, 1) * s


def softplus_bend(grad, x, beta, threshold):
    """The gradient of softplus's slope."""
    scaled = mul_number(x, beta)
    return mul_number(sigmoid_backward(grad, sigmoid(scaled)) * typed(scaled < threshold, grad), beta)


def mean_of(losses, x, reduction):
    """The gradient of losses that were averaged or summed, from that of each."""
    return losses / max(x.size, 1) if reduction == 1 else losses


def bce_slope_near(x, target):
    """The slope of binary_cross_entropy for its input, where its gradient is differentiated."""
    return (x - target) / (add_number(one_minus(x), 1e-12) * add_number(x, 1e-12))


def bce_bend(x, target):
    """The second derivative of binary_cross_entropy for its input."""
    low, high = add_number(x, 1e-12), add_number(one_minus(x), 1e-12)
    return (x * x - mul_number(x, 2) * target + target) / (low**2 * high**2)


def logit_of(x):
    """log(x / (1 - x))."""
    return log(x / (1 - x))


def add_number(x, number):
    return x + number


def sub_number(x, number):
    return x - number


def div_number(x, number):
    return x / number


def sigmoid_backward(grad, result):
    return grad * ((1 - result) * result)


def elu_backward(grad, alpha, scale, input_scale, is_result, x):
    """The gradient of scale * (x, or where it is below 0 alpha * (exp(input_scale * x) - 1)), from x or the result."""
    slope = input_scale * (x + alpha * scale) if is_result else input_scale * alpha * scale * np.exp(x * input_scale)
    return np.where(x <= 0, grad * slope, grad * scale)


def elu_bend(grad, alpha, scale, input_scale, is_result, x):
    """The gradient of elu's slope; 0 times the gradient where x is above 0, which is NaN for an infinite one."""
    return (grad if is_result else elu_backward(grad, alpha, scale, input_scale, False, x)) * (x < 0)


def gelu_tanh_slope(x):
    """The slope of gelu_tanh."""
    t = tanh(0.7978845608028654 * (x + 0.044715 * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (0.7978845608028654 * (1 + 0.134145 * x * x))


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


def conv_bias_grad(grad):
    """The gradient for the bias: everything but the channels is summed."""
    return sum_dim(grad, other_axes(grad.ndim), False)


def max_pool_pick(x, indices, kernel):
    """The element of each image that each patch's maximum came from."""
    lines = flat_images(x, kernel)
    return reshape(gather(lines, lines.ndim - 1, flat_images(indices, kernel)), indices.shape)


def flat_images(x, kernel):
    """Images of as many dimensions as the kernel has, as vectors."""
    lead = tuple(x.shape[: x.ndim - len(kernel)])
    return reshape(x, lead + (numel(x.shape[x.ndim - len(kernel) :]),))


def embedding_grad(grad, sizes, indices, padding_idx, by_frequency):
    """Each looked-up row's gradient, added to its place in the table; the padding row gets none."""
    shares = lookup_shares(grad, indices, padding_idx, by_frequency)
    rows = reshape(grad, (numel(indices.shape), sizes[1])) * shares
    return index_add(zeros_of(grad, sizes), 0, reshape(indices, (-1,)), rows)


def lookup_shares(grad, indices, padding_idx, by_frequency):
    """What part of each lookup's gradient counts: 0 for padding, 1 over its frequency on request, otherwise 1."""
    flat = indices.reshape(-1, 1)
    share = (flat != padding_idx).astype(grad.dtype)
    if by_frequency:
        _, place, counts = np.unique(flat, return_inverse=True, return_counts=True)
        share /= counts[place].reshape(-1, 1).astype(grad.dtype)
    return share


def other_axes(ndim):
    """All axes but the channels'."""
    return (0, *range(2, ndim))


def channel_shape(ndim):
    """The shape in which a vector of one number a channel broadcasts against a batch."""
    return (1, -1, *(1,) * (ndim - 2))


def batch_norm_grad(grad, x, weight, running_mean, running_var, center, inverse, training, eps):
    """The gradient for the input of batch_norm. In training the statistics depend on the input too."""
    shape = channel_shape(grad.ndim)
    center, inverse = channel_statistics(x, running_mean, running_var, center, inverse, training, eps)
    if weight is not None:
        grad = grad * reshape(weight, shape)
    if not training and running_mean is not None:
        return grad * inverse
    return through_normalising(grad, (x - center) * inverse, inverse, other_axes(grad.ndim))


def batch_norm_weight_grad(grad, x, running_mean, running_var, center, inverse, training, eps):
    """The gradient for the weight: the normalised input, weighted and summed by channel."""
    center, inverse = channel_statistics(x, running_mean, running_var, center, inverse, training, eps)
    return sum_dim(grad * ((x - center) * inverse), other_axes(grad.ndim), False)


def channel_statistics(x, running_mean, running_var, center, inverse, training, eps):
    """The mean and 1 / standard deviation that the forward pass used, in a shape that broadcasts."""
    if not training and running_mean is not None:
        center, inverse = running_mean, 1 / np.sqrt(running_var + eps)
    shape = channel_shape(x.ndim)
    return center.reshape(shape), inverse.reshape(shape)


def layer_norm_grad(grad, x, normalized_shape, weight, center, inverse, eps):
    """The gradient for the input of layer_norm."""
    same_scalars(x, grad)
    center, inverse = layer_statistics(x, normalized_shape, center, inverse, eps)
    axes = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    return through_normalising(weighted(grad, weight), (x - center) * inverse, inverse, axes)


def layer_norm_weight_grad(grad, x, normalized_shape, center, inverse, eps):
    """The gradient for the weight of layer_norm."""
    same_scalars(x, grad)
    center, inverse = layer_statistics(x, normalized_shape, center, inverse, eps)
    return sum_to(grad * ((x - center) * inverse), normalized_shape)


def layer_statistics(x, normalized_shape, center, inverse, eps):
    """The mean and 1 / standard deviation of layer_norm: those the forward pass kept."""
    return center, inverse


def looked_up(grad, indices, padding_idx, by_frequency):
    """What embedding's gradient passes back: rows of the table, as many as were looked up."""
    found = grad[indices.reshape(-1)]
    if padding_idx >= 0 or by_frequency:
        found = found * lookup_shares(grad, indices, padding_idx, by_frequency)
    return found.reshape(*indices.shape, -1)


# Note [Gradients of gradients in one node]
# PyTorch has one node for all the gradients of a convolution, a normalising layer or prelu; and so it is here
# (joint.py). What follows computes for such a node what it passes back: from `grads`, the gradients of the
# gradients (None for those that nobody used), one for each input, None where no edge leads on.


def add_up(*parts):
    """The sum of those that are there; None when there are none."""
    total = None
    for part in parts:
        if part is not None:
            total = part if total is None else total + part
    return total


def convolution_bend(grads, edges, grad_output, x, weight, stride, padding, dilation, groups):
    """Of the three gradients of a convolution: each is a convolution, or the gradient of one."""
    (gx, gw, gb), numbers = grads, (stride, padding, dilation, groups)
    into_grad = edges[0] and add_up(
        None if gx is None else convolution(gx, weight, None, *numbers),
        None if gw is None else convolution(x, gw, None, *numbers),
        None if gb is None else expand(reshape(gb, channel_shape(grad_output.ndim)), grad_output.shape),
    )
    return (
        into_grad,
        conv_input_grad(grad_output, gw, x.shape, *numbers) if edges[1] and gw is not None else None,
        conv_weight_grad(grad_output, gx, weight.shape, *numbers) if edges[2] and gx is not None else None,
    )


def normalising_bend(grads, grad_output, x, weight, center, inverse, axes):
    """Of the gradients of an input that was normalised over axes, then scaled by a weight and shifted.

    With x' normalised and P(g) = g - mean(g) - x' mean(g x') they are inverse P(grad weight), sums of grad x' and of
    grad. P is its own transpose, the inverse deviation has slope -inverse ** 2 x' / n, and x' slope inverse P / n.
    """
    gx, gw, gb = grads
    normalised = (x - center) * inverse
    into_grad, into_x, into_weight = [gb], [], None
    if gw is not None:
        into_grad.append(gw * normalised)
        into_x.append(through_normalising(gw * grad_output, normalised, inverse, axes))
    if gx is not None:
        back = through_normalising(gx, normalised, inverse, axes)
        into_grad.append(weighted(back, weight))
        into_weight = grad_output * back
        scaled = weighted(grad_output, weight)
        along, across = average(scaled * normalised, axes), average(gx * normalised, axes)
        both = average(gx * scaled, axes) - average(gx, axes) * average(scaled, axes) - across * along
        bent = along * back + across * through_normalising(scaled, normalised, inverse, axes)
        into_x.append(-inverse * (bent + inverse * normalised * both))
    return add_up(*into_grad), add_up(*into_x), into_weight


def batch_norm_bend(grads, edges, grad_output, x, weight, center, inverse, mean, var, training, eps):
    """Of the gradients of batch_norm."""
    shape, axes = channel_shape(x.ndim), other_axes(x.ndim)
    grads = [grads[0], *(None if g is None else reshape(g, shape) for g in grads[1:])]
    center, inverse = channel_statistics(x, mean, var, center, inverse, training, eps)
    scale = None if weight is None else reshape(weight, shape)
    if training or mean is None:
        into_grad, into_x, into_weight = normalising_bend(grads, grad_output, x, scale, center, inverse, axes)
    else:
        gx, gw, gb = grads
        back = None if gx is None else gx * inverse
        across = None if gw is None else gw * ((x - center) * inverse)
        into_grad = add_up(gb, across, None if gx is None else weighted(back, scale))
        into_x = None if gw is None else gw * grad_output * inverse
        into_weight = None if gx is None else grad_output * back
    into_weight = None if into_weight is None or weight is None else sum_dim(into_weight, axes, False)
    return as_shaped(into_grad, grad_output), into_x, into_weight, None, None


def layer_norm_bend(grads, edges, grad_output, x, center, inverse, weight, normalized_shape, eps):
    """Of the gradients of layer_norm."""
    axes = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    center, inverse = layer_statistics(x, normalized_shape, center, inverse, eps)
    into_grad, into_x, into_weight = normalising_bend(grads, grad_output, x, weight, center, inverse, axes)
    into_weight = None if into_weight is None or weight is None else sum_to(into_weight, normalized_shape)
    return as_shaped(into_grad, grad_output), into_x, None, None, into_weight, None


def as_shaped(grad, like):
    """A gradient in the shape of another tensor."""
    return grad if grad is None or grad.shape == like.shape else expand(grad, like.shape)


def through_normalising(grad, normalised, inverse, axes):
    """The gradient of (x - mean) / deviation: what points along a shift or a scaling of x is taken away."""
    along = normalised * average(grad * normalised, axes)
    return inverse * (grad - average(grad, axes) - along)


def average(x, axes):
    return sum_dim(x, axes, True) / numel(x.shape, axes)


# Names that the formulas above use in both forms: here for arrays; for tensors the table's rows of these names.


def first_half(x, dim):
    return np.split(x, 2, dim)[0]


def second_half(x, dim):
    return np.split(x, 2, dim)[1]


def join_halves(a, b, dim):
    return np.concatenate([a, b], dim)


def sum_dim(x, dim, keepdim):
    return total(x, dim, keepdim)


def at_least(x, low):
    return np.maximum(x, x.dtype.type(low))


gather, sigmoid, exp, log, sign, tanh = pick, logistic, np.exp, np.log, np.sign, np.tanh
glu_backward, ones_like = glu_grad, np.ones_like
