"""Read dimensions as users name them: one or several, counted from either end, in PyTorch's words or NumPy's.

PyTorch: c10/core/WrapDimMinimal.h, aten/src/ATen/native/ReduceOpsUtils.h.
"""


from course_lib.arrays.messages import type_name
from course_lib.engine.arguments import Operand, Sizes, dimension
from course_lib.engine.tensor import Tensor


def dims_of(tensor: Tensor, dim: int | None) -> tuple | None:
    """Return dimensions from an int, a tuple, a list or None, counted from the front; () and None mean all."""
    if dim is None or dim is OMITTED:
        return None
    if type(dim) is int or not isinstance(dim, tuple | list):
        dim = (dim,)
    if not tensor.array.ndim:
        check_distinct([dimension(tensor, d) for d in dim])  # raises for anything but 0 or -1, once
        return None
    dims = tuple(dimension(tensor, d) for d in dim)
    check_distinct(dims)
    return dims or None


def check_distinct(dims: Sizes) -> None:
    """Raise RuntimeError for a dimension that is named twice."""
    for d in dims if len(set(dims)) < len(dims) else ():
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")


def every(tensor: Tensor) -> tuple:
    """Return all dimensions of a tensor."""
    return tuple(range(tensor.array.ndim))


def nonempty_dim(name: str, tensor: Tensor, dim: int) -> int:
    """Return a dimension counted from the front; IndexError when nothing lies along it."""
    dim = dimension(tensor, dim)
    if tensor.array.ndim and not tensor.array.shape[dim]:
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
    return dim


# The default of a dimension that may be given as None: `x.sum(None, True)` is right, `x.sum(keepdim=True)` is not.
OMITTED = type("Omitted", (), {"__repr__": lambda self: "None"})()


def wrong_form(name: str, value: Operand, place: str = "") -> str:
    """Return what is said of an argument that no form of a function takes."""
    got = f"got ({place}{type_name(value)}{', ' if place else ''})"
    return f"{name}() received an invalid combination of arguments - {got}, but expected one of:"


def check_kept(name: str, keepdim: bool) -> None:
    """Raise TypeError for a keepdim without a dimension."""
    if keepdim:
        raise TypeError(wrong_form(name, keepdim, "keepdim="))
