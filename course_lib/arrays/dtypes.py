"""The element types and PyTorch's rules for mixing them.

PyTorch: c10/core/ScalarType.h, aten/src/ATen/native/TypeProperties.cpp (result_type).

NumPy's rules are different: there float32 and int64 make float64. So types are decided here, before NumPy computes:

    float32 vector * float64 number without dimensions   float32    the number only counts by its kind
    float32 vector * 2.5                                 float32
    int64 vector * 2.5                                   float32    the default floating type
    float32 vector * float64 vector                      float64
    bool vector * True                                   bool
"""

import numpy as np


class dtype:
    """An element type. `name` is PyTorch's, `numpy` the NumPy type the elements are stored as."""

    def __init__(self, name, numpy, title, c_name, tensor_type, is_floating_point=False):
        self.name = name
        self.numpy = np.dtype(numpy)
        self.title = title  # how C++ messages write it: Float, Double, Long, Bool
        self.c_name = c_name  # how other messages write it: float, double, long int, bool
        self.tensor_type = tensor_type  # how version errors and tensor.type() write it
        self.is_floating_point = is_floating_point
        self.is_complex, self.is_signed, self.itemsize = False, name != "bool", self.numpy.itemsize

    def __repr__(self):
        return f"torch.{self.name}"  # so that swapped notebooks print the same

    def __reduce__(self):
        return "bool_" if self.name == "bool" else self.name  # under which name pickle finds it in this file


float32 = dtype("float32", "float32", "Float", "float", "torch.FloatTensor", is_floating_point=True)
float64 = dtype("float64", "float64", "Double", "double", "torch.DoubleTensor", is_floating_point=True)
int64 = dtype("int64", "int64", "Long", "long int", "torch.LongTensor")
bool_ = dtype("bool", "bool", "Bool", "bool", "torch.BoolTensor")

default = float32
PYTHON = {float: float64, int: int64, bool: bool_}  # Python's types, where a dtype is asked for
FROM_NUMPY = {t.numpy: t for t in (float32, float64, int64, bool_)}
F32, F64, I64, BOOL = float32.numpy, float64.numpy, int64.numpy, bool_.numpy
KIND = {BOOL: 0, I64: 1, F32: 2, F64: 2}  # bool < integer < floating: the kinds that promotion climbs


# Python in a browser is a program of 32 bits: NumPy's own integers (places, counts, a sum of bools) have 32 there.
NARROW = np.dtype(np.intp) != I64


def widened(array: np.ndarray) -> np.ndarray:
    """Return the array, or a copy in int64 if NumPy chose 32 bits for its integers and PyTorch would have chosen 64."""
    return array.astype(I64) if NARROW and array.dtype == np.int32 else array


def of_array(array: np.ndarray) -> dtype:
    """Return the dtype of a NumPy array or scalar; TypeError for an element type this engine does not have."""
    found = FROM_NUMPY.get(array.dtype)
    if found is None:
        raise TypeError(
            f"elements of type {array.dtype} are not supported: this engine has float32, float64, int64 and "
            "bool. Convert the data first, for example with array.astype('float32')."
        )
    return found


def of_number(number: float) -> np.dtype:
    """Return the NumPy type that a Python number promotes as: its kind decides, never its size."""
    if isinstance(number, bool | np.bool_):
        return BOOL
    return I64 if isinstance(number, int | np.integer) else F32


def result_type(operands: list) -> np.dtype:
    """Return the NumPy type of a result, from (type, rank) pairs; rank 2 is a tensor, 1 a 0-d tensor, 0 a number.

    The highest kind (bool, integer, floating) wins. Within that kind only operands of the highest rank count:
    so a 0-d float64 tensor, or the Python number 2.5, does not widen a float32 vector, but a float64 vector
    does. An integer tensor with a floating number becomes float32, the default.
    """
    kind = max(KIND[t] for t, _ in operands)
    rank = max(r for t, r in operands if KIND[t] == kind)
    types = {t for t, r in operands if KIND[t] == kind and r == rank}
    return F64 if F64 in types else types.pop()
