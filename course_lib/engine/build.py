"""Generated source becomes functions: the names it sees, and its second form, which takes tensors and is recorded.

PyTorch: torch/csrc/autograd/generated/VariableType_*.cpp, Functions.cpp, which are compiled ahead of time.
"""

import linecache
import math
import re
import types
from collections.abc import Callable

import numpy as np

from course_lib.arrays import dtypes, errors, kernels, memory
from course_lib.engine import arguments, saved, unbroadcast, views
from course_lib.engine import tensor as tensors
from course_lib.engine.graph import Node, next_sequence_nr
from course_lib.engine.ops import ROWS, instrument, state, write_in_place, write_node, write_operation
from course_lib.engine.saved import FREED, add_slot_properties
from course_lib.engine.tensor import Tensor


class Rows:
    """Every operation of the table as an attribute: `rows.mul(a, b)`, `rows.mul_(a, b)`."""

    def __getattr__(self, name):
        return build(name)


rows = Rows()


def build(name: str) -> Callable:
    """Return the operation `name` ("mul" or "mul_") as a function; written and compiled the first time."""
    if name not in vars(rows):
        row = row_of(name)
        namespace = dict(OPERATION_NAMES)
        if row.formulas:
            namespace[row.node] = node_class(row)
        compile_source(row.name, write_functions(row), namespace)
        for made in (row.name, row.name + "_"):
            if made in namespace:
                namespace[made].__module__ = "course_lib"
                setattr(rows, made, namespace[made])
    return vars(rows)[name]


def row_of(name: str) -> object:
    """Return the row of an operation, or of the one that overwrites its input: "mul" or "mul_"."""
    return ROWS[name if name in ROWS else name.removesuffix("_")]


def write_functions(row: object) -> list:
    """Return the sources of an operation and of its variant that overwrites self: those of the two that there are."""
    parts = [write_operation(row)] if row.in_place != "only" else []
    return parts + [write_in_place(row)] if row.in_place else parts


def node_class(row: object) -> type:
    """Return the node class of a row, compiled from its source.

    A formula is text that both passes run, and only the names in it mean different functions. A plain pass finds those
    that take arrays. `apply_to_tensors` is for passes that are recorded, and finds those that take tensors, once it is
    first called: most graphs are never differentiated twice.
    """
    namespace = {"Node": Node, "FREED": FREED}
    compile_source(row.node, [write_node(row)], namespace)
    cls = add_slot_properties(namespace[row.node])
    cls.__module__ = "builtins"  # as of PyTorch's, which are written in C++: <class 'MulBackward0'>
    namespace.update(names_called(cls.apply, on_arrays_function))
    written = cls.apply_to_tensors

    def first_call(node, *grads):
        cls.apply_to_tensors = twin_of(written)
        return cls.apply_to_tensors(node, *grads)

    cls.apply_to_tensors = first_call
    return cls


def names_called(function: Callable, find: Callable) -> dict:
    """Find what each name in a function stands for, where it stands for a function: of arrays, or of the table."""
    names = function.__code__.co_names
    return {name: find(name) for name in names if name in ON_TENSORS or name in ROWS or kernel(name)}


KERNELS = [kernels, unbroadcast]  # where formulas find the functions they call; nn/derivatives.py adds its own


def kernel(name: str) -> Callable | None:
    """Return the function of arrays that formulas call by this name; None when there is none."""
    for module in KERNELS:
        if callable(vars(module).get(name)):
            return vars(module)[name]
    return None


def on_arrays_function(name: str) -> Callable:
    """Return a function that formulas call, in the form that takes arrays."""
    if function := kernel(name):
        return function
    if name not in ROWS:
        return for_arrays(ON_TENSORS[name])
    row = ROWS[name]
    if re.fullmatch(r"np\.\w+\(self\)", row.forward):
        return getattr(np, row.forward[3:-6])
    return eval(f"lambda {', '.join(row.parameters)}: {row.forward}", OPERATION_NAMES)


def for_arrays(function: Callable) -> Callable:
    """Return a function that is written for tensors only, for arrays: of gradients that are rare one form is enough."""

    def as_tensor(value):
        if isinstance(value, list):
            return [as_tensor(each) for each in value]
        return tensors.new_tensor(value) if isinstance(value, np.ndarray | np.generic) else value

    return lambda *values: function(*map(as_tensor, values)).array


ON_TENSORS = {"np": np, "math": math, "state": state}  # forms that take tensors: surface/twins.py has more


def on_tensors_function(name: str) -> object:
    """Return the function in the form that takes tensors and is recorded."""
    if name not in ON_TENSORS:
        ON_TENSORS[name] = build(name) if name in ROWS else twin_of(kernel(name))
    return ON_TENSORS[name]


def twin_of(function: Callable) -> Callable:
    """Return a function of arrays, read again with every name it calls standing for the form that takes tensors."""
    names = {"__builtins__": function.__globals__["__builtins__"], **names_called(function, on_tensors_function)}
    return types.FunctionType(function.__code__, names, function.__name__, function.__defaults__)


def compile_source(name: str, parts: list, namespace: dict) -> None:
    """Compile generated lines so that tracebacks and `??` can show them."""
    text = as_text(parts)
    file = f"<course_lib operation {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), namespace)


def as_text(parts: list) -> str:
    """Return generated parts, each a list of lines, as one text."""
    return "\n\n\n".join(map("\n".join, parts)) + "\n"


def source_of(name: str) -> str:
    """Return the generated source of an operation and its node, as text."""
    row = row_of(name)
    return as_text([write_node(row)] * bool(row.formulas) + write_functions(row))


# --- what generated code sees --------------------------------------------------------------------------------


def copy_of(tensor: Tensor) -> Tensor:
    """Return the values a tensor has now, with their history, safe from the write that is about to happen."""
    return build("clone")(tensor)


def form(input: Tensor, result: Tensor, promoted: bool) -> tuple | None:
    """Return (shape, type) of an input, for the engine to bring its gradient back to; None if all have the result's."""
    shape, dtype = input.array.shape, input.array.dtype
    return None if not promoted and shape == result.array.shape and dtype is result.array.dtype else (shape, dtype)


OPERATION_NAMES = {  # what generated operations see
    **vars(arguments), **vars(tensors), **vars(saved), **vars(views), "np": np, "ndarray": np.ndarray,
    "F32": dtypes.F32, "BOOL": dtypes.BOOL, "INFERENCE_SAVED": errors.INFERENCE_SAVED, "kernels": kernels,
    "state": state, "rows": rows, "next_sequence_nr": next_sequence_nr, "form": form, "copy_of": copy_of,
    "instrument": instrument, "strides_of": memory.strides_of,
}  # fmt: skip
