"""What public functions are handed, asked at the door: tensors where tensors belong, whole numbers where dimensions do.

PyTorch: tools/autograd/gen_python_functions.py, torch/csrc/utils/python_arg_parser.cpp.

Note [Arguments are asked for where a function is looked up]
PyTorch generates a parser for every function. Here a function is given one when somebody first looks it up, as
`torch.kthvalue` or as `x.kthvalue`; inside the engine it is called without. The parser is read off the function's own
signature: KINDS says what a parameter of that name takes, and the default whether None will do. Numbers of NumPy become
Python's on the way in: a float64 that got into arithmetic with float32 would widen the result. A few functions that
programs call all the time look at their arguments themselves (ASK_THEMSELVES), so that nothing stands in their way.
"""

import functools
import inspect

import numpy as np

from course_lib.arrays import dtypes
from course_lib.engine.arguments import number_of, type_name, whole_number
from course_lib.engine.build import compile_source
from course_lib.engine.tensor import Tensor
from course_lib.engine.views import requires_grad

KINDS = {}  # parameter -> what it takes
for _kind, _names in {
    "Tensor": "input self mat1 mat2 vec vec2 tensor tensor1 tensor2 index mask src condition A B elements "
    "test_elements values x1 x2 x weight bias indices target running_mean running_var query key attn_mask",
    "Tensor or number": "other exponent",
    "int": "dim dim0 dim1 dim2 k n m steps diagonal offset decimals chunks length start_dim end_dim "
    "num_samples groups step storage_offset",
    "tuple of ints": "size stride dims shifts source destination kernel_size padding dilation normalized_shape",
    "bool": "training is_causal keepdim descending largest sorted stable accumulate equal_nan unbiased replacement "
    "ceil_mode count_include_pad scale_grad_by_freq sparse as_tuple return_inverse return_counts",
    "Number": "negative_slope threshold alpha beta fill_value value correction s lambd",
    "float": "momentum eps rtol atol nan posinf neginf",
    "str": "equation reduce",
    "torch.dtype?": "dtype",
    "tuple of Tensors": "tensors",
}.items():
    KINDS.update(dict.fromkeys(_names.split(), _kind))

OTHERWISE = {}  # (function, parameter) -> what it takes, where that is not what its name says; None when not asked
for _function, _kinds in {
    **dict.fromkeys("std std_mean var var_mean".split(), {"dim": "tuple of ints or bool", "correction": "Number?"}),
    **dict.fromkeys("max min".split(), {"dim": "int or Tensor"}),
    **dict.fromkeys("scatter scatter_".split(), {"src": "Tensor or number", "value": None}),
    "nan_to_num": {"nan": "float?"}, "result_type": dict.fromkeys(("tensor1", "tensor2"), "Tensor or number"),
    **dict.fromkeys("amax amin".split(), {"dim": "tuple of ints?"}),
    **dict.fromkeys("all any norm logsumexp squeeze".split(), {"dim": "tuple of ints"}),
    **dict.fromkeys("allclose matmul cross equal inner isclose maximum minimum atan2 hypot logaddexp logical_and "
                    "logical_or".split(), {"other": "Tensor"}),
    **dict.fromkeys("index_fill_ masked_fill masked_fill_".split(), {"value": "Tensor or number"}),
    **dict.fromkeys("clamp_min clamp_min_".split(), {"min": "Tensor or number"}),
    "clamp_max": {"max": "Tensor or number"}, "select": {"index": "int"},
    **dict.fromkeys("index_add index_add_ index_copy_".split(), {"source": "Tensor"}),
    "lerp": {"end": "Tensor", "weight": "Tensor or number"},
    **dict.fromkeys("add sub mul div true_divide floor_divide pow remainder fmod".split(),
                    {"input": "Tensor or number"}),
    "isin": {"elements": "Tensor or number", "test_elements": "Tensor or number"},
    "linspace": {"start": "Tensor or number", "end": "Tensor or number"},
    "arange": dict.fromkeys(("start", "end", "step"), "Number"),
    **dict.fromkeys("clamp clamp_ clip".split(), dict.fromkeys(("min", "max"), "Tensor or number")),
    **dict.fromkeys("cat stack".split(), {"tensors": None, "dim": None}),
    "batch_norm": {"running_mean": "Tensor?", "running_var": "Tensor?", "momentum": "float?"},
    **dict.fromkeys("conv1d conv2d".split(), dict.fromkeys(("input", "weight", "bias", "padding"))),
    "index_put_": {"indices": None}, "einsum": {"equation": None},
    "normal": {"mean": "Tensor or number", "std": "Tensor or number"}, "pad": dict.fromkeys(("pad", "value")),
    "scaled_dot_product_attention": {"value": "Tensor"},
    "repeat_interleave": {"output_size": "int", "repeats": "int or Tensor"}, "roll": {"dims": "tuple of ints?"},
    "narrow": {"start": "int or Tensor"}, "promote_types": dict.fromkeys(("type1", "type2"), "torch.dtype"),
    "embedding": {"padding_idx": "int", "input": None, "weight": None, "max_norm": "float"},
    "cdist": {"p": "Number"}, "normalize": {"p": "Number", "dim": "tuple of ints?"},
    "tensordot": {"dims": None, "a": "Tensor", "b": "Tensor"}, "set_": {"source": None},
    "where": {"other": "Tensor or number", "input": "Tensor or number"},
    "as_strided": {"size": "tuple of ints", "stride": "tuple of ints"},
    "unfold": {"size": "int"}, "smooth_l1_loss": {"reduce": None},
    "avg_pool2d": {"divisor_override": "int?"},
    **dict.fromkeys("linalg_norm linalg_matrix_norm".split(), {"dim": "tuple of ints", "ord": "Number or str"}),
    "linalg_vector_norm": {"dim": "tuple of ints", "ord": "Number"},
    "unique": {"input": "Tensor", "dim": "int"}, "movedim": {"source": "tuple of ints"},
}.items():
    OTHERWISE.update(((_function, p), k) for p, k in _kinds.items())

SEVERAL_FORMS = frozenset("""
    all any arange argsort bernoulli bernoulli_ clamp clamp_ clamp_max clamp_min clamp_min_ clip div div_ eq
    eye fill_ floor_divide fmod ge gt index_fill_ isin le lerp lerp_ linalg_matrix_norm linalg_norm linspace
    lt lt_ masked_fill masked_fill_ max mean median min movedim narrow ne normal pow pow_ prod rand randint
    randint_like randn random_ remainder repeat_interleave result_type round scatter scatter_ select sort
    split squeeze squeeze_ std std_mean transpose true_divide unflatten var var_mean where
""".split())  # PyTorch compares their arguments with each form they have, and names none of them

ASK_THEMSELVES = frozenset("sum mean is_tensor zero_ fill_".split())
FREQUENT = frozenset("""
    add_ sub_ mul_ div_ addcmul_ addcdiv_ lerp_ reshape view t transpose permute unsqueeze expand copy_ detach clone
    numel
""".split())  # methods that are not asked either

REFUSED = object()  # what no converter returns
missing = object()  # stands for an argument that may be given by NumPy's name for it


# --- one converter for each kind -----------------------------------------------------------------------------


def as_tensor(value):
    return value if isinstance(value, Tensor) else REFUSED


def as_tensor_or_number(value):
    return value if isinstance(value, Tensor) else as_number(value)


def as_number(value):
    """A number: Python's, NumPy's, or what a tensor without dimensions and without history holds."""
    if isinstance(value, Tensor) and not value.array.ndim and not requires_grad(value):
        return value.item()
    return number_of(value) if isinstance(value, int | float | np.number | np.bool_) else REFUSED


def as_tensors(value):
    """Tensors, or one sequence of them where several may also be given one by one."""
    if not isinstance(value, tuple | list):
        return REFUSED
    inside = value[0] if len(value) == 1 and isinstance(value[0], tuple | list) else value
    return value if all(isinstance(each, Tensor) for each in inside) else REFUSED


def as_float(value):
    number = as_number(value)
    return number if number is REFUSED else float(number)


def as_int(value):
    number = whole_number(value)
    return REFUSED if number is None else number


def as_ints(value):
    """Several of them, or one."""
    if not isinstance(value, tuple | list):
        return as_int(value)
    found = tuple(int(each) if number and isinstance(each, bool) else as_int(each) for number, each in enumerate(value))
    return REFUSED if REFUSED in found else found  # (only of the first element PyTorch asks that it is no truth value)


def as_ints_or_bool(value):
    return value if isinstance(value, bool) else as_ints(value)


def as_int_or_tensor(value):
    number = as_int(value)
    return value if number is REFUSED and isinstance(value, Tensor) else number


def as_bool(value):
    return value if isinstance(value, bool) else REFUSED


def as_str(value):
    return value if isinstance(value, str) else REFUSED


def as_number_or_str(value):
    return value if isinstance(value, str) else as_number(value)


def as_dtype(value):
    found = dtypes.PYTHON.get(value) if isinstance(value, type) else value
    return found if isinstance(found, dtypes.dtype) else REFUSED


CONVERT = {
    "Tensor": as_tensor, "tuple of Tensors": as_tensors, "Tensor or number": as_tensor_or_number, "int": as_int,
    "int or Tensor": as_int_or_tensor, "tuple of ints": as_ints, "tuple of ints or bool": as_ints_or_bool,
    "bool": as_bool, "Number": as_number, "float": as_float, "str": as_str, "torch.dtype": as_dtype,
    "Number or str": as_number_or_str,
}  # fmt: skip
WRONG = {  # kind -> the question that a parser asks of a right argument; what fails it is looked at more closely
    "Tensor": "not isinstance({0}, Tensor)",
    "tuple of Tensors": "type({0}) is not tuple and type({0}) is not list or "
                        "not all(isinstance(each, Tensor) for each in {0})",
    "Tensor or number": "not isinstance({0}, Tensor) and type({0}) is not float and type({0}) is not int",
    **dict.fromkeys(("int", "int or Tensor", "tuple of ints", "tuple of ints or bool"), "type({0}) is not int"),
    "bool": "type({0}) is not bool", "Number": "type({0}) is not float and type({0}) is not int",
    "float": "type({0}) is not float", "str": "type({0}) is not str",
    "torch.dtype": "type({0}) is not element_type",
    "Number or str": "type({0}) is not float and type({0}) is not int and type({0}) is not str",
}  # fmt: skip


# --- the parser ------------------------------------------------------------------------------------------------


def asked(name, method, kinds, values):
    """The arguments, converted; TypeError that names the first that is not of its kind."""
    found = []
    for (parameter, kind, _, optional, _), value in zip(kinds, values, strict=True):
        new = value if value is None and optional else CONVERT[kind](value)
        if value is missing:
            raise TypeError(f'{name}() missing 1 required positional arguments: "{parameter}"')
        if new is REFUSED:
            raise TypeError(refusal(name, method, kinds, values, len(found)))
        found.append(new)
    if one_is_a_tensor(name, kinds) and not any(isinstance(value, Tensor) for value in found):
        raise TypeError(refusal(name, method, kinds, values, 0))
    return found


def one_is_a_tensor(name, kinds):
    """True for functions of two operands of which either may be a number, but not both."""
    if name in ("div", "true_divide", "floor_divide"):
        return False  # there both may be
    return len(kinds) > 1 and kinds[1][0] in ("other", "exponent", "test_elements") and name in SEVERAL_FORMS


def refusal(name, method, kinds, values, wrong):
    """What is said of arguments when the one at `wrong` is not of its kind."""
    parameter, kind, position, _, _ = kinds[wrong]
    value = values[wrong]
    if name in SEVERAL_FORMS:
        got = ", ".join(
            type_name(v) if p[2] is not None else f"{p[0]}={type_name(v)}"
            for p, v in zip(kinds[method:], values[method:], strict=True) if v is not p[-1] or p[0] == parameter
        )
        return f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:"
    place = "" if position is None or parameter == "dtype" else f" (position {position + (not method)})"
    kind, found = kind.partition(" or ")[0], f"not {type_name(value)}"
    if kind == "tuple of Tensors" and isinstance(value, tuple | list):
        number, element = next((i, each) for i, each in enumerate(value) if not isinstance(each, Tensor))
        if number:
            return f"expected Tensor as element {number} in argument {position}, but got {type_name(element)}"
        found = f"but found element of type {type_name(element)} at pos {number}"
    if kind == "tuple of ints" and isinstance(value, tuple | list):
        number, element = next((i, each) for i, each in enumerate(value) if as_int(each) is REFUSED)
        found = f"but found element of type {type_name(element)} at pos {number}"
    return f"{name}(): argument '{parameter}'{place} must be {kind}, {found}"


def asking(function, name, method=False, module="course_lib"):
    """The function with a parser before it; the function itself when it has nothing to ask.

    module: where users look it up, which is where pickle will look for it.
    """
    plain = type(function) is type(asking)
    function = vars(function).get("asked_for", function) if plain else function
    if not plain or name in ASK_THEMSELVES or (method and name in FREQUENT):
        return function
    inner = getattr(function, "__wrapped__", function)
    kinds, formal, passed, defaults = [], [], [], {}
    own = {} if method else {"self": "input"}  # what a method calls self is a function's input
    keyword_only = False
    for p in inspect.signature(inner).parameters.values():
        if p.kind is p.KEYWORD_ONLY and not keyword_only and not any(f.startswith("*") for f in formal):
            formal.append("*")
        keyword_only = keyword_only or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        known, star = own.get(p.name, p.name), {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = missing if p.default is p.empty and inner is not function and formal else p.default
        defaults[p.name] = default
        formal.append(star + known + ("" if default is p.empty else f"=defaults[{p.name!r}]"))
        passed.append(f"{p.name}={p.name}" if p.kind is p.KEYWORD_ONLY else star + known)
        kind = OTHERWISE.get((name, p.name), KINDS.get(p.name))
        if kind and (not star or kind == "tuple of Tensors"):
            position, optional = None if p.kind is p.KEYWORD_ONLY else len(passed) - 1, kind.endswith("?")
            kinds.append((known, kind.removesuffix("?"), position, optional or p.default is None, p.default))
    if not kinds or method and len(passed) == 1:  # nothing but self
        return function
    made = written(function, name, inner, kinds, formal, passed, defaults, method)
    made.__module__, made.__qualname__ = module, f"Tensor.{name}" if method else name.removeprefix("linalg_")
    return made


def written(function, name, inner, kinds, formal, passed, defaults, method):
    """The source of a parser, compiled."""
    names = ", ".join(parameter for parameter, *_ in kinds)
    wrong = [f"{p} is not None and {WRONG[k].format(p)}" if optional else WRONG[k].format(p)
             for p, k, _, optional, _ in kinds]
    if one_is_a_tensor(name, kinds):
        wrong.append(f"not isinstance({kinds[0][0]}, Tensor) and not isinstance({kinds[1][0]}, Tensor)")
    words = {"axis": "dim", "keepdims": "keepdim"} if inner is not function else {}  # those of NumPy: numpy_names
    words = {theirs: ours for theirs, ours in words.items() if ours in defaults}
    star = ["*"] * (bool(words) and "*" not in formal)
    text = [f"def {name}({', '.join(formal + star + [f'{word}=None' for word in words])}):"]
    for theirs, ours in words.items():
        text += [f"    if {theirs} is not None:", f"        {ours} = {theirs}"]
    text += [f"    if {' or '.join(wrong)}:",
             f"        {names}, = asked({name!r}, {method}, kinds, ({names},))",
             f"    return function({', '.join(passed)})"]
    namespace = {"asked": asked, "kinds": kinds, "function": inner, "Tensor": Tensor, "defaults": defaults,
                 "element_type": dtypes.dtype}
    compile_source(f"{name}, its arguments", [text], namespace)
    made = functools.update_wrapper(namespace[name], function)
    made.__name__, made.asked_for = name, function
    return made


def asking_later(function):
    """The same for a function of a module that is read whole: its parser is made when it is first called."""
    parser = None

    @functools.wraps(function)
    def ask_first(*args, **options):
        nonlocal parser
        if parser is None:
            parser = asking(function, function.__name__)
        return parser(*args, **options)

    return ask_first
