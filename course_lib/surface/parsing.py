"""Say of an argument that a public function cannot use which one it is, and what belongs there.

PyTorch: tools/autograd/gen_python_functions.py, torch/csrc/utils/python_arg_parser.cpp.

Note [Arguments are looked at when a call has failed]
PyTorch compares the arguments of every call with the forms that a function has. Here a function simply computes. Only
when that fails are its arguments compared with what its signature says (KINDS). The first that does not fit is named in
a TypeError. When all of them fit, the error is the function's own. So a right call never waits.
Other words for a parameter (`axis` for `dim`) are put right in the same place.
"""

import functools
import inspect
from collections.abc import Callable

import numpy as np

from course_lib.arrays import dtypes
from course_lib.arrays.messages import type_name
from course_lib.engine.arguments import Number, Operand, Sizes, Tensors
from course_lib.engine.ops import ROWS
from course_lib.engine.tensor import Tensor

KINDS = {  # what a signature says of a parameter: what that is called, and what is accepted as such
    Tensor: ("Tensor", Tensor), Operand: ("Tensor or Number", Operand), Number: ("Number", Operand),
    int: ("int", int | np.integer | Tensor), Sizes: ("tuple of ints", Sizes), bool: ("bool", bool),
    Tensors: ("tuple of Tensors", Tensors), dtypes.dtype: ("torch.dtype", dtypes.dtype | type),
}  # fmt: skip
KINDS |= {kind | None: what for kind, what in KINDS.items()}
WORDS = {"axis": "dim", "keepdims": "keepdim", "input": "self"}
UNWRAPPED_METHODS = frozenset(
    """
    reshape view t transpose permute unsqueeze expand copy_ fill_ zero_ detach clone numel
""".split()
)  # methods that programs call all the time: nothing stands in their way, not even a call


VARIABLE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def argument_error(function: Callable, name: str, method: bool, args: tuple, options: dict) -> str | None:
    """Return what is wrong with the first argument that is not of its parameter's kind, in words; None when all are."""
    try:
        signature = inspect.signature(function)
        given = signature.bind_partial(*args, **options).arguments
    except TypeError as error:
        return f"{name}(): {error}"
    kinds = kinds_of(function, signature)
    for position, (parameter, value) in enumerate(given.items(), 0 if method else 1):
        kind, accepted = KINDS.get(kinds.get(parameter), (None, object))
        fits = isinstance(value, accepted) and (kind != "tuple of Tensors" or all_are(value))
        if fits or value is None and signature.parameters[parameter].default is None:
            continue
        shown = "input" if parameter == "self" else parameter
        place = "" if parameter in options else f" (position {position})"
        return f"{name}(): argument '{shown}'{place} must be {kind}, not {type_name(value)}"
    return None


def kinds_of(function: Callable, signature: inspect.Signature) -> dict:
    """Return {parameter: its type}, as the signature says, or for an operation of the table its row."""
    row = ROWS.get(function.__name__.removesuffix("_"))
    if row is None or not function.__code__.co_filename.startswith("<course_lib operation"):
        return {name: parameter.annotation for name, parameter in signature.parameters.items()}
    kinds = dict.fromkeys(row.tensors, Tensor) | dict.fromkeys(row.integers, int) | dict.fromkeys(row.numbers, Number)
    numbers_too = () if row.only_tensors else row.operands[1:]  # the first must be a tensor
    return kinds | dict.fromkeys([*numbers_too, *row.names[-1:] * bool(row.of_tensor)], Operand)


def all_are(values: list) -> bool:
    """Return True when every element is a tensor."""
    return all(isinstance(value, Tensor) for value in values)


def with_argument_errors(
    function: Callable, name: str | None = None, method: bool = False, module: str = "course_lib"
) -> Callable:
    """Return the function, which answers a call that fails with the argument that is to blame.

    module: where users look the function up, which is where pickle will look for it.
    """
    name = name or function.__name__
    if not inspect.isfunction(function) or method and (name in UNWRAPPED_METHODS or takes_only_self(function)):
        return function

    @functools.wraps(function)
    def _call(*args, **options):
        try:
            result = function(*args, **options)
            if result is NotImplemented:  # an operation that serves as an operator leaves it to the other side
                raise TypeError(f"{name}() cannot use {', '.join(map(type_name, args))}")
            return result
        except (TypeError, AttributeError, ValueError) as error:
            named = inspect.signature(function).parameters
            ours = {word if word in named else WORDS.get(word, word): value for word, value in options.items()}
            if ours.keys() != options.keys():
                return _call(*args, **ours)
            wrong = None if "argument '" in str(error) else argument_error(function, name, method, args, options)
            if wrong is None:
                raise
            raise TypeError(wrong) from None

    _call.__module__, _call.__qualname__ = module, f"Tensor.{name}" if method else name.removeprefix("linalg_")
    _call.__name__ = name
    return _call


def takes_only_self(method: Callable) -> bool:
    """Return True for a method such as `tanh`: whoever calls it can hand over nothing wrong."""
    code = method.__code__
    return code.co_argcount == 1 and not (code.co_kwonlyargcount or code.co_flags & VARIABLE)


def with_argument_errors_later(function: Callable) -> Callable:
    """Return the same for a function of a module that users import."""
    return with_argument_errors(function, module=function.__module__)
