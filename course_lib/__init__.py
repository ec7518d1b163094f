"""course_lib: a small automatic differentiation engine that answers as PyTorch does, to be read in an evening.

Write `import course_lib as torch`; with `import torch` instead, the same lines give the same answers.

README.md in this folder is the map, and tells what to read in an evening. All of it, in order: version, grad_mode,
tensor · graph, saved · derivatives, ops · engine, hooks · views · function, methods; the short rest when it is met.
"""

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
from course_lib.engine.tensor import Tensor
from course_lib.surface import autograd_methods as _methods  # noqa: F401  (gives Tensor `grad_fn`, `.grad` and hooks)
from course_lib.surface import functions as _composites
from course_lib.surface import methods as _native_methods
from course_lib.surface.creation import tensor
from course_lib.surface.device import cuda, device, get_default_dtype
from course_lib.surface.parsing import asking as _asking

from course_lib import autograd  # isort: skip  (needs Tensor complete)

_native_methods.make_facts_read_only()
float, double, long = float32, float64, int64  # noqa: A001
inf, nan, pi = _composites.np.inf, _composites.np.nan, _composites.np.pi
__version__ = "0.8.0"

_OPERATIONS = """
    neg reciprocal exp expm1 log log1p log2 sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh sigmoid relu
    abs erf sign floor ceil maximum minimum triu tril masked_select
""".split()  # rows of the table
_METHODS = """
    clone detach detach_ is_inference zero_ fill_ masked_fill clamp_ neg_ is_floating_point
""".split()  # functions that are the methods of their names
_PACKAGES = ["autograd", "cuda", "linalg", "nn", "optim", "random", "utils"]

_FUNCTIONS = """
    add sub mul div pow square lerp clamp where sum mean max min argmax argmin all any softmax log_softmax mm mv
    dot bmm matmul reshape flatten t transpose permute unsqueeze squeeze select unbind index_select gather eq ne
    lt le gt ge logical_not isnan isinf isfinite equal is_tensor numel
""".split()
_MORE = """
    round true_divide floor_divide logical_and logical_or isclose movedim swapaxes tile vstack hstack meshgrid
    var_mean std_mean nonzero unique unflatten normal bernoulli randint_like remainder prod var std norm amax
    amin logsumexp cumsum cumprod sort argsort topk outer inner tensordot narrow diagonal split chunk flip
    scatter_add index_add allclose
""".split()
_RARE = """
    log10 nan_to_num fmod atan2 logaddexp scatter take_along_dim median roll diag trace kthvalue
    repeat_interleave isin einsum scalar_tensor result_type promote_types save load get_num_threads
    set_num_threads asarray cross multinomial cdist
""".split()
_CREATION = """
    arange as_tensor empty empty_like eye from_numpy full full_like linspace manual_seed ones ones_like rand rand_like
    randint randn randn_like randperm zeros zeros_like
""".split()
_FILES = {  # of surface/, read when one of these names is first asked for
    "creation": _CREATION,
    "functions": _FUNCTIONS,
    "rare": _RARE,
    "functions_more": _MORE,
    "joining": ["cat", "stack"],
    "generator": ["Generator", "initial_seed", "seed", "get_rng_state", "set_rng_state"],
    "limits": ["finfo", "iinfo"],
}


def __getattr__(name):
    """Operations of the table are written, and files and subpackages are read, when first asked for."""
    if name in _OPERATIONS:
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
    return sorted({*own, *_OPERATIONS, *_METHODS, *_PACKAGES, *(n for names in _FILES.values() for n in names)})
