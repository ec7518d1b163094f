"""Looking rows up in a table, and normalising, in NumPy.

PyTorch: aten/src/ATen/native (Embedding.cpp, Normalization.cpp, layer_norm.cpp), FunctionsManual.cpp.

`center` is a mean and `inverse` is 1 / standard deviation. The functions below the line serve arrays and tensors alike.
"""

import numpy as np

from course_lib.arrays.kernels import index_add, numel, reshape, sum_to, where, zeros_of
from course_lib.arrays.kernels import total as sum_dim  # as its row is called: formulas have two forms
from course_lib.arrays.kernels.losses import weighted


def embedding(weight: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return the rows of weight that indices name; IndexError for a row that is not there."""
    if indices.size and (np.min(indices) < 0 or np.max(indices) >= len(weight)):
        raise IndexError("index out of range in self")
    return weight[indices]


def batch_norm(
    x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, running_mean: np.ndarray | None,
    running_var: np.ndarray | None, training: bool, momentum: float, eps: float,
) -> tuple:
    """Return (result, mean, 1 / standard deviation) by channel; training moves the running statistics to the batch's.

    They are written without counting a version, as in PyTorch, so that two forward passes may precede a backward.
    """
    axes, shape = other_axes(x.ndim), channel_shape(x.ndim)
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
    result = weighted((x - center.reshape(shape)) * inverse.reshape(shape), as_channels(weight, shape))
    return (result if bias is None else result + bias.reshape(shape)).astype(x.dtype), *saved


def layer_norm(
    x: np.ndarray, normalized_shape: tuple, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> tuple:
    """Return (result, mean, 1 / standard deviation) over the last dimensions."""
    axes = last_axes(x.ndim, normalized_shape)
    center = average(x, axes) if x.size else np.zeros((*x.shape[: axes[0]], *(1 for _ in axes)), x.dtype)
    shifted = x - center
    inverse = 1 / np.sqrt(average(shifted * shifted, axes) + eps)
    result = weighted(shifted * inverse, weight) + (0 if bias is None else bias)  # which makes of -0.0 0.0
    return np.ascontiguousarray(result, x.dtype), center, inverse


# --- what gradient formulas call, in both forms --------------------------------------------------------------


def embedding_grad(grad: np.ndarray, sizes: tuple, indices: np.ndarray, padding_idx: int) -> np.ndarray:
    """Return each looked-up row's gradient, added to its place in the table; the padding row gets none."""
    places, rows = reshape(indices, (-1,)), reshape(grad, (numel(indices.shape), sizes[1]))
    if padding_idx >= 0:
        rows = where(reshape(places != padding_idx, (-1, 1)), rows, 0.0)
    return index_add(zeros_of(grad, sizes), 0, places, rows)


def other_axes(ndim: int) -> tuple:
    """Return all axes but the channels'."""
    return (0, *range(2, ndim))


def channel_shape(ndim: int) -> tuple:
    """Return the shape in which a vector of one number a channel broadcasts against a batch."""
    return (1, -1, *(1,) * (ndim - 2))


def as_channels(vector: np.ndarray | None, shape: tuple) -> np.ndarray | None:
    """Return a vector of one number a channel, if there is one, in the shape that broadcasts."""
    return None if vector is None else reshape(vector, shape)


def last_axes(ndim: int, normalized_shape: tuple) -> tuple:
    """Return the axes that layer_norm normalises over."""
    return tuple(range(ndim - len(normalized_shape), ndim))


def batch_norm_grad(
    grad: object, x: object, weight: np.ndarray | None, running_mean: np.ndarray | None, running_var: np.ndarray | None,
    center: object, inverse: object, training: bool, eps: float,
) -> object:
    """Return the gradient for the input of batch_norm. In training the statistics depend on the input too."""
    center, inverse = channel_statistics(x, running_mean, running_var, center, inverse, training, eps)
    grad = weighted(grad, as_channels(weight, channel_shape(x.ndim)))
    if not training and running_mean is not None:
        return grad * inverse
    return through_normalising(grad, (x - center) * inverse, inverse, other_axes(x.ndim))


def batch_norm_weight_grad(
    grad: np.ndarray, x: np.ndarray, running_mean: np.ndarray | None, running_var: np.ndarray | None,
    center: np.ndarray, inverse: np.ndarray, training: bool, eps: float,
) -> np.ndarray:
    """Return the gradient for the weight: the normalised input times the gradient, summed by channel."""
    center, inverse = channel_statistics(x, running_mean, running_var, center, inverse, training, eps)
    return sum_dim(grad * ((x - center) * inverse), other_axes(x.ndim), False)


def layer_norm_grad(
    grad: object, x: object, normalized_shape: tuple, weight: np.ndarray | None, center: object, inverse: object,
    eps: float,
) -> object:
    """Return the gradient for the input of layer_norm."""
    center, inverse = layer_statistics(x, normalized_shape, center, inverse, eps)
    return through_normalising(
        weighted(grad, weight), (x - center) * inverse, inverse, last_axes(x.ndim, normalized_shape)
    )


def layer_norm_weight_grad(
    grad: np.ndarray, x: np.ndarray, normalized_shape: tuple, center: np.ndarray, inverse: np.ndarray, eps: float
) -> np.ndarray:
    """Return the gradient for the weight of layer_norm."""
    center, inverse = layer_statistics(x, normalized_shape, center, inverse, eps)
    return sum_to(grad * ((x - center) * inverse), normalized_shape)


def through_normalising(grad: object, normalised: object, inverse: object, axes: tuple) -> object:
    """Return the gradient of (x - mean) / deviation: what points along a shift or a scaling of x is taken away."""
    along = normalised * average(grad * normalised, axes)
    return inverse * (grad - average(grad, axes) - along)


def average(x: object, axes: tuple) -> object:
    """Return the mean over some axes, which stay with length 1."""
    return sum_dim(x, axes, True) / numel(x.shape, axes)


# What the forward pass used. For tensors it is computed anew from the input (nn/derivatives.py), so that the
# second derivative sees how the statistics depend on it.


def channel_statistics(
    x: np.ndarray, running_mean: np.ndarray | None, running_var: np.ndarray | None, center: np.ndarray,
    inverse: np.ndarray, training: bool, eps: float,
) -> tuple:
    """Return the mean and 1 / standard deviation of batch_norm, in a shape that broadcasts."""
    if not training and running_mean is not None:
        center, inverse = running_mean, 1 / np.sqrt(running_var + eps)
    shape = channel_shape(x.ndim)
    return center.reshape(shape), inverse.reshape(shape)


def layer_statistics(
    x: np.ndarray, normalized_shape: tuple, center: np.ndarray, inverse: np.ndarray, eps: float
) -> tuple:
    """Return the mean and 1 / standard deviation of layer_norm."""
    return center, inverse
