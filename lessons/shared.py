"""Helpers that the records of several lessons use: random data, reading an answer, comparing numbers, walking a graph.

What belongs to one exercise stands in its lesson's file; what the tables of "which happens" share, in outcomes.py.
"""

import inspect
import math
import random
import sys

from coursekit.judge.exercise import not_yet

IN_PLACE = "modified by an inplace operation"  # in the message of the version check

# --- data to try an answer on -------------------------------------------------------------------------------


def numbers(count, low=0.5, high=2.0):
    """Random numbers away from zero, so that no slope is zero by accident."""
    return [random.uniform(low, high) for _ in range(count)]


def leaf(torch, values, dtype=None):
    """A leaf that requires grad."""
    return torch.tensor(values, requires_grad=True, dtype=dtype or torch.float32)


def small_network(torch, dtype=None, samples=3, inputs=2, hidden=2):
    """x, t and the four parameters of the small network of lesson 07, as random numbers."""

    def rows(height, width, low=0.2, high=1.5):
        return [numbers(width, low, high) for _ in range(height)]

    dtype = dtype or torch.float32
    x, t = torch.tensor(rows(samples, inputs), dtype=dtype), torch.tensor(rows(samples, 1), dtype=dtype)
    shapes = {"W1": rows(inputs, hidden), "b1": numbers(hidden), "W2": rows(hidden, 1), "b2": numbers(1)}
    return x, t, {name: leaf(torch, values, dtype) for name, values in shapes.items()}


def array(torch, *shape, low=-1.0, high=1.0, requires_grad=False):
    """A random float64 tensor."""
    values = torch.tensor(numbers(math.prod(shape), low, high), dtype=torch.float64).reshape(shape)
    return values.detach().requires_grad_(requires_grad)


# --- reading an answer --------------------------------------------------------------------------------------


def as_number(answer):
    """The answer as a float, whether it was given as a number or as a one-element tensor; None otherwise."""
    if isinstance(answer, bool):
        return None
    try:
        return float(answer)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return None


def as_names(answer):
    """The names in a list, tuple or set of strings, or in one string, as a list; None when it is something else."""
    if isinstance(answer, str):
        answer = answer.replace(",", " ").split()
    if not isinstance(answer, (list, tuple, set, frozenset)):
        return None
    return [name.strip() for name in answer] if all(isinstance(name, str) for name in answer) else None


def set_of_names(answer):
    """The names that `as_names` finds, as a set; None when the answer is something else."""
    names = as_names(answer)
    return None if names is None else set(names)


def names_among(*known):
    """A reader of answers: the names as a set, None when there is any that is not known."""

    def read(answer):
        names = set_of_names(answer)
        return None if names is None or not names <= set(known) else names

    return read


def some_numbers(count):
    """A reader of answers: a list of so many numbers, None for anything else."""

    def read(answer):
        numbers = [as_number(each) for each in answer] if isinstance(answer, (list, tuple)) else []
        return None if len(numbers) != count or None in numbers else numbers

    return read


def called(answer, *names):
    """Does the learner's function use one of these attributes? Only chooses between two sentences."""
    code = getattr(inspect.unwrap(answer), "__code__", None)
    return code is not None and any(name in code.co_names for name in names)


# --- comparing ----------------------------------------------------------------------------------------------


def flat(tensor):
    """The numbers of a tensor, in one list."""
    return tensor.detach().reshape(-1).tolist()


def near(found, wanted, tolerance=1e-4):
    """Two lists of numbers agree."""
    return len(found) == len(wanted) and all(
        math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance) for a, b in zip(found, wanted, strict=True)
    )


def alike(found, wanted, tolerance=1e-4):
    """Two tensors have one shape and agree."""
    return tuple(found.shape) == tuple(wanted.shape) and near(flat(found), flat(wanted), tolerance)


def agree(one, other, tolerance=1e-4):
    """Nested lists of numbers, with tensors or None among them, that agree up to rounding."""
    one, other = (value.tolist() if hasattr(value, "tolist") else value for value in (one, other))
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(agree(a, b, tolerance) for a, b in zip(one, other, strict=True))
    if one is None or other is None:
        return one is other
    if not all(isinstance(value, (int, float)) for value in (one, other)):
        return False
    return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)


def finite_differences(torch, value, inputs, step=1e-6):
    """The gradients of the number `value(*inputs)` for each input, by central differences: float64 tensors."""
    gradients = []
    for which, tensor in enumerate(inputs):
        start, found = flat(tensor), []
        for place in range(len(start)):
            ends = []
            for sign in (1, -1):
                moved = list(start)
                moved[place] += sign * step
                changed = torch.tensor(moved, dtype=torch.float64).reshape(tuple(tensor.shape))
                ends.append(value(*inputs[:which], changed, *inputs[which + 1 :]))
            found.append((ends[0] - ends[1]) / (2 * step))
        gradients.append(torch.tensor(found, dtype=torch.float64).reshape(tuple(tensor.shape)))
    return gradients


# --- graphs -------------------------------------------------------------------------------------------------


def nodes_behind(y):
    """All nodes behind `y`, each once, in the order in which a walk meets them."""
    met, waiting, known = [], [y.grad_fn], {None}
    while waiting:
        node = waiting.pop()
        if node in known:
            continue
        known.add(node)
        met.append(node)
        waiting += [after for after, _ in reversed(node.next_functions)]
    return met


MOST_LINES = 50_000  # lines of Python for 20 sums; a walk that sees each node once needs some hundreds


class TooManyLines(BaseException):
    """A walk that visits a node once for each path to it."""


def within_lines(call):
    """Return what `call()` gives; TooManyLines when it runs more than MOST_LINES lines of Python."""
    ran = 0

    def trace(frame, event, argument):
        nonlocal ran
        ran += 1
        if ran > MOST_LINES:
            raise TooManyLines
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return call()
    finally:
        sys.settrace(before)


def numbers_or_errors(count):
    """A reader of answers: so many entries, each a number or "error"."""

    def read(answer):
        if not isinstance(answer, (list, tuple)) or len(answer) != count:
            return None
        given = [number_or_error(each) for each in answer]
        if any(isinstance(each, str) and each != "error" or each is None for each in given):
            return not_yet('Each entry is a number or "error".')
        return given

    return read


def number_or_error(entry):
    """A number, also one written as text; "error" for a word that means it; other text as it is."""
    if not isinstance(entry, str):
        return as_number(entry)
    text = entry.strip().lower()
    try:
        return float(text)
    except ValueError:
        return "error" if "error" in text or text.startswith("raise") else text
