"""course_lib.arrays.printing: the same text as PyTorch's repr of a tensor."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.arrays.printing import format_tensor

INF, NAN = float("inf"), float("nan")
F32, F64, I64 = "float32", "float64", "int64"


@pytest.fixture(scope="module")
def torch(real_torch):
    """Real PyTorch, the oracle."""
    return real_torch


def ours(array, note=None, function=None):
    """What we print for `array` with one of the notes None, "grad", "grad_fn", "parameter", "frozen"."""
    return format_tensor(
        array,
        dtype_name=str(array.dtype),
        requires_grad=note in ("grad", "grad_fn", "parameter"),
        grad_fn_name=(function or "MulBackward0") if note == "grad_fn" else None,
        is_parameter=note in ("parameter", "frozen"),
    )


def theirs(torch, array, note=None, function=None):
    """What PyTorch prints for the same elements and the same note."""
    tensor = torch.from_numpy(np.array(array))  # a copy: the table's arrays stay as they are
    if note in ("parameter", "frozen"):
        return repr(torch.nn.Parameter(tensor, requires_grad=note == "parameter"))
    if note is not None:
        tensor.requires_grad_()
    if note == "grad_fn" and function is not None:
        assert function.endswith("Backward")
        forward, backward = staticmethod(lambda ctx, x: x.clone()), staticmethod(lambda ctx, grad: grad)
        made = type(function.removesuffix("Backward"), (torch.autograd.Function,), {})
        made.forward, made.backward = forward, backward
        tensor = made.apply(tensor)
    elif note == "grad_fn":
        tensor = tensor * 1
    return repr(tensor)


def case(values, dtype=F32, note=None, function=None):
    """One line of the table."""
    array = np.array(values, dtype=dtype)
    return pytest.param(array, note, function, id=f"{array.ravel()[:4]} {array.shape} {dtype} {note}")


def hidden(value):
    """1001 zeros and one `value` where the cut hides it."""
    values = np.zeros(1001)
    values[500] = value
    return values


TABLE = [
    # one number
    *(case(value) for value in (1, 0.5, -0.0, NAN, 1e8, 1e9, 1e-4)),
    *(case(value, F64) for value in (1, 99999999, 1e8 + 1, 1e-4)),
    *(case(*each) for each in ((7, I64), (True, "bool"), (-3, "int32"))),
    # scientific or not, what decides and what only follows
    *(case([first, second]) for first in (1, -0.0, NAN) for second in (0.5, 1, 1000, 1000.5, 1001, 1e-5, 1e9, -INF)),
    case([1e300, 1e-300], F64),
    case([5e-324, 3], F64),
    case([0, -0.0, NAN, -INF, 12]),
    # integers and bools
    case([-1, 200], I64),
    case([-(2**63), 2**63 - 1], I64),
    case([True, False], "bool"),
    case([1, 2], "uint8"),
    # no elements
    *(case(np.empty(shape), dtype) for shape in (0, (0, 3), (2, 0, 3)) for dtype in (F32, F64, I64, "bool")),
    case(np.empty((0, 3)), note="grad"),
    case([], note="grad_fn"),
    # levels and lines
    case([[1, 2], [3, 40]]),
    case(np.arange(8).reshape(2, 2, 2), I64),
    case(np.arange(4).reshape(2, 1, 2, 1), I64),
    case(np.arange(25)),
    case([123456789012345678] * 5, I64),
    case(np.zeros(26)),  # zeros count as one column wide, so more of them share a line
    case(np.full((1,) * 60 + (2,), 10**18), I64),  # too wide for what the brackets leave of the line: it stands alone
    # cut to the edges
    case(np.arange(1001), I64),
    case(hidden(0.5)),
    case(hidden(1), "bool"),
    case(np.arange(1001) * 1.5),
    case(np.arange(1400).reshape(7, 200), I64),
    case(np.arange(1200).reshape(6, 200), I64),
    case(np.zeros((7, 1, 200))),
    # notes
    *(case([[1, 2]], note=note) for note in ("grad", "grad_fn", "parameter", "frozen")),
    case(1, F64, "grad_fn"),
    case(np.arange(11), note="grad"),
    case(np.arange(8) * 1.5, F64, "grad_fn"),
    case(np.arange(11) * 1.5, F64, "grad_fn"),  # in one line both notes would make 80 columns: one too many
    case(np.ones(18), F64, "grad_fn", "F" * 34 + "Backward"),  # 81 columns, which a line of notes may have
]


@pytest.mark.parametrize(("array", "note", "function"), TABLE)
def test_the_table(torch, array, note, function):
    """Every tensor of the table prints as in PyTorch, without a warning from NumPy or Python."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        actual = ours(array, note, function)

    assert theirs(torch, array, note, function) == actual


def test_printing_does_not_touch_the_array():
    """Cutting to the edges works on a copy; a read-only, strided array prints as its contiguous copy."""
    array = np.arange(4004, dtype=F32).reshape(1001, 4)[:, ::2]
    array.flags.writeable = False

    assert ours(np.ascontiguousarray(array)) == ours(array)
    assert array.shape == (1001, 2)


# Numbers at which a rule changes its mind, and their neighbours.
EDGES = [0.0, -0.0, 1.0, -1.0, 10.0, 999.5, 1000.0, 1000.5, 1e8, 1e8 + 1, 1e9, 0.5, 0.99995, 9999.99995]
EDGES += [1e-3, 1e-4, 9.99e-5, 1e-5, 1e300, 5e-324, INF, -INF, NAN]
FLOATS = st.one_of(
    st.lists(st.sampled_from(EDGES), min_size=1, max_size=6),
    st.lists(st.integers(-2000, 2000).map(float), min_size=1, max_size=6),
    st.lists(st.floats(-20, 20), min_size=1, max_size=6),
    st.lists(st.floats(), min_size=1, max_size=6),
)
INTEGERS = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-99, 99), min_size=1, max_size=6)
SHAPES = st.one_of(
    st.lists(st.integers(0, 30), max_size=2),
    st.lists(st.integers(1, 8), max_size=4),
    st.sampled_from([(1000,), (1001,), (500, 3), (6, 167), (7, 150), (2, 2, 300), (7, 7, 7, 7), (0,) * 25]),
)


@st.composite
def arrays(draw):
    """A few numbers repeated to fill a shape: small to draw, large to print."""
    dtype = draw(st.sampled_from([F32, F32, F64, F64, I64, "int32", "uint8", "bool"]))
    values = draw(FLOATS if dtype.startswith("float") else INTEGERS)
    with np.errstate(over="ignore"):  # 1e300 is inf as a float32
        values = np.array(values).astype(dtype)
    return np.resize(values, draw(SHAPES))


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(
    array=arrays(),
    note=st.sampled_from([None, "grad", "grad_fn", "parameter", "frozen"]),
    length=st.integers(0, 70),
)
def test_prints_what_pytorch_prints(torch, array, note, length):
    """Any tensor, with any note of any length, prints as in PyTorch."""
    if array.dtype.kind != "f" and note != "frozen":
        note = None  # only floats can require grad
    function = "F" * length + "Backward" if length else None

    assert theirs(torch, array, note, function) == ours(array, note, function)
