"""Arithmetic element by element, where one NumPy expression is not enough.

PyTorch: aten/src/ATen/native (BinaryOps.cpp, Activation.cpp, UnaryOps.cpp), torch/csrc/autograd/FunctionsManual.cpp.

The first part computes values, the second is what gradient formulas call. A formula runs on arrays, or on tensors when
the backward pass is itself recorded: see `twin_of` in engine/build.py.
"""

import functools
import math
from collections.abc import Callable
from sys import getrefcount

import numpy as np

from course_lib.arrays.dtypes import F32
from course_lib.arrays.kernels.checks import floats, reject_bool, sizes_of_both
from course_lib.arrays.kernels.layouts import copy, laid_out_like, zeros_like
from course_lib.arrays.memory import UNSHARED


def subtract(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a - b, where a may be a Python number; RuntimeError for truth values, which have no difference."""
    if "b" in (b.dtype.kind, "b" if type(a) is bool else ""):
        check_difference(a, b)
    return a - b


def check_difference(*operands) -> None:
    """Raise RuntimeError for a difference of truth values, in arrays or alone."""
    wrong = [type(x) is bool or getattr(x, "dtype", None) == np.bool_ for x in operands]
    if any(wrong):
        what, use = ("two bool tensors", "`^` or `logical_xor()`") if all(wrong) else ("a bool tensor", "")
        hint = f"Use the {use}" if use else "If you are trying to invert a mask, use the `~` or `logical_not()`"
        raise RuntimeError(f"Subtraction, the `-` operator, with {what} is not supported. {hint} operator instead.")


def scaled(x: np.ndarray, alpha: float) -> np.ndarray:
    """Return alpha * x in x's own type; RuntimeError for a factor that x's type cannot hold."""
    if x.dtype.kind != "f" and isinstance(alpha, float):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if x.dtype.kind == "b":
        return x & bool(alpha)
    if x.dtype.kind == "i" and isinstance(alpha, bool):
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    return alpha * x


def lerp(start: np.ndarray, end: np.ndarray, weight: np.ndarray, kernel: str) -> np.ndarray:
    """Return start + weight * (end - start), computed from the nearer end, as PyTorch's kernel of that name does."""
    sizes_of_both(start, end)
    floats(start, kernel)
    near, far = start + weight * (end - start), end - (end - start) * (1 - weight)
    return np.where(np.abs(weight) < 0.5, near, far).astype(start.dtype)


def power(base: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Return base ** exponent; an integer to a negative integer is 0, 1 or -1, or RuntimeError if that is a number."""
    is_number = not isinstance(exponent, np.ndarray | np.generic)
    if base.dtype.kind != "f" and np.asarray(exponent).dtype.kind in "ib":
        if base.dtype.kind == "b" and type(exponent) is bool:
            return base | (not exponent)
        sizes_of_both(base, np.asarray(exponent))
        reject_bool(base, "\"pow\" not implemented for 'Bool'", NotImplementedError)
        if is_number and exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        if not is_number:
            inverse = np.where(abs(base) == 1, np.where(exponent % 2, base, 1), 0)
            return np.where(exponent < 0, inverse, base ** np.maximum(exponent, 0))
    if is_number and base.dtype.kind == "f":
        if abs(exponent) == 0.5:
            root = np.sqrt(base)  # which keeps the sign of zero
            return root if exponent > 0 else 1 / root
        if exponent in (3, -2):  # as PyTorch; NumPy's way takes a hundred times as long
            return base * base * base if exponent == 3 else 1 / (base * base)
    return base**exponent if is_number else np.power(base, exponent)


def logistic(x: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-x)), without overflow warnings at either end."""
    return 1 / (1 + np.exp(-x))


def error_function(x: np.ndarray) -> np.ndarray:
    """Return erf, element by element: Python's for few elements, for many a series around the nearest place of a table.

    That takes a tenth of the time, and differs in the last bit at most.
    """
    if x.size < 200:
        result = np.asarray(np.vectorize(math.erf, otypes=[np.float64])(x)).astype(x.dtype)
        return laid_out_like(result, x) if result.ndim else result
    size = np.fmin(np.abs(x), x.dtype.type(ERF_END))  # NaN as well, for the moment
    nearest = np.rint(size * x.dtype.type(ERF_STEPS))
    distance = (size - nearest / x.dtype.type(ERF_STEPS)).astype(np.float64)  # nothing is rounded so far
    places = nearest.astype(np.intp)
    coefficients = erf_table()[: 4 if x.dtype == np.float32 else None]
    result = coefficients[-1][places]
    for each in coefficients[-2::-1]:
        result *= distance
        result += each[places]
    return np.where(np.isnan(x), x, np.copysign(result, x)).astype(x.dtype, copy=False)


ERF_END, ERF_STEPS = 6, 128  # beyond 6 erf is 1 in double precision, too


@functools.cache
def erf_table() -> list:
    """Make the Taylor coefficients of erf at every 128th from 0 to 6: those after the first are Hermite polynomials."""
    at = np.arange(ERF_END * ERF_STEPS + 1) / ERF_STEPS
    slope, hermite = 2 / math.sqrt(math.pi) * np.exp(-at * at), [np.ones_like(at), 2 * at]
    for n in range(1, 5):
        hermite.append(2 * at * hermite[n] - 2 * n * hermite[n - 1])
    terms = [(-1) ** n / math.factorial(n + 1) * slope * h for n, h in enumerate(hermite)]
    return [np.array([math.erf(x) for x in at]), *terms]


def clip(x: np.ndarray, low: float | None, high: float | None) -> np.ndarray:
    """Return x limited to [low, high]; either limit may be None."""
    if low is None and high is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if x.dtype.kind != "f" and any(isinstance(limit, float) for limit in (low, high)):
        x = x.astype(np.float32)
    return np.clip(x, low, high)


NO_NEGATIVE = (
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead."
)


def relu(x: np.ndarray) -> np.ndarray:
    """Return the larger of x and 0, a NaN staying NaN; RuntimeError for truth values."""
    if type(x) is not np.ndarray or x.dtype not in ZERO:
        return np.maximum(0, x)
    return np.maximum(ZERO[x.dtype], x)


ZERO = {np.dtype(each): np.zeros((), each) for each in ("f4", "f8")}  # NumPy takes them quicker than a Python 0
BITS = {np.dtype("f4"): np.dtype("i4"), np.dtype("f8"): np.dtype("i8")}
ONE_BYTE = np.ones((), np.int8)


def threshold_backward(grad: np.ndarray, x: np.ndarray, threshold: int) -> np.ndarray:
    """Return the gradient where x is above the threshold (or NaN), 0 elsewhere.

    Large arrays are masked bit by bit: np.where guesses wrongly at every other element, and takes 2.7 times as long.
    A product with the mask would do as well, but for infinite gradients.
    """
    limit = ZERO[x.dtype] if threshold == 0 and x.dtype in ZERO else threshold
    kept_out = np.less_equal(x, limit)
    alike = type(grad) is np.ndarray and grad.shape == x.shape
    ours_alone = alike and grad.base is None and getrefcount(grad) <= UNSHARED  # nobody will miss it
    if x.size < 1500 or not alike or grad.dtype not in BITS:
        if ours_alone:
            np.putmask(grad, kept_out, ZERO.get(grad.dtype, 0))  # in half the time of np.where
            return grad
        return np.where(kept_out, ZERO.get(grad.dtype, 0), grad)
    mask = kept_out.view(np.int8)
    np.subtract(mask, ONE_BYTE, mask)  # -1, all bits set, where the gradient passes
    bits = grad.view(BITS[grad.dtype])
    if ours_alone:  # where it lies, masking is 1.3 times faster
        np.bitwise_and(bits, mask, bits)
        return grad
    return np.bitwise_and(bits, mask).view(grad.dtype)


def where(condition: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Choose element by element, in the type of whichever of a and b is an array."""
    kind = getattr(a, "dtype", None) or b.dtype
    return np.where(condition, a, b).astype(kind, copy=False)


def within(x: np.ndarray, low: float, high: int | None) -> np.ndarray:
    """Return 1 where x lies in [low, high], bounds included, else 0."""
    inside = x == x if low is None else x >= low
    return inside if high is None else inside & (x <= high)


def share_of_larger(grad: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return what maximum(a, b) passes back to a: all where a is larger, half where they are equal, else nothing."""
    return where(a < b, 0.0, where(a == b, grad * 0.5, grad))


def power_grad(grad: object, base: object, exponent: float) -> object:
    """Return the gradient of base ** number; 0 for the exponent 0, even at 0."""
    return zeros_like(grad) if exponent == 0 else grad * mul_number(power(base, exponent - 1), exponent)


def mul_number(x: np.ndarray, number: float) -> np.ndarray:
    """Return a tensor times a number: in PyTorch's formulas this is a node of its own, which has one edge."""
    return x * number


def by_factor(grad: np.ndarray, factor: float) -> np.ndarray:
    """Return a gradient times a number; itself for the number 1."""
    return grad if factor == 1 else mul_number(grad, factor)


def sign(x: np.ndarray) -> np.ndarray:
    """Return -1, 0 or 1, and 0 for NaN."""
    if x.dtype.kind == "f":
        return np.where(np.isnan(x), x.dtype.type(0), np.sign(x))
    return np.sign(x) if x.dtype.kind != "b" else copy(x)


sgn = sign


def divisor(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return b; RuntimeError when integers would be divided by zero."""
    if a.dtype.kind != "f" and not isinstance(b, float) and not np.all(b):
        raise RuntimeError("ZeroDivisionError")
    return b


def number_power(base: float, exponent: np.ndarray) -> np.ndarray:
    """Return a Python number to the power of an array, in the array's type."""
    if exponent.dtype.kind == "f":
        return np.power(exponent.dtype.type(base), exponent, order="C")
    return power(np.full(exponent.shape, int(base)), exponent.astype(np.int64))


def rounded_quotient(a: np.ndarray, b: np.ndarray, rounding_mode: str) -> np.ndarray:
    """Return a / b rounded down ("floor") or towards zero ("trunc"). RuntimeError for integers divided by zero."""
    down = np.floor_divide(a, divisor(a, b))
    if rounding_mode == "floor":
        return down
    return np.trunc(a / b) if a.dtype.kind == "f" else down + ((down < 0) & (down * b != a))


def remainder(a: np.ndarray, b: float) -> np.ndarray:
    """Return what is left after rounding a / b down; RuntimeError for integers divided by zero."""
    if a.dtype.kind != "f" and isinstance(b, float):
        a = a.astype(F32)
    rest = np.fmod(a, divisor(a, b))  # keeps the sign of a zero, as PyTorch does
    return np.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


def rounded(function: Callable, x: np.ndarray) -> np.ndarray:
    """Return np.floor or one of its relatives; whole numbers stay as they are."""
    return function(x) if x.dtype.kind == "f" else copy(x)


def number_power_grad(base: int, exponent: np.ndarray, result: np.ndarray) -> np.ndarray:
    """Return the slope of number ** x: result * log(number); for the base 0 it is 0 unless the exponent is negative."""
    if base == 0:
        return where(exponent >= 0, 0.0, mul_number(result, -math.inf))
    return mul_number(result, math.log(base) if base > 0 else math.nan)


def zero_where(mask: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return x with 0 where the mask is True."""
    return np.where(mask, x.dtype.type(0), x)


zeroed = zero_where  # of a tensor that nobody else sees: overwritten in place


def inverse_or_zero(x: np.ndarray) -> np.ndarray:
    """Return 1 / x, and 0 for 0."""
    return where(x == 0, 0.0, 1 / x)


def finite(x: np.ndarray) -> np.ndarray:
    """Return 1 where x is neither infinite nor NaN, else 0."""
    return x - x == 0
