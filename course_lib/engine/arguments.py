"""Prepare an operation's arguments before it computes: numbers become tensors, types are promoted.

PyTorch: torch/csrc/utils/python_arg_parser.cpp, aten/src/ATen/TensorIterator.cpp, c10/core/WrapDimMinimal.h.

Note [A number among the operands]
In `x * 2.5` the number becomes a tensor, because a node keeps tensors. It must not widen the result: a float32 x stays
float32, though Python's 2.5 has the digits of a float64. So `number` gives it the type of x, if its kind (bool, int,
float) is that of x or comes before it, and in `promote` it counts least. A tensor for 2.5 is made once and kept.
What is neither a tensor nor a number is refused; but with `x + thing`, thing is first asked for its own `__radd__`.
"""

import inspect
from collections.abc import Callable

import numpy as np

from course_lib.arrays import dtypes
from course_lib.arrays.kernels import astype, check_difference, sizes_differ
from course_lib.arrays.messages import type_name
from course_lib.engine.saved import WrappedNumber
from course_lib.engine.tensor import Tensor, new_tensor

# What signatures say of an argument. PyTorch's words for them are in surface/parsing.py.
Number = int | float | np.number | np.bool_
Operand = Tensor | Number
Sizes = int | np.integer | Tensor | tuple | list  # one whole number, or several
Tensors = tuple | list

OPERAND_TYPES = frozenset({int, float, bool, np.float32, np.float64, np.int64, np.int32, np.bool_})

OPERATORS = set()  # rows that serve as + - * / // %, noted by ops.py: what they cannot take is left to the other side

# --- the lines that begin an operation (ops.py writes the rest) ---------------------------------------------


def write_arguments(row: object, variant: str = "", checks: list | tuple = ()) -> list:
    """Turn the arguments into arrays of a common type. `checks`: lines that come before types are compared."""
    text = []
    if row.of_tensor:
        text += [f"    if isinstance({row.names[-1]}, Tensor):",
                 f"        return rows.{row.of_tensor}{variant}({', '.join(row.names)})"]
    optional = [t for t in row.tensors if f"{t}=None" in row.parameters]
    checked = [t for t in row.tensors if t not in optional and (t not in row.operands or row.only_tensors)]
    if row.operands and not row.only_tensors:
        names = ", ".join(row.operands) + "," * (len(row.operands) == 1)
        text.append(f"    if {' or '.join(f'type({t}) is not Tensor' for t in row.operands)}:")
        if len(row.operands) == 2:
            first, other = row.operands
            text += [f"        if type({other}) is float and type({first}) is Tensor:",
                     f"            {other} = number({other}, {first})"]
            if row.name in OPERATORS:
                text += [f"        elif type({other}) not in OPERAND_TYPES and not isinstance({other}, Tensor):",
                         "            return NotImplemented"]
            text += ["        else:",
                     f"            {names} = operands({row.name!r}, {names})"]
        else:
            text.append(f"        {names} = operands({row.name!r}, {names})")
    for t in checked:
        text += [f"    if not isinstance({t}, Tensor):", f"        {t} = tensor_argument({row.name!r}, {t!r}, {t})"]
    for p in row.numbers:
        given = f"{p} is not None and " * (f"{p}=None" in row.parameters)
        text += [f"    if {given}type({p}) is not float and type({p}) is not int:",
                 f"        {p} = number_argument({row.name!r}, {p!r}, {p})"]
    for p, mark in row.dims.items():
        text.append(f"    {p} = dimension(self, {p}{', extra=1' * (mark == 'new dim')})")
    for t in row.tensors:
        text.append(f"    {t}_array = {t}.array" + (f" if {t} is not None else None" if t in optional else ""))
        if row.view:
            text += [f"    if type({t}_array) is not ndarray:", f"        {t}_array = writable_array({t})"]
    text += checks
    if len(row.operands) > 1:
        first, *rest = row.operands
        arrays = ", ".join(f"{t}_array" for t in row.operands)
        text += ["    promoted = False",
                 f"    if {' or '.join(f'{t}_array.dtype is not {first}_array.dtype' for t in rest)}:",
                 f"        {arrays} = {row.promotes}({', '.join(row.operands)})", "        promoted = True"]
    if row.floating:
        for t in row.operands or row.tensors:
            text += [f"    if {t}_array.dtype.kind != 'f':", f"        {t}_array = kernels.astype({t}_array, F32)"]
    return text


# --- what those lines call ----------------------------------------------------------------------------------

_numbers = {}


def number(value: float, like: Tensor) -> Tensor:
    """Return a Python number as an operand for `like`: of its element type when the kinds agree, and kept for reuse.

    NumPy takes 250 ns longer to add a Python float to an array than to add a 0-d array.
    """
    array = like.array
    key = (value, type(value), array.dtype, type(array))
    found = _numbers.get(key)
    if found is None:
        value = number_of(value)
        kind = dtypes.of_number(value)
        if dtypes.KIND[kind] <= dtypes.KIND[array.dtype]:
            kind = array.dtype
        scalar = type(array) is not np.ndarray
        found = new_tensor(kind.type(value) if scalar else np.array(value).astype(kind), WrappedNumber)
        found.number = value
        if value and len(_numbers) < 512:  # not 0: as a key it cannot be told from -0.0
            _numbers[key] = found
    return found


def operands(name: str, *values) -> tuple:
    """Return tensors from tensors and Python numbers; TypeError for anything else, and for numbers alone."""
    if isinstance(values[0], Tensor) and isinstance(values[-1], Tensor) and len(values) < 3:
        return values  # a Parameter, say: nothing is to be made
    like = next((v for v in values if isinstance(v, Tensor)), None)
    if not all(isinstance(v, Operand) for v in values) or like is None and name not in OPERATORS:
        raise TypeError(f"{name}() cannot use {' and '.join(map(type_name, values))}")
    if like is None:
        like, *_ = values = [tensor_of_number(v) for v in values]  # torch.add(1, 2)
    return tuple(v if isinstance(v, Tensor) else number(v, like) for v in values)


def tensor_of_number(value: float) -> Tensor:
    """Return a number alone as a tensor without dimensions: a float in the default type."""
    kind = dtypes.of_number(value)
    return new_tensor((dtypes.default.numpy if kind.kind == "f" else kind).type(value))


def tensor_argument(name: str, parameter: str, value: object) -> Tensor:
    """Return `value` if it is a tensor; TypeError that names the operation and the argument if not."""
    if not isinstance(value, Tensor):
        argument = "input" if parameter == "self" else parameter
        raise TypeError(f"{name}(): argument '{argument}' must be Tensor, not {type_name(value)}")
    return value


def number_of(value: object) -> Tensor | float:
    """Return a number as Python's, so that NumPy's do not widen results. (True is 1.0 to PyTorch.)"""
    if not isinstance(value, np.generic):
        return value
    return int(value) if isinstance(value, np.integer) else float(value)


def number_argument(name: str, parameter: str, value: object) -> float:
    """Return a number as Python's own; TypeError that names the operation and the argument for what is no number."""
    if isinstance(value, Tensor) and not value.array.ndim:
        return value.item()
    if not isinstance(value, Number):
        raise TypeError(f"{name}(): argument '{parameter}' must be Number, not {type_name(value)}")
    return number_of(value)


def whole_number(value: object) -> int | None:
    """Return a whole number: Python's, NumPy's, or a tensor that holds one. None for all else: truth values, 1.0."""
    if isinstance(value, Tensor) and not value.array.ndim and value.array.dtype.kind == "i":
        return int(value.array)
    return int(value) if isinstance(value, int | np.integer) and not isinstance(value, bool) else None


def dimension(tensor: Tensor, dim: object, extra: int = 0) -> int:
    """Return a dimension counted from the front; IndexError when the tensor does not have it."""
    if type(dim) is int and 0 <= dim < tensor.array.ndim:
        return dim
    n = max(tensor.array.ndim + extra, 1)
    if type(dim) is not int:
        given, dim = dim, whole_number(dim)
        if dim is None:
            raise TypeError(f"dim must be int, not {type_name(given)}")
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim % n


def rank(tensor: Tensor) -> int:
    """Return how much an operand counts in promotion: 2 for a tensor with dimensions, 1 without, 0 for a number."""
    return 0 if type(tensor) is WrappedNumber else 2 if tensor.array.ndim else 1


def promote(*tensors) -> tuple:
    """Return the operands' arrays, converted to the type PyTorch gives the result."""
    wanted = dtypes.result_type([(t.array.dtype, rank(t)) for t in tensors])
    return tuple(t.array if t.array.dtype is wanted else astype(t.array, wanted) for t in tensors)


def promote_difference(self: Tensor, other: Tensor) -> tuple:
    """Return the same for a difference; RuntimeError when one operand holds truth values, which have none."""
    check_difference(self.array, other.array)
    return promote(self, other)


def broadcast_error(*tensors) -> object:
    """Return the RuntimeError for operands whose shapes do not go together."""
    return sizes_differ(*(t.array.shape for t in tensors))


# --- the arguments of a custom Function --------------------------------------------------------------------


def bind_arguments(forward: Callable, args: tuple, kwargs: dict, separate_setup: bool) -> tuple:
    """Return positional arguments for `forward` from positional and keyword ones; TypeError for those that do not fit.

    With setup_context every default is filled in. Without, what the caller leaves out at the end stays out: backward
    then owes no gradient for it.
    """
    if not kwargs and len(args) == getattr(getattr(forward, "__code__", None), "co_argcount", None):
        return args
    context = () if separate_setup else (None,)  # forward's first parameter is then ctx
    try:
        bound = inspect.signature(forward).bind(*context, *args, **kwargs)
    except TypeError as error:
        raise TypeError(f"forward() {error}") from None
    if separate_setup:
        bound.apply_defaults()
    if kwargs.keys() & bound.kwargs.keys():
        raise TypeError("forward() missing a required argument, which stands before one given by keyword")
    return bound.args[len(context) :]
