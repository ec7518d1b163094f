"""course_lib: a small automatic differentiation engine that answers as PyTorch does, to be read in an evening.

Write `import course_lib as torch`; with `import torch` instead, the same lines give the same answers.

README.md in this folder is the map, and tells what to read in an evening, and in which order.
"""

import math as _math

from course_lib.arrays.dtypes import bool_ as bool  # noqa: A004
from course_lib.arrays.dtypes import dtype, float32, float64, int64
from course_lib.arrays.messages import set_warn_always
from course_lib.arrays.printing import Size, set_printoptions
from course_lib.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from course_lib.engine.build import build as _build
from course_lib.engine.ops import ROWS as _ROWS
from course_lib.engine.tensor import Tensor
from course_lib.surface import autograd_methods as _methods  # noqa: F401  (gives Tensor `grad_fn`, `.grad` and hooks)
from course_lib.surface import derivatives as _derivatives  # noqa: F401  (fills the table)
from course_lib.surface import methods as _tensor_methods
from course_lib.surface import twins as _twins  # noqa: F401  (gives formulas their forms that take tensors)
from course_lib.surface.creation import tensor
from course_lib.surface.device import cuda, device, get_default_dtype
from course_lib.surface.parsing import with_argument_errors as _asking

from course_lib import autograd  # isort: skip  (needs Tensor complete)

_tensor_methods.make_facts_read_only()
float, double, long = float32, float64, int64  # noqa: A001
inf, nan, pi = _math.inf, _math.nan, _math.pi
__version__ = "0.10.0.dev0"

_METHODS = ["detach", "is_floating_point", "is_inference", "numel"]  # functions that are the methods of their names
_PACKAGES = ["autograd", "cuda", "linalg", "nn", "optim", "random", "utils"]

_FUNCTIONS = """
    add sub mul div true_divide pow square clamp round
    eq ne lt le gt ge logical_not logical_and logical_or isnan isinf isfinite equal isclose allclose is_tensor
    sum mean max min argmax argmin all any prod var std norm amax amin logsumexp softmax log_softmax
    cumsum cumprod sort argsort topk nonzero
    mm mv dot bmm matmul outer inner tensordot diag trace einsum
    reshape flatten t permute squeeze select unbind vstack hstack meshgrid
    narrow diagonal split chunk flip roll where masked_select normal bernoulli multinomial
""".split()
_CREATION = """
    arange as_tensor asarray empty empty_like eye from_numpy full full_like linspace manual_seed ones ones_like rand
    rand_like randint randn randn_like randperm zeros zeros_like
""".split()
_FILES = {  # of surface/
    "functions": _FUNCTIONS,
    "creation": _CREATION,
    "joining": ["cat", "stack"],
    "copying": ["load", "save"],
    "generator": ["Generator", "initial_seed", "seed", "get_rng_state", "set_rng_state"],
    "limits": ["finfo", "iinfo"],
    "device": ["get_num_threads", "set_num_threads"],
}


def __getattr__(name):
    """Write an operation of the table, or read a file or subpackage, when it is first asked for."""
    if name in _ROWS and _ROWS[name].is_function:
        globals()[name] = _asking(_build(name), name)
        return globals()[name]
    if name in _METHODS:
        globals()[name] = _asking(getattr(Tensor, name), name)
        return globals()[name]
    import importlib

    file = next((file for file, names in _FILES.items() if name in names), None)
    if file:
        globals()[name] = _asking(getattr(importlib.import_module("course_lib.surface." + file), name), name)
        return globals()[name]
    if name in _PACKAGES:
        return importlib.import_module(f"course_lib.{name}")
    if name == "__all__":  # by `from course_lib import *`
        globals()[name] = __dir__()
        return globals()[name]
    from course_lib.surface.left_out import missing

    raise missing("torch", name)


def __dir__():
    module = type(autograd)
    own = (name for name, value in globals().items() if not name.startswith("_") and not isinstance(value, module))
    rows = (row.name for row in _ROWS.values() if row.is_function)
    return sorted({*own, *rows, *_METHODS, *_PACKAGES, *(n for names in _FILES.values() for n in names)})
