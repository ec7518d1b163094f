"""Shapes and element types that must go together, and what is said when they do not.

PyTorch: aten/src/ATen/ExpandUtils.cpp, aten/src/ATen/TensorIterator.cpp.
"""

import re

import numpy as np

from course_lib.arrays.dtypes import of_array as title


def sizes_of_both(a: np.ndarray, b: np.ndarray) -> None:
    """Raise RuntimeError unless the shapes of two arrays go together."""
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        raise sizes_differ(a.shape, b.shape) from None


def floats(x: np.ndarray, kernel: str) -> np.ndarray:
    """Return x, unless it holds integers: PyTorch's kernel of that name does not take them, and neither do we."""
    if x.dtype.kind != "f":
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{title(x).title}'")
    return x


def reject_bool(x: np.ndarray, message: str, error: type = RuntimeError) -> np.ndarray:
    """Return x, unless it holds truth values, for which there is no such operation."""
    if x.dtype.kind == "b":
        raise error(message)
    return x


def same_type(a: np.ndarray, b: np.ndarray) -> None:
    """Raise RuntimeError unless both matrices hold the same element type: products do not promote."""
    if a.dtype != b.dtype:
        if a.ndim == 3:
            raise RuntimeError(f"expected scalar type {title(a).title} but found {title(b).title}")
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {title(a).c_name} != {title(b).c_name}"
        )


def whole(value: float, dtype: np.dtype) -> np.ndarray:
    """Return a number as an element of a type; RuntimeError for one that is too large for integers."""
    if dtype.kind == "i" and not -(2.0**63) <= value < 2.0**63:
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    return dtype.type(value)


def can_be_summed(got: tuple, shape: tuple) -> bool:
    """Return True when broadcasting can have made `got` of a shape."""
    try:
        return np.broadcast_shapes(got, shape) == got
    except ValueError:
        return False


def named_sizes(error: object) -> object:
    """Return NumPy's error for shapes that do not go together, in PyTorch's words; any other error as it is."""
    text = str(error)
    if not text.startswith("operands could not be broadcast together with shapes"):
        return error
    shapes = re.findall(r"\(([\d,]*)\)", text)
    return sizes_differ(*([int(n) for n in shape.split(",") if n] for shape in shapes[:2]))


def sizes_differ(*shapes) -> object:
    """Return the error for shapes that do not broadcast. It names the last dimension in which two of them disagree."""
    result = list(shapes[0])
    for shape in shapes[1:]:
        for back in range(1, min(len(result), len(shape)) + 1):
            a, b = result[-back], shape[-back]
            if a != b and 1 not in (a, b):
                dim = max(len(result), len(shape)) - back
                return RuntimeError(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {dim}"
                )
            result[-back] = max(a, b)
        result[:0] = shape[: len(shape) - len(result)] if len(shape) > len(result) else []
    return RuntimeError(f"shapes {[list(s) for s in shapes]} cannot be broadcast together")


def no_derivative(operation: str) -> None:
    """Raise RuntimeError for an operation without derivative, in PyTorch either: when backward gets there."""
    raise RuntimeError(f"derivative for {operation} is not implemented")
