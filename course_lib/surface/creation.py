"""Making tensors: from data, filled with a value, counted, or random.

PyTorch: torch/csrc/utils/tensor_new.cpp, aten/src/ATen/native/TensorFactories.cpp.
"""

import math
import operator
import warnings

import numpy as np

from course_lib.arrays import dtypes, errors, messages
from course_lib.arrays.messages import type_name
from course_lib.arrays.printing import Size
from course_lib.engine import grad_mode
from course_lib.engine.arguments import Number, Operand, Sizes
from course_lib.engine.build import rows
from course_lib.engine.graph import make_leaf
from course_lib.engine.tensor import Tensor, meta_of, new_tensor, writable_array

state = grad_mode.state
READ_ONLY_ARRAY = "The given NumPy array is not writable, but a tensor on its memory can be written to. Copy it first."


def numpy_type(dtype: dtypes.dtype | None, otherwise: np.dtype = dtypes.F32) -> np.dtype:
    """Return the NumPy type of a dtype, or another when none was given; TypeError for what is no torch.dtype."""
    if dtype is None:
        return otherwise
    dtype = dtypes.PYTHON.get(dtype, dtype)
    if not isinstance(dtype, dtypes.dtype):
        raise TypeError(f"argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    return dtype.numpy


def finish(
    array: np.ndarray, dtype: dtypes.dtype | None = None, requires_grad: bool = False, device: object = None
) -> Tensor:
    """Return a new leaf from an array nobody else holds."""
    if device is not None and str(device) != "cpu":
        raise errors.not_supported(f"the device {str(device)!r}", "Everything is computed on the CPU.")
    if dtype is not None:
        array = array.astype(numpy_type(dtype), copy=False)
    result = new_tensor(array if array.ndim else array[()])
    dtypes.of_array(result.array)
    if state.inference:
        meta_of(result).inference = True
    if requires_grad is not False and requires_grad is not None:
        if requires_grad is not True:
            raise TypeError(f"argument 'requires_grad' must be bool, not {type_name(requires_grad)}")
        if array.dtype.kind != "f":
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        make_leaf(result)
    return result


def tensor(
    data: object, *, dtype: dtypes.dtype | None = None, device: object = None, requires_grad: bool = False
) -> Tensor:
    """Return a leaf holding a copy of `data`: a number, nested lists, or an array. Floats become float32, ints int64.

    ValueError for ragged lists; TypeError for elements that are no numbers, or a flag that is no bool.
    """
    if type(requires_grad) is not bool:
        raise TypeError(f"tensor(): argument 'requires_grad' must be bool, not {type_name(requires_grad)}")
    if isinstance(data, Tensor):
        warnings.warn(messages.COPY_OF_A_TENSOR.format(maker="torch.tensor"), stacklevel=2)
        array = np.array(data.array)
    elif isinstance(data, np.ndarray | np.generic):
        array = with_known_type(dtypes.widened(np.array(data)))
    else:
        array = array_from_python(data, dtype)
    return finish(array, dtype, requires_grad, device)


def array_from_python(data: object, dtype: dtypes.dtype | None) -> np.ndarray:
    """Return an array from a number or nested sequences, in the type PyTorch would choose."""
    flat = []
    shape = collected(data, flat, 0)
    for value in flat:
        if isinstance(value, str):
            raise TypeError("must be real number, not str")
        if not isinstance(value, int | float | np.generic):
            raise RuntimeError(f"Could not infer dtype of {type(value).__name__}")
    if dtype is None:
        kinds = [dtypes.of_number(value) for value in flat] or [dtypes.F32]
        wanted = max(kinds, key=dtypes.KIND.get)
        if any(type(value) is np.float64 for value in flat):
            wanted = dtypes.F64
    else:
        wanted = numpy_type(dtype)
    try:
        return np.array(flat, dtype=wanted).reshape(shape)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None


def collected(data: object, into: list, depth: int) -> tuple:
    """Return the shape of nested sequences, whose elements go into a list; ValueError when they are ragged."""
    if isinstance(data, Tensor) and depth:
        if data.array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        data = data.array.dtype.type(data._as_scalar())
    if not isinstance(data, list | tuple | range | Tensor | np.ndarray):
        into.append(data)
        return ()
    if {type(item) for item in data} <= {int, float, bool}:  # most are, and it takes a third of the time
        into += data
        return (len(data),)
    first, *others = [collected(item, into, depth + 1) for item in data] or [()]
    for shape in others:
        if len(shape) != len(first):
            raise TypeError("not a sequence, or not a number: lists and numbers stand side by side")
        for d, (length, found) in enumerate(zip(first, shape, strict=True), depth + 1):
            if length != found:
                raise ValueError(f"expected sequence of length {length} at dim {d} (got {found})")
    return (len(data), *first)


def as_tensor(data: object, dtype: dtypes.dtype | None = None, device: object = None) -> Tensor:
    """Return `data` itself if it is a tensor of that dtype; sharing memory with a NumPy array; else a copy."""
    if isinstance(data, Tensor):
        return data if dtype is None or data.dtype is dtype else data.to(dtype)
    if isinstance(data, np.ndarray) and (dtype is None or numpy_type(dtype) == data.dtype):
        return from_numpy(data)
    return tensor(data, dtype=dtype, device=device)


def with_known_type(array: np.ndarray) -> np.ndarray:
    """Return the array, its type the very object that this engine compares with: out of a pickle comes an equal one.

    Else each operation with it would find two types and convert. TypeError for types that this engine does not have.
    """
    kind = dtypes.of_array(array).numpy
    return array if array.dtype is kind else array.view(kind)


def from_numpy(array: np.ndarray) -> Tensor:
    """Return a tensor on the array's own memory: writing to one changes the other, and no version is counted.

    ValueError for an array that is walked backwards: no tensor can be.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    if any(step < 0 for step in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array  with "
            "array.copy().) "
        )
    result = new_tensor(with_known_type(dtypes.widened(array)))
    if not array.flags.writeable:
        messages.warn_once(READ_ONLY_ARRAY, stacklevel=2)
    if state.inference:
        meta_of(result).inference = True
    return result


def sizes_from(sizes: tuple) -> tuple:
    """Return a shape from `(2, 3)` or `((2, 3),)`."""
    if len(sizes) == 1 and type(sizes[0]) is not int and not isinstance(sizes[0], np.integer | Tensor):
        sizes = sizes[0]
    try:
        return tuple([operator.index(n) for n in sizes])
    except TypeError:
        wrong = next((n for n in sizes if not hasattr(n, "__index__")), None) if hasattr(sizes, "__iter__") else sizes
        raise TypeError(f"argument 'size' must be tuple of ints, not {type(wrong).__name__}") from None


def shape_from(sizes: tuple) -> tuple:
    """Return the shape of new memory; RuntimeError when a dimension is negative."""
    sizes = sizes_from(sizes)
    for n in sizes:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(sizes)}")
    return sizes


def zeros(
    *sizes, size: Sizes | None = None, dtype: dtypes.dtype | None = None, device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return zeros of the given shape, float32 unless told otherwise."""
    size = shape_from(sizes if size is None else (size,))
    return finish(np.zeros(size, numpy_type(dtype)), dtype, requires_grad, device)


def ones(
    *sizes, size: Sizes | None = None, dtype: dtypes.dtype | None = None, device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return ones of the given shape, float32 unless told otherwise."""
    size = shape_from(sizes if size is None else (size,))
    return finish(np.ones(size, numpy_type(dtype)), dtype, requires_grad, device)


def full(
    size: Sizes, fill_value: Number, *, dtype: dtypes.dtype | None = None, device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return one value everywhere; its kind decides the type unless told otherwise."""
    if isinstance(size, int):
        raise TypeError("full(): argument 'size' (position 1) must be tuple of ints, not int")
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    kind = numpy_type(dtype, dtypes.of_number(fill_value))
    return finish(np.full(shape_from((size,)), fill_value, kind), dtype, requires_grad, device)


def eye(
    n: int, m: int | None = None, *, dtype: dtypes.dtype | None = None, device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return ones on the diagonal, zeros elsewhere."""
    n, m = shape_from((n, n if m is None else m))
    return finish(np.eye(n, m, dtype=numpy_type(dtype)), dtype, requires_grad, device)


def arange(
    start: float | None = None, end: Operand | None = None, step: int = 1, *, dtype: dtypes.dtype | None = None,
    device: object = None, requires_grad: bool = False,
) -> Tensor:
    """Return start, start + step, ... up to but without end; int64 when all are integers."""
    if end is None:
        start, end = 0, start
    start, end, step = (v.item() if isinstance(v, Tensor) else v for v in (start, end, step))
    whole = all(isinstance(v, int | np.integer) for v in (start, end, step))
    kind = numpy_type(dtype, dtypes.I64 if whole else dtypes.F32)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    return finish(np.arange(start, end, step).astype(kind), dtype, requires_grad, device)


def linspace(
    start: float, end: Operand, steps: int, *, dtype: dtypes.dtype | None = None, device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return `steps` numbers from start to end, both included, at equal distances: the second half from the end."""
    kind = numpy_type(dtype)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    start, end = (kind.type(v.item() if isinstance(v, Tensor) else v) for v in (start, end))
    step = np.subtract(end, start, dtype=kind if kind.kind == "f" else dtypes.F64) / max(steps - 1, 1)
    counted = np.arange(steps)
    numbers = np.where(counted < steps // 2, start + step * counted, end - step * (steps - 1 - counted))
    return finish((numbers if steps != 1 else np.full(1, start)).astype(kind), dtype, requires_grad, device)


def layout(input: Tensor) -> str:
    """Return how NumPy shall lay out a tensor like `input`: the same way, but in rows if its elements share places."""
    return "C" if 0 in input.array.strides else "K"


def full_like(
    input: Tensor, fill_value: Number, *, dtype: dtypes.dtype | None = None, device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return one value in the shape and type of `input`."""
    filled = np.full_like(writable_array(input), fill_value, numpy_type(dtype, input.array.dtype), order=layout(input))
    return finish(filled, dtype, requires_grad, device)


def zeros_like(input: Tensor, **options) -> Tensor:
    """Return zeros in the shape and type of `input`; requires_grad is not inherited."""
    return full_like(input, 0, **options)


def ones_like(input: Tensor, **options) -> Tensor:
    """Return ones in the shape and type of `input`; requires_grad is not inherited."""
    return full_like(input, 1, **options)


empty, empty_like = zeros, zeros_like  # memory that holds zeros, so that nothing depends on chance


# --- in an old tensor's type, and as old programs write it ------------------------------------------------------


def asarray(
    obj: object, *, dtype: dtypes.dtype | None = None, device: object = None, copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """Return a tensor of what there is: without a copy, if obj is a tensor or array of that dtype, unless copy=True."""
    result = as_tensor(obj, dtype, device)
    result = result.clone() if copy else result
    return result if requires_grad in (None, result.requires_grad) else result.detach().requires_grad_(requires_grad)


def new(input: Tensor, *data, device: object = None) -> Tensor:
    """Return a tensor in this one's dtype: from a sequence or a tensor, or of a shape given by numbers, of zeros."""
    return legacy_tensor(input.dtype, data, device)


def legacy_tensor(dtype: dtypes.dtype, data: object, device: object = None) -> Tensor:
    """Return what torch.Tensor(...) and `new` make."""
    if len(data) == 1 and isinstance(data[0], Tensor):
        return rows.alias(data[0])
    if len(data) == 1 and isinstance(data[0], float | bool | None):
        raise TypeError(f"new(): data must be a sequence (got {type(data[0]).__name__})")
    if len(data) == 1 and type(data[0]) not in (int, Size):
        return tensor(data[0], dtype=dtype, device=device)
    return empty(*(data or (0,)), dtype=dtype, device=device)


def _constructor(cls, *data):
    """Return `torch.Tensor([1, 2])`, as old programs write it: float numbers from a sequence, or memory of a shape."""
    if cls is not Tensor:
        raise errors.not_supported("subclasses of Tensor", "Write a function of tensors, or a Module that holds them.")
    return legacy_tensor(dtypes.default, data)


Tensor.__new__ = _constructor


# --- random ------------------------------------------------------------------------------------------------


def source_of(generator: object = None) -> tuple:
    """Return the module that draws, and a source of random numbers, or the one that all share."""
    from course_lib.surface import generator as sources  # here, because not every program draws

    return sources, sources.source_of(generator)


def even_values(input: Tensor, low: float, high: float, generator: object = None) -> np.ndarray:
    """Return an array of numbers spread evenly over [low, high), to be written over `input`."""
    floating("check_uniform_bounds", input.dtype)
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    (draw, source), like = source_of(generator), writable_array(input)
    low, high = like.dtype.type(low), like.dtype.type(high)
    return draw.in_memory_order(draw.fractions(source, like.size, like.dtype) * (high - low) + low, like)


def normal_values(input: Tensor, mean: float, std: float, generator: object = None) -> np.ndarray:
    """Return an array of normal numbers, to be written over `input`."""
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    floating("normal_kernel_cpu", input.dtype)
    (draw, source), like = source_of(generator), writable_array(input)
    drawn = draw.normals(source, like.size, like.dtype, like.flags.c_contiguous)
    return draw.in_memory_order(drawn * like.dtype.type(std) + like.dtype.type(mean), like)


def manual_seed(seed: int) -> object:
    """Begin the random numbers of the shared source anew: the same as PyTorch's, for the same seed."""
    return source_of()[1].manual_seed(int(seed))


def floating(kernel: str, dtype: dtypes.dtype | None) -> np.dtype:
    """Return the NumPy type for random numbers; NotImplementedError for integers, in the words of PyTorch's kernels."""
    kind = numpy_type(dtype)
    if kind.kind != "f":
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtypes.FROM_NUMPY[kind].title}'")
    return kind


def randn(
    *sizes, size: Sizes | None = None, generator: object = None, dtype: dtypes.dtype | None = None,
    device: object = None, requires_grad: bool = False,
) -> Tensor:
    """Return normal random numbers with mean 0 and standard deviation 1."""
    size = shape_from(sizes if size is None else (size,))
    kind, (draw, source) = floating("normal_kernel_cpu", dtype), source_of(generator)
    return finish(draw.normals(source, math.prod(size), kind, True).reshape(size), dtype, requires_grad, device)


def rand(
    *sizes, size: Sizes | None = None, generator: object = None, dtype: dtypes.dtype | None = None,
    device: object = None, requires_grad: bool = False,
) -> Tensor:
    """Return random numbers spread evenly over [0, 1)."""
    size = shape_from(sizes if size is None else (size,))
    kind, (draw, source) = floating("check_uniform_bounds", dtype), source_of(generator)
    return finish(draw.fractions(source, math.prod(size), kind).reshape(size), dtype, requires_grad, device)


def randint(
    low: int, high: int | tuple | None = None, size: Sizes | None = None, *, generator: object = None,
    dtype: dtypes.dtype | None = None, device: object = None, requires_grad: bool = False,
) -> Tensor:
    """Return random integers from low up to but without high."""
    if size is None:
        low, high, size = 0, low, high
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    size, (draw, source) = shape_from((size,)), source_of(generator)
    drawn = draw.whole_numbers(source, math.prod(size), operator.index(low), operator.index(high)).reshape(size)
    return finish(drawn, dtype or dtypes.int64, requires_grad, device)


def randperm(
    n: int, *, generator: object = None, dtype: dtypes.dtype | None = None, device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the numbers 0 to n - 1 in random order."""
    draw, source = source_of(generator)
    return finish(draw.permutation(source, *shape_from((n,))), dtype or dtypes.int64, requires_grad, device)


def randn_like(
    input: Tensor, *, generator: object = None, dtype: dtypes.dtype | None = None, device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return normal random numbers in the shape and type of `input`, laid out like it."""
    return finish(normal_values(zeros_like(input, dtype=dtype), 0, 1, generator), None, requires_grad, device)


def rand_like(
    input: Tensor, *, generator: object = None, dtype: dtypes.dtype | None = None, device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return random numbers in [0, 1) in the shape and type of `input`, laid out like it."""
    return finish(even_values(zeros_like(input, dtype=dtype), 0, 1, generator), None, requires_grad, device)
