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
        grad_fn=(function or "MulBackward0") if note == "grad_fn" else None,
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
    st.sampled_from(
        [(1000,), (1001,), (500, 3), (6, 167), (7, 150), (2, 2, 300), (7, 7, 7, 7), (0,) * 25, (1,) * 60 + (2,)]
    ),
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
    """Any tensor, with any note of any length, prints as in PyTorch, without a warning from NumPy or Python."""
    if array.dtype.kind != "f" and note != "frozen":
        note = None  # only floats can require grad
    function = "F" * length + "Backward" if length else None
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        actual = ours(array, note, function)

    assert theirs(torch, array, note, function) == actual


def test_a_note_that_just_fits_stays_on_its_line():
    """As PyTorch prints `arange(10, 23)` in int32: 80 columns with the 2 that it counts; one element more breaks."""
    fits = "tensor([10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22], dtype=torch.int32)"
    assert fits == ours(np.arange(10, 23, dtype="int32"))
    breaks = fits.replace("22]", "22, 23]").replace(", dtype", ",\n       dtype")
    assert breaks == ours(np.arange(10, 24, dtype="int32"))
