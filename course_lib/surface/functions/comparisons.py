"""Comparisons, truth values and bits: nothing here has a gradient.

PyTorch: aten/src/ATen/native (BinaryOps.cpp, TensorCompare.cpp).
"""

from collections.abc import Callable

import numpy as np

from course_lib.arrays import dtypes, kernels
from course_lib.arrays.memory import check_cast, check_overlap
from course_lib.engine.arguments import Number, Operand, broadcast_error, operands, promote
from course_lib.engine.build import rows
from course_lib.engine.tensor import Tensor
from course_lib.surface import creation
from course_lib.surface.functions.results import without_gradient


def compare(name: str, function: Callable) -> Callable:
    """Return a comparison of two tensors, or of a tensor and a number, element by element."""

    def comparison(input, other):
        if isinstance(other, np.ndarray) and name in ("eq", "ne"):
            other = creation.from_numpy(other)
        if not isinstance(other, Tensor | int | float | np.number | np.bool_):
            return NotImplemented
        a, b = operands(name, input, other)
        x, y = (a.array, b.array) if a.array.dtype is b.array.dtype else promote(a, b)
        try:
            result = function(x, y)
        except ValueError:
            raise broadcast_error(a, b) from None
        except TypeError:
            kernels.sizes_of_both(x, y)
            raise NotImplementedError(f'"{name}_cpu" not implemented for \'{dtypes.of_array(x).title}\'') from None
        if x.ndim > 1 and not x.flags.c_contiguous:
            result = kernels.in_order_of(x, result)
        return without_gradient(result)

    comparison.__name__ = name
    comparison.__doc__ = f"Element by element: {function.__name__.replace('_', ' ')}."
    return comparison


eq, ne = compare("eq", np.equal), compare("ne", np.not_equal)
lt, le = compare("lt", np.less), compare("le", np.less_equal)
gt, ge = compare("gt", np.greater), compare("ge", np.greater_equal)


def asked(function: Callable, doc: str) -> Callable:
    """Return a question about each element by itself."""

    def question(input):
        return without_gradient(function(input.array))

    question.__name__, question.__doc__ = function.__name__, doc
    return question


logical_not = asked(np.logical_not, "True where the element is zero.")
isnan = asked(np.isnan, "True where the element is not a number.")
isinf = asked(np.isinf, "True where the element is infinite.")
isfinite = asked(np.isfinite, "True where the element is neither infinite nor NaN.")


def equal(input: Tensor, other: Tensor) -> bool:
    """Return True when two tensors have the same shape and elements."""
    return input.array.shape == other.array.shape and bool(np.all(input.array == other.array))


def is_tensor(obj: Tensor) -> bool:
    """Return True for tensors."""
    return isinstance(obj, Tensor)


def _over(function):
    """Return the variant of a function without gradient that overwrites its first operand, if that can hold it."""

    def operation_(input, other):
        if isinstance(other, Tensor):
            check_overlap(input, (other,))
        if function is not lt:
            a, b = operands(function.__name__, input, other)
            kernels.sizes_of_both(a.array, b.array)
            check_cast(promote(a, b)[0].dtype, input.array.dtype)
        return rows.copy_(input, function(input, other).detach())

    operation_.__name__ = function.__name__ + "_"
    operation_.__doc__ = f"{function.__name__}, written into the tensor's own memory."
    return operation_


bitwise_and, bitwise_or = compare("bitwise_and", np.bitwise_and), compare("bitwise_or", np.bitwise_or)
bitwise_xor = compare("bitwise_xor", np.bitwise_xor)
logical_and, logical_or = compare("logical_and", np.logical_and), compare("logical_or", np.logical_or)
lt_, bitwise_and_, bitwise_or_, bitwise_xor_ = map(_over, (lt, bitwise_and, bitwise_or, bitwise_xor))


def check_close(input: Tensor, other: Operand) -> None:
    """Raise RuntimeError for tensors of different types, or of shapes that do not fit."""
    if input.array.dtype != other.array.dtype:
        raise RuntimeError(f"{input.dtype.title} did not match {other.dtype.title}")
    kernels.sizes_of_both(input.array, other.array)


def isclose(
    input: Tensor, other: Tensor, rtol: Number = 1e-05, atol: Number = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Return True where two tensors agree within atol + rtol * |other|."""
    check_close(input, other)
    return without_gradient(np.isclose(input.array, other.array, rtol, atol, equal_nan))


def allclose(input: Tensor, other: Tensor, rtol: Number = 1e-05, atol: Number = 1e-08, equal_nan: bool = False) -> bool:
    """Return True when all elements agree within atol + rtol * |other|."""
    check_close(input, other)
    return bool(np.allclose(input.array, other.array, rtol, atol, equal_nan))
