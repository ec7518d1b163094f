"""Losses in NumPy: their values, and the gradients that take more than one expression.

PyTorch: aten/src/ATen/native (Loss.cpp, LossNLL.cpp, LossNLL2d.cpp), torch/csrc/autograd/FunctionsManual.cpp.

`reduction` is a number, as PyTorch's nodes keep it: 0, 1 or 2 for "none", "mean" or "sum".
"""

import numpy as np

from course_lib.arrays.kernels import counting, floats, mean, numel, sum_of_all, total
from course_lib.arrays.kernels.activations import log_sigmoid, sigmoid

NONE, MEAN, SUM = 0, 1, 2


def reduced(losses: np.ndarray, reduction: int) -> np.ndarray:
    """Return the losses themselves, their mean, or their sum."""
    return losses if reduction == NONE else mean(losses) if reduction == MEAN else total(losses)


def mse_loss(x: np.ndarray, target: np.ndarray, reduction: int) -> np.ndarray:
    """Return the squares of the differences."""
    return reduced((x - target) ** 2, reduction)


def huber_loss(x: np.ndarray, target: np.ndarray, reduction: int, delta: float) -> np.ndarray:
    """Return a parabola for differences up to delta, a straight line of slope delta beyond."""
    d = np.abs(floats(x, "huber_cpu") - target)
    return reduced(np.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta)).astype(d.dtype), reduction)


def binary_cross_entropy(x: np.ndarray, target: np.ndarray, weight: np.ndarray | None, reduction: str) -> np.ndarray:
    """Return -log(x) where the target is 1, -log(1 - x) where it is 0; logarithms are cut off at -100."""
    for name, values in (("input", x), ("target", target)):
        if not np.all((values >= 0) & (values <= 1)):
            raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    losses = (target - 1) * np.maximum(np.log1p(-x), -100) - target * np.maximum(np.log(x), -100)
    return reduced(weighted(losses, weight), reduction)


def bce_with_logits(
    x: np.ndarray, target: np.ndarray, weight: object, pos_weight: np.ndarray | None, reduction: int
) -> np.ndarray:
    """Return binary_cross_entropy of sigmoid(x), from x itself so that nothing overflows."""
    softplus = np.log1p(np.exp(-np.abs(x))) + np.maximum(-x, 0)  # -log(sigmoid(x))
    if pos_weight is not None:
        softplus = softplus * ((pos_weight - 1) * target + 1)
    losses = weighted((1 - target) * x + softplus, weight)
    return reduced(losses.astype(target.dtype, copy=False), reduction)


# --- class numbers -----------------------------------------------------------------------------------------
# x is (C), (N, C) or (N, C, ...), the target the same without C.

HUGE = np.dtype(np.uint64)
EXACT = 2**24  # below this, every whole number is a float32


def largest_number(target: np.ndarray) -> object:
    """Return the largest class number, negative ones counting as huge. (argmax takes a third of max's time.)"""
    seen = target.view(HUGE)
    return seen[seen.argmax()] if seen.ndim == 1 else seen.max()


def known_classes(sizes: tuple, target: np.ndarray, ignore_index: int) -> tuple:
    """Return (class numbers, which samples count, None if all do). IndexError for a class that is not there."""
    classes = sizes[0 if len(sizes) == 1 else 1]
    if not 0 <= ignore_index < classes and (not target.size or largest_number(target) < classes):
        return target, None
    kept = target != ignore_index
    wrong = kept & ((target < 0) | (target >= classes))
    if np.any(wrong):
        raise IndexError(f"Target {np.asarray(target)[wrong].flat[0]} is out of bounds.")
    return np.where(kept, target, 0), kept


def at_classes(sizes: tuple, target: np.ndarray) -> tuple:
    """Return the index that picks each sample's target class out of an array of these sizes."""
    if len(sizes) < 3:
        return (counting(sizes[0]), target) if len(sizes) == 2 else target
    first, *others = np.ogrid[tuple(map(slice, target.shape))]
    return (first, target, *others)


def sample_weights(
    target: np.ndarray, kept: np.ndarray | None, weight: np.ndarray | None, dtype: np.dtype
) -> np.ndarray:
    """Return each sample's weight, 0 for those that do not count."""
    weights = np.ones(np.shape(target), dtype) if weight is None else weight[target]
    return weights if kept is None else np.where(kept, weights, dtype.type(0))


def nll_loss(x: np.ndarray, target: np.ndarray, weight: object, reduction: int, ignore_index: int) -> tuple:
    """Return (weighted negative entries of x at the target classes, total weight). IndexError for no such class."""
    floats(x, "nll_loss_out_frame" if x.ndim < 3 else "nll_loss2d_forward_out_frame")
    target, kept = known_classes(x.shape, target.reshape(()) if x.ndim == 1 else target, ignore_index)
    taken = x[at_classes(x.shape, target)]
    if weight is None and kept is None and reduction != NONE:  # every sample counts, and all the same
        loss, total_weight = sum_of_all(taken), x.dtype.type(taken.size)
        loss = -loss if loss else loss  # nothing lost is 0, and not -0
        return (loss / total_weight if reduction == MEAN else loss), total_weight
    weights = sample_weights(target, kept, weight, x.dtype)
    losses = np.where(weights == 0, x.dtype.type(0), -taken * weights)
    if reduction == NONE:
        return losses, x.dtype.type(0)
    total_weight, loss = np.add.reduce(weights, axis=None), sum_of_all(losses)
    return (loss / total_weight if reduction == MEAN else loss), total_weight


def nll_loss_backward(
    grad: np.ndarray, x: np.ndarray, target: np.ndarray, total_weight: np.ndarray, weight: object, reduction: int,
    ignore_index: int,
) -> np.ndarray:
    """Return minus each sample's weight at its target class, times what flows back to that sample's loss."""
    result = np.zeros(x.shape, grad.dtype)
    grad = -grad / total_weight if reduction == MEAN else -grad
    if weight is None and x.ndim == 2 and reduction != NONE and total_weight == target.size < EXACT:
        result[counting(x.shape[0]), target] = grad  # every sample counts, and all the same
        return result
    target, kept = known_classes(x.shape, target.reshape(()) if x.ndim == 1 else target, ignore_index)
    weights = sample_weights(target, kept, weight, grad.dtype)
    result[at_classes(x.shape, target)] = np.where(weights == 0, 0, grad * weights)
    return result


# --- what gradient formulas call, in both forms --------------------------------------------------------------


def per_element(grad: np.ndarray, x: np.ndarray, reduction: int) -> np.ndarray:
    """Return the gradient of one loss, before the losses were averaged or summed."""
    return grad / max(numel(x.shape), 1) if reduction == 1 else grad


def weighted(x: object, weight: np.ndarray | None) -> object:
    """Return x times a weight, if there is one."""
    return x if weight is None else x * weight


def bce_logits_slope(x: np.ndarray, target: np.ndarray, pos_weight: np.ndarray | None) -> np.ndarray:
    """Return the slope of bce_with_logits for its input."""
    if pos_weight is None:
        return sigmoid(x) - target
    t = pos_weight * target
    return (t + 1 - target) * sigmoid(x) - t


def bce_logits_target_slope(x: np.ndarray, pos_weight: np.ndarray | None) -> np.ndarray:
    """Return the slope of bce_with_logits for its target."""
    return -x if pos_weight is None else -log_sigmoid(x)[0] * (pos_weight - 1) - x
