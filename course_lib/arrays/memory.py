"""Memory: what tensors share, who refers to an array, whether two have elements in common, arrays by strides.

PyTorch: c10/core/StorageImpl.h, aten/src/ATen/MemoryOverlap.cpp, aten/src/ATen/native/TensorShape.cpp (as_strided).
"""

import math
from sys import getrefcount

import numpy as np

from course_lib.arrays import dtypes, messages


class Storage:
    """The memory behind tensors, told apart by its address."""

    def __init__(self, array):
        base = array
        while isinstance(base, np.ndarray):
            array, base = base, base.base
            if base is not None and not isinstance(base, np.ndarray):
                base = getattr(base, "base", None)  # NumPy's as_strided puts an object of its own between
        self.array = array

    def data_ptr(self) -> int:
        """Return the address where the memory begins."""
        return self.array.__array_interface__["data"][0]

    def nbytes(self) -> int:
        """Return the size of the memory in bytes."""
        return self.array.nbytes

    def __len__(self):
        return self.array.nbytes


def check_overlap(tensor: object, operands: tuple, values: np.ndarray | None = None) -> None:
    """Raise RuntimeError when an element of the tensor would be written twice, or is also an element of an operand.

    `values` are what is to be written. A tensor copied to itself may do both.
    """
    target = tensor.array
    if values is not None and operands and all(is_same_memory(x, target) for x in (values, operands[0].array)):
        return
    if 0 in target.strides:
        check_places_differ(target)
    for operand in operands:
        if operand is not tensor and overlaps_partly(target, operand.array):
            raise RuntimeError(messages.OVERLAPS_OPERAND)


def check_places_differ(array: np.ndarray) -> None:
    """Raise RuntimeError when several elements lie in one place, so that a write would be ambiguous."""
    if array.size and any(step == 0 and n > 1 for step, n in zip(array.strides, array.shape, strict=True)):
        raise RuntimeError(messages.OVERLAPS_ITSELF)


def overwrite(array: np.ndarray, values: np.ndarray) -> None:
    """Write values to an array; RuntimeError when that would be ambiguous."""
    check_places_differ(array)
    array[...] = values


def check_cast(source: np.dtype, target: np.dtype) -> None:
    """Raise RuntimeError when a result of NumPy type `source` would lose its kind in memory of type `target`."""
    if source is not target and dtypes.KIND[source] > dtypes.KIND[target]:
        raise RuntimeError(
            f"result type {dtypes.FROM_NUMPY[source].title} can't be cast to the desired output type "
            f"{dtypes.FROM_NUMPY[target].title}"
        )


def overlaps_partly(a: np.ndarray, b: np.ndarray) -> bool:
    """Return True when two dense pieces of memory overlap without being the same."""
    if not overlaps(a, b):
        return False
    if np.lib.array_utils.byte_bounds(a) == np.lib.array_utils.byte_bounds(b):
        return a.strides != b.strides if a.size > 1 else a.ndim != b.ndim
    return True


def is_same_memory(a: np.ndarray, b: np.ndarray) -> bool:
    """Return True when two arrays show the same memory in the same way."""
    if a is b:
        return True
    if a.base is None or a.shape != b.shape or a.dtype != b.dtype:
        return False
    steps = zip(a.shape, a.strides, b.strides, strict=True)
    alike = all(n < 2 or step == other for n, step, other in steps)
    return alike and a.__array_interface__["data"][0] == b.__array_interface__["data"][0]


def overlaps(a: np.ndarray, b: np.ndarray) -> bool:
    """Return True when two dense pieces of memory have an element in common."""
    if a is not b and a.base is None and getattr(b, "base", None) is None:
        return False  # each has memory of its own; asking this first makes a small training step 15 % faster
    if type(b) is not np.ndarray or not (is_dense(a) and is_dense(b)):
        return False
    low, high = np.lib.array_utils.byte_bounds(a)
    other_low, other_high = np.lib.array_utils.byte_bounds(b)
    return low < other_high and other_low < high


def is_dense(array: np.ndarray) -> bool:
    """Return True when the elements fill their memory exactly, in whatever order of dimensions."""
    expected = array.itemsize
    for step, n in sorted(zip(array.strides, array.shape, strict=True)):
        if n != 1:
            if step != expected:
                return False
            expected *= n
    return array.size > 0


def strides_of(array: np.ndarray) -> tuple:
    """Return how many elements to step over to get to the next one, for each dimension of an array."""
    size = array.itemsize
    if array.ndim == 2:
        row, column = array.strides
        return row // size, column // size
    return tuple([step // size for step in array.strides])


def packed_strides(shape: tuple) -> tuple:
    """Return the steps, in elements, of a tensor whose elements lie one after the other; also of no elements."""
    return tuple(math.prod(max(n, 1) for n in shape[d + 1 :]) for d in range(len(shape)))


def empty_strided(shape: tuple, strides: tuple, dtype: np.dtype) -> tuple:
    """Return zeros laid out with the given strides (in elements), and the one-dimensional memory they lie in."""
    buffer = np.zeros(span(shape, strides), dtype)
    return part_of(buffer, shape, strides, 0), buffer


def span(shape: tuple, strides: tuple) -> int:
    """Return how many elements there are from the first to the last of a tensor with these strides."""
    return 1 + sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) if all(shape) else 0


def part_of(buffer: np.ndarray, shape: tuple, strides: tuple, offset: int) -> np.ndarray:
    """Return the part of one-dimensional memory that begins at `offset` and is stepped through by `strides`.

    RuntimeError when it leads out of the memory, as for a view whose base took fewer elements by `.data =`.
    """
    if not all(shape):
        return np.zeros(shape, buffer.dtype)
    size = buffer.itemsize
    try:
        return np.ndarray(shape, buffer.dtype, buffer, offset * size, [step * size for step in strides])
    except (TypeError, ValueError):
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset} are out of bounds for "
            f"storage of size {buffer.nbytes}"
        ) from None


def _count_references():
    """Return what getrefcount says of an array in a function that `apply` calls, when only the engine holds it."""
    seen = []

    class Probe:
        base, flags = None, None

    def like_a_formula(grad):
        seen.append(getrefcount(grad))

    def like_apply(node, grad):
        like_a_formula(grad)

    def like_evaluate():
        grad = Probe()
        like_apply(None, grad)

    like_evaluate()
    return seen[0]


UNSHARED = _count_references()
