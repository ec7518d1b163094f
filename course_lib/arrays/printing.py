"""Print a tensor and a shape, character for character as PyTorch does.

PyTorch: torch/_tensor_str.py (tensors), torch/csrc/Size.cpp (torch.Size), torch/nn/parameter.py (the prefix).

Three steps: choose ONE way to write every element (`_style`), lay the elements out in brackets and lines
(`_layout`), add the notes such as `grad_fn=<MulBackward0>` (`format_tensor`). The word `torch` stands in the
text on purpose: a lesson prints the same on both libraries.
"""

import math

import numpy as np

PRECISION = 4  # digits after the point
THRESHOLD = 1000  # a tensor with more elements than this is cut
EDGE = 3  # how many stay at each end of a dimension that is cut
LINE_WIDTH = 80
SCIENTIFIC = None  # True or False: with or without an exponent, whatever the elements are

PROFILES = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, math.inf, 3, 80)}


def set_printoptions(
    precision: int | None = None, threshold: object = None, edgeitems: object = None, linewidth: object = None,
    profile: str | None = None, sci_mode: bool | None = None,
) -> None:
    """Set how tensors print from now on: digits, cut from how many elements, how many left at an end, line width."""
    global PRECISION, THRESHOLD, EDGE, LINE_WIDTH, SCIENTIFIC
    if profile is not None:
        PRECISION, THRESHOLD, EDGE, LINE_WIDTH = PROFILES[profile]
    PRECISION = PRECISION if precision is None else precision
    THRESHOLD = THRESHOLD if threshold is None else threshold
    EDGE = EDGE if edgeitems is None else edgeitems
    LINE_WIDTH = LINE_WIDTH if linewidth is None else linewidth
    SCIENTIFIC = sci_mode


class Size(tuple):
    """A shape: a tuple whose slices, sums and multiples are shapes again."""

    __slots__ = ()

    def __repr__(self):
        return f"torch.Size({list(self)})"

    def numel(self) -> int:
        """Return the number of elements of a tensor with this shape: 1 for the empty shape."""
        return math.prod(self)

    def __getitem__(self, index):
        item = tuple.__getitem__(self, index)
        return Size(item) if isinstance(index, slice) else item

    def __add__(self, other):
        return Size(tuple.__add__(self, other))

    def __radd__(self, other):
        return Size(tuple.__add__(other, self))

    def __mul__(self, times):
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__


def format_tensor(
    array: np.ndarray, *, dtype_name: str, requires_grad: bool, grad_fn: str | None, is_parameter: bool = False
) -> str:
    """Return the repr of a tensor holding `array` (a NumPy array or scalar of floats, integers or bools).

    `dtype_name` comes without `torch.`; `grad_fn` is None for a leaf, and wins over `requires_grad`.
    """
    array = np.asarray(array)
    # The dtypes a reader guesses from the elements go without saying. No elements, nothing to guess from:
    # then only the default dtype does.
    unsaid = ("float32", "int64", "bool") if array.size else ("float32",)
    notes = []
    if array.size == 0 and array.ndim > 1:
        notes.append(f"size={tuple(array.shape)}")
    if dtype_name not in unsaid:
        notes.append(f"dtype=torch.{dtype_name}")
    if grad_fn is not None:
        notes.append(f"grad_fn=<{grad_fn}>")
    elif requires_grad:
        notes.append("requires_grad=True")

    start = "tensor("
    text = start + _elements(array)
    # A note moves to a new line when it would not fit. The 2 is PyTorch's: a line that holds elements ends at
    # column 79, while one that holds only notes may reach 81.
    used = len(text) - (text.rfind("\n") + 1) + 2
    for note in notes:
        used += len(", ") + len(note)
        if used > LINE_WIDTH:
            text += ",\n" + " " * len(start) + note
            used = len(start) + len(note)
        else:
            text += ", " + note
    return ("Parameter containing:\n" if is_parameter else "") + text + ")"


def _elements(array):
    """Return the bracketed elements, of which a long tensor shows only the edges."""
    if array.size == 0:
        return "[]"
    long = [array.size > THRESHOLD and length > 2 * EDGE for length in array.shape]
    for axis, cut in enumerate(long):
        if cut:
            array = array.take([*range(EDGE), *range(-EDGE, 0)], axis)
    # Only what is shown has a say in the style: one hidden 0.5 does not turn every shown `1.` into `1.0000`.
    write, width = _style(array)
    return _layout(array.tolist(), long, lambda value: write(value).rjust(width), width)


def _style(array):
    """Return how to write every element of `array`, and the width to pad to: (function from number to text, width).

    Floats are all written alike, so one element can change all the others: [1, 1000] gives `1.`, [1, 1000.5]
    gives `1.0000e+00`. Zeros, infinities and nan follow the choice without taking part in it, not even in
    the width: that is why `[-0., 1.]` is not padded.
    """
    values = array.ravel().tolist()  # float32 as Python floats, exactly: the text of the stored number
    if array.dtype.kind != "f":
        return str, max(len(str(value)) for value in values)
    deciding = [value for value in values if value != 0 and math.isfinite(value)]
    sizes = [abs(value) for value in deciding] or [1.0]
    low, high = min(sizes), max(sizes)
    whole = all(size.is_integer() for size in sizes)
    if SCIENTIFIC or SCIENTIFIC is None and (high / low > 1000 or high > 1e8 or low < 1e-4):
        spec, end = f".{PRECISION}e", ""
    elif whole:
        spec, end = ".0f", "."  # the point alone says that these are floats
    else:
        spec, end = f".{PRECISION}f", ""

    def write(value):
        return format(value, spec) + (end if math.isfinite(value) else "")

    return write, max((len(write(value)) for value in deciding), default=1)


def _layout(values, long, write, width, depth=1):
    """Return nested lists as text; `long` says, per dimension from here inwards, where `...` stands for a cut."""
    if not long:
        return write(values)  # a 0-d tensor: no brackets
    below = "\n" + " " * (len("tensor(") + depth)  # under the first thing inside this bracket
    if len(long) > 1:
        parts = [_layout(inner, long[1:], write, width, depth + 1) for inner in values]
        parts[EDGE:EDGE] = ["..."] * long[0]
        # Rows stand on neighbouring lines, matrices have an empty line between them, and so on.
        return "[" + (",".ljust(len(long) - 1, "\n") + below).join(parts) + "]"
    parts = [write(value) for value in values]
    parts[EDGE:EDGE] = [" ..."] * long[0]  # it takes a place on the line as an element does
    # The innermost bracket is not counted: a full line of padded elements may end, comma included, at 80.
    per_line = max(1, (LINE_WIDTH - len("tensor(") - depth + 1) // (width + len(", ")))
    lines = [", ".join(parts[i : i + per_line]) for i in range(0, len(parts), per_line)]
    return "[" + ("," + below).join(lines) + "]"
