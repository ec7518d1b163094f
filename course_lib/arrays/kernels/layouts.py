"""The layout of results in memory: in rows, or in the order of an operand; copies that keep a layout.

PyTorch: aten/src/ATen/TensorIterator.cpp, aten/src/ATen/native/Copy.cpp.
"""

import numpy as np

from course_lib.arrays.kernels.checks import sizes_differ, whole


def in_order_of(first: np.ndarray, result: np.ndarray) -> np.ndarray:
    """Lay out the result of an operation on several operands in the order of the first operand's dimensions.

    PyTorch: aten/src/ATen/TensorIterator.cpp (reorder_dimensions). Where operands disagree NumPy decides otherwise.
    """
    if first.shape != result.shape or 0 in first.strides or not result.size:
        return result
    inner_first = sorted(range(first.ndim - 1, -1, -1), key=lambda d: (first.strides[d], first.shape[d]))
    order = inner_first[::-1]
    laid_out = np.empty([result.shape[d] for d in order], result.dtype).transpose(np.argsort(order))
    if laid_out.strides == result.strides:
        return result
    laid_out[...] = result
    return laid_out


NUMBERS = np.arange(4096)


def counting(stop: int, step: int = 1) -> np.ndarray:
    """Return 0, step, 2 * step ... below stop. Nobody may write to them: small ones are cut out of one array."""
    return NUMBERS[:stop:step] if stop <= len(NUMBERS) else np.arange(0, stop, step)


def in_rows(result: np.ndarray) -> np.ndarray:
    """Return the result of a reduction in row-major order, whatever the order of what was reduced."""
    return result if result.ndim < 2 or result.flags.c_contiguous else np.ascontiguousarray(result)


def packed(x: np.ndarray) -> np.ndarray:
    """Return x in row-major order, with the strides of rows also along dimensions of length 1."""
    x = np.ascontiguousarray(x)
    return x.reshape(-1).reshape(x.shape) if 1 in x.shape else x


def laid_out_like(values: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return values of x's shape in new memory laid out as x's elements lie; in rows for an expanded array."""
    if x.flags.c_contiguous or 0 in x.strides:
        return np.array(values, order="C")
    result = np.empty_like(x, values.dtype)
    result[...] = values
    return result


def copy(x: np.ndarray) -> np.ndarray:
    """Return the same values in memory of their own; the layout is kept when it is dense."""
    return np.array(x, order="C" if 0 in x.strides else "K") if type(x) is np.ndarray else x


def astype(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return the values converted to a NumPy type, laid out as they are; in rows when the array is expanded."""
    return x.astype(dtype, order="C" if 0 in x.strides else "K")


def full_like(x: np.ndarray, value: float) -> np.ndarray:
    """Return an array like x with one value everywhere."""
    return np.full(x.shape, whole(getattr(value, "array", value), x.dtype)).astype(x.dtype)


def only_number(value: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return a value without dimensions seen as having the shape and type of `like`; RuntimeError for any other."""
    if value.ndim:
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
        )
    return broadcast_like(value, like)


def broadcast_like(x: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return x seen as having the shape and type of `like`; RuntimeError when it does not fit."""
    if x is like:
        return like
    try:
        shape = np.broadcast_shapes(x.shape, like.shape)
    except ValueError:
        raise sizes_differ(like.shape, x.shape) from None
    if shape != like.shape:
        raise RuntimeError(f"output with shape {list(like.shape)} doesn't match the broadcast shape {list(shape)}")
    return np.broadcast_to(x, like.shape).astype(like.dtype, copy=False)


def copy_like(grad: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return a copy whose memory layout follows the leaf's, when the leaf's elements fill their memory densely.

    RuntimeError for a gradient that cannot be seen in the shape that the leaf has by now.
    """
    if grad.shape != like.shape:
        grad = broadcast_like(grad, like)
    if like.ndim < 2 or like.flags.c_contiguous:
        return np.array(grad, order="C")
    order = sorted(range(like.ndim), key=lambda d: -like.strides[d])
    copy = np.empty([like.shape[d] for d in order], grad.dtype).transpose(np.argsort(order))
    if copy.strides != like.strides:  # the leaf has gaps: PyTorch then makes rows
        return np.array(grad, order="C")
    copy[...] = grad
    return copy


def zeros_like(x: np.ndarray) -> np.ndarray:
    return np.zeros_like(x)


def zeros_of(x: np.ndarray, sizes: tuple) -> np.ndarray:
    """Return zeros of a shape, in x's element type."""
    return np.zeros(sizes, x.dtype)


def typed(grad: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return a gradient in the type of x."""
    return grad.astype(x.dtype, copy=False)
