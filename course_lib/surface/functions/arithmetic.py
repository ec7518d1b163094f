"""Sums, products, powers, quotients, limits: `add`, `pow`, `clamp` and the like, over rows of the table.

PyTorch: aten/src/ATen/native (BinaryOps.cpp, Pow.cpp, TensorCompare.cpp).
"""


from collections.abc import Callable

from course_lib.arrays import dtypes
from course_lib.arrays.kernels.checks import floats
from course_lib.arrays.memory import check_cast
from course_lib.engine.arguments import Number, Operand, number_of
from course_lib.engine.build import rows
from course_lib.engine.grad_mode import OFF, state
from course_lib.engine.tensor import Tensor, new_tensor
from course_lib.surface.functions.results import rename_node, store


def add(input: Tensor, other: Operand, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return input + alpha * other."""
    result = rows.add(input, other) if alpha == 1 else rows.add_scaled(input, other, alpha)
    return result if out is None else store("add", out, result, input, other)


def sub(input: Tensor, other: Operand, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return input - alpha * other."""
    result = rows.sub(input, other) if alpha == 1 else rows.sub_scaled(input, other, alpha)
    return result if out is None else store("sub", out, result, input, other)


def mul(input: Tensor, other: Operand, *, out: Tensor | None = None) -> Tensor:
    """Return input * other."""
    result = rows.mul(input, other)
    return result if out is None else store("mul", out, result, input, other)


def add_(input: Tensor, other: Operand, *, alpha: Number = 1) -> Tensor:
    """Add alpha * other to the tensor's own memory."""
    return add_scaled_in_place(input, other, alpha, rows.add_, "add_scaled_")


def sub_(input: Tensor, other: Operand, *, alpha: Number = 1) -> Tensor:
    """Subtract alpha * other from the tensor's own memory."""
    return add_scaled_in_place(input, other, alpha, rows.sub_, "sub_scaled_")


def add_scaled_in_place(input: Tensor, other: Operand, alpha: Number, plain: Callable, by_factor: str) -> Tensor:
    """Call one of two rows. (As an optimizer steps, a factor is quicker beforehand: one array less than by the row.)"""
    if alpha == 1:
        return plain(input, other)
    if type(alpha) is float and state.recording == OFF and type(other) is Tensor and other.array.dtype.kind == "f":
        return plain(input, new_tensor(alpha * other.array))
    return getattr(rows, by_factor)(input, other, alpha)


def div_(input: Tensor, other: Operand, *, rounding_mode: str | None = None) -> Tensor:
    """Divide the tensor's own memory."""
    if rounding_mode is not None:
        return rows.div_rounded_(input, other, known_rounding(rounding_mode))
    return rows.div_(input, other)


def div(input: Tensor, other: Operand, *, rounding_mode: str | None = None) -> Tensor:
    """Return input / other; rounded down ("floor") or towards zero ("trunc") on request."""
    if rounding_mode is None:
        return rows.div(input, other)
    return rows.div_rounded(input, other, known_rounding(rounding_mode))


def known_rounding(mode: str) -> str:
    """Return the mode; RuntimeError when there is no such."""
    if mode not in ("floor", "trunc"):
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'")
    return mode


def pow(input: Tensor | float, exponent: Operand) -> Tensor:
    """Return input ** exponent, where either may be a number."""
    if not isinstance(exponent, Tensor):
        if type(exponent) is not int:
            exponent = plain_number("** or pow()", exponent)
            if type(exponent) is float and input.array.dtype.kind != "f":
                input = input.to(dtypes.default)
        if input.array.dtype.kind == "b" and not isinstance(exponent, bool):
            input = input.long()
        return rows.pow_number(input, exponent)
    if not isinstance(input, Tensor):
        if exponent.array.dtype.kind != "f" and isinstance(input, float):
            exponent = exponent.to(dtypes.default)
        return rows.number_pow(input, exponent)
    return rows.pow_tensor(input, exponent)


def plain_number(operator: str, value: Operand) -> float:
    """Return a number as Python's, so that NumPy's do not widen the result; TypeError for what is no number."""
    value = number_of(value)
    if not isinstance(value, int | float):
        raise TypeError(f"unsupported operand type(s) for {operator}: 'Tensor' and '{type(value).__name__}'")
    return value


def pow_(input: Tensor, exponent: Operand) -> Tensor:
    """Raise the tensor's own memory to a power."""
    exponent = number_of(exponent)
    if isinstance(exponent, float) and input.array.dtype.kind != "f":
        check_cast(dtypes.F32, input.array.dtype)
    return rows.pow_tensor_(input, exponent) if isinstance(exponent, Tensor) else rows.pow_number_(input, exponent)


def square(input: Tensor) -> Tensor:
    """Return input ** 2."""
    return pow(input, 2)


def clamp(input: Tensor, min: Operand | None = None, max: Operand | None = None, ending: str = "") -> Tensor:
    """Return input limited to [min, max]; tensors as limits are compared element by element."""
    min, max = number_of(min), number_of(max)
    if not isinstance(min, Tensor) and not isinstance(max, Tensor):
        return getattr(rows, "clamp" + ending)(input, min, max)
    input = input if min is None else getattr(rows, "clamp_min" + ending)(input, min)
    return input if max is None else getattr(rows, "clamp_max" + ending)(input, max)


def clamp_(input: Tensor, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """Limit the tensor's own memory to [min, max]."""
    return clamp(input, min, max, "_")


clip, true_divide = clamp, div


def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """Return the nearest whole number, of two equally near ones the even; or so many decimals kept."""
    if not decimals:
        return rows.round(input)
    floats(input.array, "round_cpu")
    factor = 10.0 ** abs(decimals)
    result = rows.round(input * factor) / factor if decimals > 0 else rows.round(input / factor) * factor
    return rename_node(result, "RoundBackward1")


