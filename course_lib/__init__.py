"""course_lib: a small automatic differentiation engine that answers as PyTorch does, to be read in an evening.

Write `import course_lib as torch`; with `import torch` instead, the same lines give the same answers.

README.md in this folder is the map, and tells what to read in an evening. All of it, in order: version, grad_mode,
tensor · graph, saved · derivatives, ops · engine, hooks · views · function, methods; the short rest when it is met.
"""

from course_lib import methods as _methods  # noqa: F401  (gives Tensor `grad_fn`, `.grad` and hooks)
from course_lib.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from course_lib.dtypes import bool_ as bool  # noqa: A004
from course_lib.dtypes import dtype, float32, float64, int64
from course_lib.native import composites as _composites
from course_lib.native import methods as _native_methods
from course_lib.native.building import build as _build
from course_lib.native.creation import tensor
from course_lib.native.device import (
    contiguous_format,
    cuda,
    device,
    get_default_dtype,
    preserve_format,
)
from course_lib.native.messages import is_warn_always_enabled, set_warn_always
from course_lib.native.parsing import asking as _asking
from course_lib.native.printing import Size, set_printoptions
from course_lib.ops import ROWS as _ROWS
from course_lib.tensor import Tensor

from course_lib import autograd  # isort: skip  (needs Tensor complete)
from course_lib.autograd import is_anomaly_check_nan_enabled, is_anomaly_enabled  # isort: skip

_native_methods.make_facts_read_only()
float, double, long = float32, float64, int64  # noqa: A001
inf, nan, pi, e = (getattr(_composites.np, _name) for _name in ("inf", "nan", "pi", "e"))
__version__ = "0.8.0"

_FUNCTIONS = """
    add sub mul div pow square lerp clamp where sum mean max min argmax argmin all any softmax log_softmax mm mv dot bmm
    addmm matmul reshape flatten t transpose permute unsqueeze squeeze select unbind index_select gather
    eq ne lt le gt ge logical_not isnan isinf isfinite equal is_tensor numel
""".split()
_OPERATIONS = _native_methods.ROW_METHODS
_LATER = {"nn", "optim", "utils", "linalg", "random", "backends"}  # subpackages, imported when first used

_MORE = """
    clip clamp_min clamp_max round round_ multiply subtract divide true_divide arcsin arccos arctan absolute negative
    floor_divide logical_and logical_or logical_xor isclose as_strided movedim moveaxis swapaxes swapdims broadcast_to
    tile diff vstack hstack column_stack meshgrid var_mean std_mean nonzero count_nonzero unique unflatten normal
    bernoulli randint_like broadcast_tensors remainder prod var std norm amax amin logsumexp cumsum cumprod
    sort argsort topk outer inner tensordot narrow diagonal split chunk flip scatter_add index_add allclose
    bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift
""".split()

_METHODS = """
    clone detach detach_ is_inference zero_ fill_ masked_fill masked_select clamp_ clip_ square_ neg_ is_floating_point
    is_complex
""".split()  # functions that are the methods of their names

_RARE = [
    *_native_methods.RARE_METHODS,
    *"""
    fill rsub isin tril_indices triu_indices atleast_1d atleast_2d atleast_3d dstack row_stack einsum scalar_tensor
    result_type promote_types can_cast save load get_num_threads set_num_threads FloatTensor DoubleTensor LongTensor
    BoolTensor strided legacy_contiguous_format asarray use_deterministic_algorithms
    are_deterministic_algorithms_enabled set_float32_matmul_precision get_float32_matmul_precision
    """.split(),
]

_WIDER = [
    *_native_methods.WIDER_METHODS,
    *"""
    real trapezoid trapz cumulative_trapezoid cdist block_diag logspace broadcast_shapes cartesian_prod combinations
    searchsorted bucketize Generator default_generator initial_seed seed get_rng_state set_rng_state
    """.split(),
]

_CREATION = """
    arange as_tensor empty empty_like eye from_numpy full full_like linspace manual_seed ones ones_like rand rand_like
    randint randn randn_like randperm zeros zeros_like
""".split()
_FILES = {  # of native/, read when one of these names is first asked for
    "creation": _CREATION,
    "composites": _FUNCTIONS,
    "rare": _RARE,
    "wider": _WIDER,
    "composites_more": _MORE,
    "joining": ["cat", "concat", "concatenate", "stack"],
    "limits": ["finfo", "iinfo"],
}


def __getattr__(name):
    """Operations of the table are written, and files and subpackages are read, when first asked for."""
    if name in _OPERATIONS or (name.endswith("_") and name[:-1] in _OPERATIONS and _ROWS[name[:-1]].in_place):
        globals()[name] = _asking(_build(name), name)
        return globals()[name]
    if name in _METHODS:
        globals()[name] = _asking(getattr(Tensor, name), name)
        return globals()[name]
    import importlib

    file = next((file for file, names in _FILES.items() if name in names), None)
    if file:
        globals()[name] = _asking(getattr(importlib.import_module("course_lib.native." + file), name), name)
        return globals()[name]
    if name in _LATER:
        try:
            return importlib.import_module(f"course_lib.{name}")
        except ModuleNotFoundError as error:
            raise AttributeError(str(error)) from None
    if name == "__all__":  # by `from course_lib import *`
        globals()[name] = __dir__()
        return globals()[name]
    from course_lib.native.left_out import missing

    raise missing("torch", name)


def __dir__():
    own = (name for name in globals() if not name.startswith("_"))
    return sorted({*own, *_OPERATIONS, *_METHODS, *_LATER, *(n for names in _FILES.values() for n in names)})
