"""course_lib.arrays.printing: the same text as PyTorch's repr, for tensors and for shapes."""

import copy
import pickle
import warnings
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.arrays.printing import Size, format_tensor

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


def row(values, expected, dtype=F32, note=None, function=None):
    """One line of the table, named by what it expects."""
    expected = dedent(expected).strip()
    case = (np.array(values, dtype=dtype), note, function, expected)
    return pytest.param(*case, id=" ".join(expected.split())[:50])


def hidden(value):
    """1001 zeros and one `value` where the cut hides it."""
    values = np.zeros(1001)
    values[500] = value
    return values


# Written down from torch 2.13.0; test_the_table_is_what_pytorch_prints keeps it honest.
TABLE = [
    # one number
    row(1, "tensor(1.)"),
    row(1, "tensor(1., dtype=torch.float64)", F64),
    row(0.5, "tensor(0.5000)"),
    row(-0.0, "tensor(-0.)"),
    row(NAN, "tensor(nan)"),
    row(-INF, "tensor(-inf)"),
    row(7, "tensor(7)", I64),
    row(True, "tensor(True)", "bool"),
    row(-3, "tensor(-3, dtype=torch.int32)", "int32"),
    # scientific or not
    row(99999999, "tensor(99999999., dtype=torch.float64)", F64),
    row(1e8, "tensor(100000000.)"),
    row(1e9, "tensor(1.0000e+09)"),
    row(1e8 + 1, "tensor(1.0000e+08, dtype=torch.float64)", F64),
    row(1e-4, "tensor(0.0001, dtype=torch.float64)", F64),
    row(1e-4, "tensor(1.0000e-04)"),  # float32's nearest number is a little below 0.0001
    row([1, 1000], "tensor([   1., 1000.])"),
    row([1, 1000.5], "tensor([1.0000e+00, 1.0005e+03])"),
    row([1, 1001], "tensor([1.0000e+00, 1.0010e+03])"),
    row([0, 1e-5], "tensor([0.0000e+00, 1.0000e-05])"),
    row([1e300, 1e-300], "tensor([1.0000e+300, 1.0000e-300], dtype=torch.float64)", F64),
    row([5e-324, 3], "tensor([4.9407e-324,  3.0000e+00], dtype=torch.float64)", F64),
    # what decides and what only follows
    row([1, 2], "tensor([1., 2.])"),
    row([1, 2.5], "tensor([1.0000, 2.5000])"),
    row([0, 0], "tensor([0., 0.])"),
    row([-0.0, 1], "tensor([-0., 1.])"),
    row([-0.0, 100], "tensor([ -0., 100.])"),
    row([-0.0, 0.5], "tensor([-0.0000, 0.5000])"),
    row([-0.0, 1e9], "tensor([-0.0000e+00, 1.0000e+09])"),
    row([-INF, NAN], "tensor([-inf, nan])"),
    row([1, NAN], "tensor([1., nan])"),
    row([0.5, -INF, NAN], "tensor([0.5000,   -inf,    nan])"),
    row([0, -0.0, NAN, -INF, 12], "tensor([ 0., -0., nan, -inf, 12.])"),
    row([1e-5, INF], "tensor([1.0000e-05,        inf])"),
    # integers and bools
    row([-1, 200], "tensor([ -1, 200])", I64),
    row([-(2**63), 2**63 - 1], "tensor([-9223372036854775808,  9223372036854775807])", I64),
    row([True, False], "tensor([ True, False])", "bool"),
    row([1, 2], "tensor([1, 2], dtype=torch.uint8)", "uint8"),
    # no elements
    row([], "tensor([])"),
    row([], "tensor([], dtype=torch.float64)", F64),
    row([], "tensor([], dtype=torch.int64)", I64),
    row(np.empty((0, 3)), "tensor([], size=(0, 3))"),
    row(np.empty((2, 0, 3)), "tensor([], size=(2, 0, 3), dtype=torch.bool)", "bool"),
    row(np.empty((0, 3)), "tensor([], size=(0, 3), requires_grad=True)", note="grad"),
    row([], "tensor([], grad_fn=<MulBackward0>)", note="grad_fn"),
    # levels and lines
    row([[1, 2], [3, 40]], "tensor([[ 1.,  2.],\n        [ 3., 40.]])"),
    row(
        np.arange(8).reshape(2, 2, 2),
        """
        tensor([[[0, 1],
                 [2, 3]],

                [[4, 5],
                 [6, 7]]])
        """,
        I64,
    ),
    row(
        np.arange(4).reshape(2, 1, 2, 1),
        "tensor([[[[0],\n          [1]]],\n\n\n        [[[2],\n          [3]]]])",
        I64,
    ),
    row(
        np.arange(25),
        """
        tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,
                14., 15., 16., 17., 18., 19., 20., 21., 22., 23., 24.])
        """,
    ),
    row(
        [123456789012345678] * 5,
        "tensor([" + "123456789012345678, " * 2 + "123456789012345678,\n        "
        "123456789012345678, 123456789012345678])",
        I64,
    ),
    # zeros count as one column wide, so more of them share a line
    row(np.zeros(26), "tensor([" + "0., " * 23 + "0.,\n        0., 0.])"),
    # a number too wide for what the brackets leave of the line stands alone
    row(
        np.full((1,) * 60 + (2,), 10**18),
        f"tensor({'[' * 61}{10**18},\n{' ' * 68}{10**18}{']' * 61})",
        I64,
    ),
    # cut to the edges
    row(np.arange(1001), "tensor([   0,    1,    2,  ...,  998,  999, 1000])", I64),
    row(hidden(0.5), "tensor([0., 0., 0.,  ..., 0., 0., 0.])"),
    row(hidden(1), "tensor([False, False, False,  ..., False, False, False])", "bool"),
    row(
        np.arange(1001) * 1.5,
        """
        tensor([   0.0000,    1.5000,    3.0000,  ..., 1497.0000, 1498.5000,
                1500.0000])
        """,
    ),
    row(
        np.arange(1400).reshape(7, 200),
        """
        tensor([[   0,    1,    2,  ...,  197,  198,  199],
                [ 200,  201,  202,  ...,  397,  398,  399],
                [ 400,  401,  402,  ...,  597,  598,  599],
                ...,
                [ 800,  801,  802,  ...,  997,  998,  999],
                [1000, 1001, 1002,  ..., 1197, 1198, 1199],
                [1200, 1201, 1202,  ..., 1397, 1398, 1399]])
        """,
        I64,
    ),
    row(
        np.zeros((7, 1, 200)),
        """
        tensor([[[0., 0., 0.,  ..., 0., 0., 0.]],

                [[0., 0., 0.,  ..., 0., 0., 0.]],

                [[0., 0., 0.,  ..., 0., 0., 0.]],

                ...,

                [[0., 0., 0.,  ..., 0., 0., 0.]],

                [[0., 0., 0.,  ..., 0., 0., 0.]],

                [[0., 0., 0.,  ..., 0., 0., 0.]]])
        """,
    ),
    # notes
    row([1, 2], "tensor([1., 2.], requires_grad=True)", note="grad"),
    row([1, 2], "tensor([1., 2.], grad_fn=<MulBackward0>)", note="grad_fn"),
    row(1, "tensor(1., dtype=torch.float64, grad_fn=<MulBackward0>)", F64, "grad_fn"),
    row([[1, 2]], "Parameter containing:\ntensor([[1., 2.]], requires_grad=True)", note="parameter"),
    row([[1, 2]], "Parameter containing:\ntensor([[1., 2.]])", note="frozen"),
    row(
        np.arange(11),
        """
        tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10.],
               requires_grad=True)
        """,
        note="grad",
    ),
    row(
        np.arange(8) * 1.5,
        """
        tensor([ 0.0000,  1.5000,  3.0000,  4.5000,  6.0000,  7.5000,  9.0000, 10.5000],
               dtype=torch.float64, grad_fn=<MulBackward0>)
        """,
        F64,
        "grad_fn",
    ),
    row(
        np.arange(11) * 1.5,  # both notes after the elements would make exactly 80 columns: one too many
        """
        tensor([ 0.0000,  1.5000,  3.0000,  4.5000,  6.0000,  7.5000,  9.0000, 10.5000,
                12.0000, 13.5000, 15.0000], dtype=torch.float64,
               grad_fn=<MulBackward0>)
        """,
        F64,
        "grad_fn",
    ),
    row(
        np.ones(18),  # 81 columns, which a line of notes may have
        f"""
        tensor([{"1., " * 17}1.],
               dtype=torch.float64, grad_fn=<{"F" * 34}Backward>)
        """,
        F64,
        "grad_fn",
        "F" * 34 + "Backward",
    ),
]


@pytest.mark.parametrize(("array", "note", "function", "expected"), TABLE)
def test_the_table(array, note, function, expected):
    """Every tensor of the table prints as written there, without a warning from NumPy or Python."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        actual = ours(array, note, function)

    assert expected == actual


@pytest.mark.parametrize(("array", "note", "function", "expected"), TABLE)
def test_the_table_is_what_pytorch_prints(torch, array, note, function, expected):
    """PyTorch prints every tensor of the table as written there."""
    assert expected == theirs(torch, array, note, function)


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


def test_size_is_a_tuple_that_prints_as_pytorch():
    """A Size is, compares and hashes as a tuple, and its repr names torch.Size."""
    size = Size([2, 3])

    assert "torch.Size([2, 3])" == repr(size) == str(size)
    assert "torch.Size([])" == repr(Size())
    assert isinstance(size, tuple)
    assert size == (2, 3) and (2, 3) == size and size != (3, 2)
    assert {(2, 3): "found"}[size] == "found"


SIZE_EXPRESSIONS = {
    "one": lambda size: size[0],
    "last": lambda size: size[-1],
    "slice": lambda size: size[1:],
    "reverse": lambda size: size[::-1],
    "plus": lambda size: size + (4,),
    "plus size": lambda size: size + size,
    "plus from the left": lambda size: (4,) + size,
    "times": lambda size: size * 2,
    "times from the left": lambda size: 2 * size,
    "copy": copy.copy,
    "pickle": lambda size: pickle.loads(pickle.dumps(size)),
    "starred": lambda size: [*size],
}


def test_what_is_made_from_a_size_is_a_size():
    """Slices, sums, multiples and copies of a Size are Sizes; an element is an int."""
    made = {name: repr(make(Size([2, 3]))) for name, make in SIZE_EXPRESSIONS.items()}

    assert made == {
        "one": "2",
        "last": "3",
        "slice": "torch.Size([3])",
        "reverse": "torch.Size([3, 2])",
        "plus": "torch.Size([2, 3, 4])",
        "plus size": "torch.Size([2, 3, 2, 3])",
        "plus from the left": "torch.Size([4, 2, 3])",
        "times": "torch.Size([2, 3, 2, 3])",
        "times from the left": "torch.Size([2, 3, 2, 3])",
        "copy": "torch.Size([2, 3])",
        "pickle": "torch.Size([2, 3])",
        "starred": "[2, 3]",
    }


@pytest.mark.parametrize("name", ["float32", "float64", "int64"])
def test_limits_of_a_type_as_in_pytorch(name, torch):
    """finfo and iinfo print and say the same; the numbers themselves are Python's."""
    import course_lib

    kind = "iinfo" if name == "int64" else "finfo"
    names = ["min", "max", "bits", "dtype"]
    names += ["eps", "tiny", "smallest_normal", "resolution"] if kind == "finfo" else []

    def facts(library):
        limits = getattr(library, kind)(getattr(library, name))
        return repr(limits), [(type(getattr(limits, n)).__name__, getattr(limits, n)) for n in names]

    assert facts(course_lib) == facts(torch)


