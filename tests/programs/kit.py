"""What every program of this folder is made of: a function of `T`, real torch or course_lib, and what it observes.

A program returns tensors, nodes, numbers, strings or lists of them; `observe` turns those into plain data in which
the two libraries can be compared. An exception that leaves a program is a mistake of the program: what is meant
to raise stands in `raises`.
"""

import importlib.util
import inspect
import math
import re
import sys
import warnings
from pathlib import Path

PROGRAMS = {}


def program(function):
    """Add a function of T to the programs, under its file's name and its own."""
    name = f"{function.__module__.rpartition('.')[2]}/{function.__name__}"
    assert name not in PROGRAMS, f"two programs are called {name}"
    PROGRAMS[name] = function
    return function


def programs(**functions):
    """Add programs of one expression."""
    module = inspect.currentframe().f_back.f_globals["__name__"]
    for name, function in functions.items():
        function.__name__, function.__module__ = name, module
        program(function)


def load(topics, package):
    """{name: program} of some files of this folder. `package` keeps the modules apart from others' of these names."""
    PROGRAMS.clear()
    for topic in topics:
        spec = importlib.util.spec_from_file_location(f"{package}.{topic}", Path(__file__).parent / f"{topic}.py")
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    return dict(PROGRAMS)


def anomaly(T):
    """Whether anomaly mode is on, and whether it looks for NaN: in our engine, fields of its settings."""
    if hasattr(T, "is_anomaly_enabled"):
        return [T.is_anomaly_enabled(), T.is_anomaly_check_nan_enabled()]
    settings = sys.modules[f"{T.__name__}.engine.grad_mode"].state
    return [bool(settings.anomaly), settings.anomaly_check_nan]


def leaf(T, data, dtype=None):
    """A leaf that requires grad."""
    return T.tensor(data, dtype=getattr(T, dtype or "float32"), requires_grad=True)


def raises(function):
    """The error that a function raises, in words; None when it raises nothing."""
    try:
        function()
    except Exception as error:  # noqa: BLE001  (whatever it is, it is the observation)
        return "raises", type(error).__name__, words(error)
    return None


def kind(function):
    """Only the type of the error: for texts that list PyTorch's C++ signatures."""
    error = raises(function)
    return error and error[1]


def warned(function):
    """The warnings that a function gives, in words, and what it returns."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = function()
    return [(w.category.__name__, words(w.message)) for w in seen], result


def seen(value):
    """Plain numbers, as they are now: for tensors that are written to afterwards."""
    if hasattr(value, "detach"):
        return value.detach().tolist()
    if isinstance(value, dict):
        return {k: seen(v) for k, v in value.items()}
    return [seen(v) for v in value] if isinstance(value, list | tuple) else value


def outcome(function, length=None):
    """The warnings that a function gives, and the numbers that it returns or the beginning of its error."""

    def run():
        result = []
        error = raises(lambda: result.append(seen(function())))
        return f"{error[1]}: {error[2]}"[:length] if error else result[0]

    return warned(run)


def fn(T, forward, backward=None, name="Fn", **more):
    """A custom Function from its two methods."""
    body = {"forward": staticmethod(forward), **more}
    if backward is not None:
        body["backward"] = staticmethod(backward)
    return type(name, (T.autograd.Function,), body)


def quiet(function):
    """What a function returns, its warnings unheard."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function()


ADVICE = (  # of PyTorch's, which ours leaves out
    " You should only implement one of them", " Hint: only one pair of hooks", " If you are using Distributed",
    " This is not supported by the current autograd engine",
)  # fmt: skip


def words(message):
    """A message without what belongs to one run or one library: addresses, C++ lines, further advice."""
    text = re.sub(r"0x[0-9a-f]+", "0x0", str(message))
    text = re.sub(rf"\(Triggered internally at .*|({'|'.join(ADVICE)}).*", "", text, flags=re.DOTALL)
    return re.sub(r"\bcourse_lib\b", "torch", text).strip()


def flags(t):
    """What kind of tensor it is."""
    return [t.requires_grad, t.is_leaf, None if t.grad_fn is None else type(t.grad_fn).__name__]


def kept(T, node):
    """The tensors that a node keeps, by name. Numbers and shapes are left out: ours keeps fewer of them."""
    found = {}
    for name in sorted(n for n in dir(node) if n.startswith("_saved_")):
        value = getattr(node, name)
        if (
            isinstance(value, T.Tensor)
            or isinstance(value, list | tuple)
            and any(isinstance(v, T.Tensor) for v in value)
        ):
            found[name[7:]] = value
    return found


def graph(node, depth=6):
    """Nested names of nodes."""
    if node is None or depth == 0:
        return node and type(node).__name__
    return [type(node).__name__, [graph(n, depth - 1) for n, _ in node.next_functions]]


def weighted(T, y):
    """sum(y * [1, 2, 3, ...]): a different gradient for every element."""
    return (y.reshape(-1) * T.arange(1.0, y.numel() + 1).to(y.dtype)).sum()


def grad_of(T, function, data, dtype=None):
    """The value of a function at a leaf and the leaf's gradient."""
    x = leaf(T, data, dtype)
    y = function(x)
    weighted(T, y).backward()
    return [y.detach(), x.grad]


def observe(value):
    """Plain data that says everything about a value."""
    if hasattr(value, "backward") and hasattr(value, "grad_fn") and not isinstance(value, type):
        fn = value.grad_fn
        return [
            str(value.dtype).rpartition(".")[2],
            list(value.shape),
            observe(value.detach().clone().tolist()),
            value.requires_grad,
            fn and type(fn).__name__,
        ]
    if hasattr(value, "next_functions"):
        return f"<{value.name()}>"
    if isinstance(value, dict):
        return {str(k): observe(v) for k, v in value.items()}
    if type(value).__name__ in ("Size", "dtype", "device"):
        return words(repr(value))
    if isinstance(value, list | tuple):
        return [observe(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    return words(value if isinstance(value, str) else repr(value))


def run(function, T):
    """What a program observes on a library."""
    try:
        return observe(function(T))
    except Exception as error:  # noqa: BLE001
        return ["escaped", type(error).__name__, words(error)]


def difference(want, got, path=""):
    """None when two observations agree (floats nearly), else where they do not."""
    numbers = (int, float)
    if type(want) in numbers and type(got) in numbers and type(want) is type(got):
        return None if abs(want - got) <= 1e-6 + 1e-5 * abs(want) else f"{path}: {want!r} became {got!r}"
    if isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        pairs = [(str(i), a, b) for i, (a, b) in enumerate(zip(want, got, strict=True))]
    elif isinstance(want, dict) and isinstance(got, dict) and want.keys() == got.keys():
        pairs = [(k, want[k], got[k]) for k in want]
    else:
        return None if type(want) is type(got) and want == got else f"{path}:\n   torch: {want!r}\n   ours:  {got!r}"
    return next((d for d in (difference(a, b, f"{path}/{i}") for i, a, b in pairs) if d), None)
