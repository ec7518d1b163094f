"""Losses. `reduction` is "mean", "sum" or "none"; ValueError for any other word.

PyTorch: torch/nn/functional.py, aten/src/ATen/native (Loss.cpp, LossNLL.cpp).
"""

import warnings

import numpy as np

from course_lib.arrays.dtypes import I64
from course_lib.arrays.kernels import check_difference, floats
from course_lib.arrays.memory import check_cast
from course_lib.engine.arguments import broadcast_error, promote, tensor_argument
from course_lib.engine.build import rows
from course_lib.engine.grad_mode import state
from course_lib.engine.tensor import Tensor
from course_lib.engine.views import requires_grad
from course_lib.surface import functions as composites
from course_lib.surface.parsing import with_argument_errors_later

# --- what losses share -------------------------------------------------------------------------------------

REDUCTIONS = ("none", "mean", "sum")


def reduction_number(reduction: str) -> int:
    """Return reduction as the nodes keep it: 0, 1 or 2."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return REDUCTIONS.index(reduction)


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """Return the losses, their mean, or their sum."""
    return (lambda x: x, composites.mean, composites.sum)[reduction_number(reduction)](losses)


def same_size(input: Tensor, target: Tensor) -> tuple:
    """Return input and target broadcast to one shape, with PyTorch's warning when they differ."""
    if input.size() == target.size():
        return input, target
    warnings.warn(
        f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will likely "
        "lead to incorrect results due to broadcasting. Please ensure they have the same size.", stacklevel=3,
    )
    return broadcast(input, target)


def broadcast(*tensors) -> tuple:
    """Return the tensors expanded to one shape; RuntimeError when there is none."""
    try:
        shape = np.broadcast_shapes(*(t.array.shape for t in tensors))
    except ValueError:
        raise broadcast_error(*tensors) from None
    return tuple(t if t.array.shape == shape else composites.expand(t, shape) for t in tensors)


def check_tensors(function: str, input: Tensor, target: Tensor) -> None:
    """Raise TypeError unless both are tensors."""
    tensor_argument(function, "input", input)
    tensor_argument(function, "target", target)


def check_weights(function: str, *weights) -> None:
    """Raise TypeError for a weight that is no tensor, RuntimeError for one that requires grad: it would get none."""
    for weight in weights:
        if weight is not None and requires_grad(tensor_argument(function, "weight", weight)) and state.recording > 0:
            raise RuntimeError(
                f"The function '{function}' is not differentiable with respect to argument 'weight'. This input cannot "
                "have requires_grad True."
            )


# --- distances ---------------------------------------------------------------------------------------------


def mse_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """Return the squared differences: their mean, their sum, or all of them."""
    input, target = same_size(input, target)
    if not (input.is_floating_point() or target.is_floating_point()):
        floats(max(input.array, target.array, key=lambda x: x.itemsize), "mse_cpu")
    return rows.mse_loss(input, target, reduction_number(reduction))


def l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """Return the magnitudes of the differences: their mean, their sum, or all of them."""
    input, target = same_size(input, target)
    return reduced(rows.abs(input - target), reduction)


@with_argument_errors_later
def huber_loss(input: Tensor, target: Tensor, *, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """Return half squared differences up to delta, straight lines of slope delta beyond."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    input, target = same_size(input, target)
    check_cast(promote(input, target)[0].dtype, input.array.dtype)
    return rows.huber_loss(input, target, reduction_number(reduction), delta)


# --- yes or no ---------------------------------------------------------------------------------------------


@with_argument_errors_later
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean"
) -> Tensor:
    """Return -log of the probability given to a yes/no target; input must lie in [0, 1]."""
    check_weights("binary_cross_entropy", weight)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
            "deprecated. Please ensure they have the same size."
        )
    if target.dtype != input.dtype:
        raise RuntimeError(f"Found dtype {target.dtype.title} but expected {input.dtype.title}")
    floats(input.array, "binary_cross_entropy")
    weight = None if weight is None else composites.expand(weight, target.shape)
    return rows.binary_cross_entropy(input, target, weight, reduction_number(reduction))


@with_argument_errors_later
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return binary_cross_entropy of sigmoid(input), computed from input so that nothing overflows."""
    check_weights("binary_cross_entropy_with_logits", weight, pos_weight)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    floats(input.array, "log_sigmoid_cpu")
    check_difference(target.array, target.array)
    check_cast(promote(input, target)[0].dtype, target.array.dtype)
    return rows.bce_with_logits(input, target, weight, pos_weight, reduction_number(reduction))


# --- classes -----------------------------------------------------------------------------------------------


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | int | None = None, *, ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Return minus the entries of input (log probabilities) at the target classes.

    input (C), (N, C) or (N, C, ...), target the same without C. The mean is weighted, and leaves out targets equal to
    ignore_index. IndexError for a class that is not there.
    """
    if not (isinstance(input, Tensor) and isinstance(target, Tensor)):
        check_tensors("nll_loss_nd", input, target)
    dims, sizes, number = input.array.ndim, target.array.shape, reduction_number(reduction)
    if dims == 2 and weight is None and input.array.shape[:1] == sizes and target.array.dtype is I64:
        return rows.nll_loss(input, target, None, number, ignore_index)[0]  # all is as it should be
    check_weights("nll_loss_forward", weight)
    check_classes(input, target, weight)
    if dims <= 2:
        return rows.nll_loss(input, target, weight, number, ignore_index)[0]
    if dims != 4:  # PyTorch has one operation for images; others are given that form for a moment
        input = composites.reshape(input, (*input.shape[:2], 1, -1))
        target = composites.reshape(target, (input.shape[0], 1, -1))
    loss = rows.nll_loss2d(input, target, weight, number, ignore_index)[0]
    return composites.reshape(loss, sizes) if number == 0 and loss.shape != sizes else loss


def check_classes(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    """Raise errors for targets that are no class numbers, and for sizes that do not go together."""
    sizes, got = list(input.shape), list(target.shape)
    expected = [*sizes[:1], *sizes[2:]]
    if len(sizes) > 1 and got[:1] != sizes[:1]:
        raise ValueError(f"Expected input batch_size ({sizes[0]}) to match target batch_size ({sum(got[:1])}).")
    if len(sizes) in (1, 2) and len(got) > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if not sizes:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if len(sizes) > 2 and got != expected:
        raise RuntimeError(f"Expected target size {expected}, got {got}, for an input of size {sizes}")
    if target.array.dtype.kind != "i":
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {target.dtype.title}")
    if len(sizes) == 1 and target.array.size != 1:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.array.size}")
    check_class_weight(weight, sizes[:2][-1])
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.title} but found {weight.dtype.title}")


def check_class_weight(weight: Tensor, classes: int) -> None:
    """Raise RuntimeError for a weight that does not hold one number a class."""
    if weight is not None and list(weight.shape) != [classes]:
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight "
            f"tensor of shape: {list(weight.shape)}"
        )


def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return nll_loss of log_softmax(input); target holds class numbers, or a probability for each class."""
    if not (isinstance(input, Tensor) and isinstance(target, Tensor)):
        check_tensors("cross_entropy_loss", input, target)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    dim = int(input.array.ndim > 1)
    probabilities = target.array.shape == input.array.shape
    if probabilities and target.array.dtype.kind != "f":
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {target.dtype.title}"
        )
    logs = composites.log_softmax(input, dim)
    if probabilities:
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        if label_smoothing:
            target = rows.add_number(rows.mul_number(target, 1 - label_smoothing), label_smoothing / logs.shape[dim])
        return soft_cross_entropy(logs, target, weight, reduction, dim)
    hard = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if label_smoothing == 0:
        return hard
    even = spread_loss(logs, target, weight, ignore_index, reduction, dim)
    even = rows.mul_number(even, label_smoothing / logs.shape[dim])  # first: C++ computes from right to left
    return rows.mul_number(hard, 1 - label_smoothing) + even


def along_classes(weight: Tensor, input: Tensor, dim: int) -> Tensor:
    """Return a vector of one number a class, in a shape that broadcasts against input."""
    return composites.reshape(weight, [-1 if d == dim else 1 for d in range(input.dim())])


def soft_cross_entropy(logs: Tensor, target: Tensor, weight: Tensor, reduction: str, dim: int) -> Tensor:
    """Return the cross entropy with a probability for each class as target."""
    products = logs * target
    if weight is not None:
        check_class_weight(weight, logs.shape[dim])
        products = products * along_classes(weight, products, dim)
    if reduction_number(reduction) == 0:
        return -composites.sum(products, dim)
    loss = -composites.sum(products)
    return loss if reduction == "sum" else rows.div_number(loss, products.numel() // logs.shape[dim])


def spread_loss(
    logs: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str, dim: int
) -> Tensor:
    """Return what label smoothing adds: the loss with every class equally right."""
    if weight is not None:
        logs = logs * along_classes(weight, logs, dim)
    counted = target != ignore_index
    losses = rows.masked_fill(-composites.sum(logs, dim), ~counted, 0.0)
    if reduction != "mean":
        return reduced(losses, reduction)
    counts = counted if weight is None else weight[target * counted] * counted
    return composites.sum(losses) / composites.sum(counts)
