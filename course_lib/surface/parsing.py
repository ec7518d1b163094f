"""What a public function says of an argument that it cannot use: which one it is, and what belongs there.

PyTorch: tools/autograd/gen_python_functions.py, torch/csrc/utils/python_arg_parser.cpp.

Note [Arguments are looked at when a call has failed]
PyTorch compares the arguments of every call with the forms that a function has. Here a function simply computes. Only
when that fails are its arguments compared with what parameters of their names take (KINDS). The first that does not
fit is named in a TypeError. When all of them fit, the error is the function's own. So a right call never waits.
Other words for a parameter (`axis` for `dim`) are put right in the same place.
"""

import functools
import inspect

import numpy as np

from course_lib.arrays import dtypes
from course_lib.arrays.messages import type_name
from course_lib.engine.tensor import Tensor

KINDS = {  # what a parameter takes, in words -> the parameters of that kind
    "Tensor": "input self mat1 mat2 vec vec2 tensor tensor1 tensor2 mask src condition A B x1 x2 bias target query key "
    "running_mean running_var index weight source out",
    "Tensor or Number": "other exponent end value min max",
    "tuple of Tensors": "tensors",
    "int": "dim dim0 dim1 dim2 k n m steps diagonal offset decimals chunks start_dim end_dim num_samples",
    "tuple of ints": "size stride dims shifts destination kernel_size padding normalized_shape",
    "bool": "keepdim descending largest sorted stable accumulate equal_nan unbiased replacement training is_causal",
    "Number": "negative_slope threshold alpha beta fill_value correction eps rtol atol momentum",
    "torch.dtype": "dtype",
}
KINDS = {parameter: kind for kind, parameters in KINDS.items() for parameter in parameters.split()}
OTHERWISE = {  # where a parameter of that name takes something else
    ("select", "index"): "int", ("lerp", "weight"): "Tensor or Number", ("movedim", "source"): "tuple of ints",
    **{(name, "dim"): "tuple of ints" for name in "sum mean std var amax amin all any norm logsumexp squeeze".split()},
    **{(name, "other"): "Tensor" for name in "matmul mv dot bmm maximum minimum atan2 equal isclose allclose".split()},
}  # fmt: skip
NUMBERS = int | float | np.number | np.bool_
TYPES = {
    "Tensor": Tensor, "Tensor or Number": Tensor | NUMBERS, "int": int | np.integer | Tensor,
    "tuple of ints": int | np.integer | Tensor | tuple | list, "bool": bool, "Number": NUMBERS | Tensor,
    "tuple of Tensors": tuple | list, "torch.dtype": dtypes.dtype | type,
}  # fmt: skip
WORDS = {"axis": "dim", "keepdims": "keepdim", "input": "self"}
UNWRAPPED_METHODS = frozenset(
    """
    reshape view t transpose permute unsqueeze expand copy_ fill_ zero_ detach clone numel
""".split()
)  # methods that programs call all the time: nothing stands in their way, not even a call


VARIABLE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def argument_error(function, name, method, args, options):
    """What is wrong with the first argument that is not of its parameter's kind, in words; None when all are."""
    try:
        given = inspect.signature(function).bind_partial(*args, **options).arguments
    except TypeError as error:
        return f"{name}(): {error}"
    for position, (parameter, value) in enumerate(given.items(), 0 if method else 1):
        kind = OTHERWISE.get((name, parameter), KINDS.get(parameter))
        left_out = value is None and inspect.signature(function).parameters[parameter].default is None
        fits = kind is None or isinstance(value, TYPES[kind]) and (kind != "tuple of Tensors" or all_are(value))
        if fits or left_out:
            continue
        shown = "input" if parameter == "self" else parameter
        place = "" if parameter in options else f" (position {position})"
        return f"{name}(): argument '{shown}'{place} must be {kind}, not {type_name(value)}"
    return None


def all_are(values):
    """True when every element is a tensor."""
    return all(isinstance(value, Tensor) for value in values)


def with_argument_errors(function, name=None, method=False, module="course_lib"):
    """The function, which answers a call that fails with the argument that is to blame.

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


def takes_only_self(method):
    """True for a method such as `tanh`: whoever calls it can hand over nothing wrong."""
    code = method.__code__
    return code.co_argcount == 1 and not (code.co_kwonlyargcount or code.co_flags & VARIABLE)


def with_argument_errors_later(function):
    """The same for a function of a module that users import."""
    return with_argument_errors(function, module=function.__module__)
