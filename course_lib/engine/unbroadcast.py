"""Undoing broadcasting and promotion: bringing a gradient to the shape and type of the input it belongs to.

PyTorch: aten/src/ATen/ExpandUtils.h (sum_to), torch/csrc/autograd/engine.cpp (validate_outputs).
"""

import numpy as np

from course_lib.arrays import dtypes, kernels
from course_lib.engine.tensor import Tensor


def validate_outputs(grads: tuple, forms: tuple) -> list:
    """Undo broadcasting and promotion: bring each gradient to the form of an input that differed from the result."""
    fitted = list(grads)
    for i, form in enumerate(forms):
        if form is not None and fitted[i] is not None:
            shape, dtype = form
            fitted[i] = unbroadcast(fitted[i], shape, dtype)
    return fitted


def unbroadcast(grad: Tensor | np.ndarray, shape: tuple, dtype: np.dtype) -> Tensor | np.ndarray:
    """Return one gradient, summed over the dimensions that were broadcast and cast to `dtype`."""
    if isinstance(grad, Tensor):  # the pass is itself recorded
        grad = grad if grad.array.shape == shape else sum_to(grad, shape)
        return grad if grad.array.dtype == dtype else grad.to(dtypes.FROM_NUMPY[dtype])
    sizes = grad.shape
    if sizes != shape:
        if len(sizes) == 2 and sizes[1:] == shape:
            grad = kernels.sum_of_columns(grad)  # the gradient of a bias
        else:
            grad = kernels.sum_to(grad, shape)
    return grad if grad.dtype is dtype or grad.dtype == dtype else grad.astype(dtype)


def sum_to(grad: Tensor, shape: tuple) -> Tensor:
    """Do what kernels.sum_to does, on tensors and recorded: what formulas call when tensors flow (surface/twins.py)."""
    if not shape:
        return grad.sum()
    extra = kernels.summed_dims(grad.array.shape, shape)
    grad = grad.sum(extra, True) if extra else grad
    return grad if grad.array.shape == shape else grad.reshape(shape)
