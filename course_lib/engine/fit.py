"""Undoing broadcasting and promotion: bringing a gradient to the shape and type of the input it belongs to.

PyTorch: aten/src/ATen/ExpandUtils.h (sum_to), torch/csrc/autograd/engine.cpp (validate_outputs).
"""

from course_lib.arrays import dtypes, kernels
from course_lib.arrays.kernels import can_be_summed
from course_lib.engine.tensor import Tensor


def validate_outputs(grads, forms):
    """Undo broadcasting and promotion: bring each gradient to the form of an input that differed from the result."""
    fitted = list(grads)
    for i, form in enumerate(forms):
        if form is not None and fitted[i] is not None:
            shape, dtype = form
            fitted[i] = unbroadcast(fitted[i], shape, dtype)
    return fitted


def check_fits(got, shape, what, index=0):
    """RuntimeError when a gradient of shape `got` cannot be summed to a shape."""
    if not can_be_summed(got, shape):
        sizes = f"got {list(got)} but expected shape compatible with {list(shape)}"
        raise RuntimeError(f"{what} at index {index} - {sizes}")


def unbroadcast(grad, shape, dtype):
    """One gradient, summed over the dimensions that were broadcast and cast to `dtype`."""
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


def sum_to(grad, shape):
    """kernels.sum_to on tensors, recorded: what formulas call when tensors flow (surface/twins.py)."""
    if not shape:
        return grad.sum()
    extra = kernels.summed_dims(grad.array.shape, shape)
    grad = grad.sum(extra, True) if extra else grad
    return grad if grad.array.shape == shape else grad.reshape(shape)
