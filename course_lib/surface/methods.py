"""The operators and methods of Tensor that compute: attached to the class, row by row and function by function.

PyTorch: torch/_tensor.py, torch/csrc/autograd/generated/python_variable_methods.cpp.
"""

import functools
from collections.abc import Callable

import numpy as np

from course_lib.arrays import dtypes, errors, kernels, messages
from course_lib.arrays.memory import packed_strides, strides_of
from course_lib.arrays.messages import type_name, warn_once
from course_lib.engine import grad_mode, views
from course_lib.engine.arguments import dimension, number, number_of, tensor_argument
from course_lib.engine.build import rows
from course_lib.engine.graph import AccumulateGrad, Node
from course_lib.engine.ops import ROWS
from course_lib.engine.tensor import Tensor, writable_array
from course_lib.engine.views import requires_grad
from course_lib.surface import copying, creation, derivatives, functions, indexing, left_out  # noqa: F401
from course_lib.surface.device import device, strided
from course_lib.surface.parsing import with_argument_errors

state = grad_mode.state
DEVICE = device


def method(function: Callable) -> Callable:
    """Make a function a method of Tensor, under its own name."""
    function.__qualname__ = f"Tensor.{function.__name__}"
    setattr(Tensor, function.__name__, function)
    return function


# --- operations of the table -------------------------------------------------------------------------------


class Attached:
    """Stands on Tensor for a method until it is first used: then its parser is written, and the operation of a row.

    home: where its function is found by name: `rows`, `functions`, or `creation`.
    """

    __slots__ = ("attribute", "home", "function")

    def __init__(self, attribute, home, function):
        self.attribute, self.home, self.function = attribute, home, function

    def __get__(self, tensor, cls):
        function = getattr(self.home, self.function)
        if self.attribute[0] != "_":  # operators leave what they cannot take to the other side
            function = with_argument_errors(function, self.attribute, method=True)
        setattr(Tensor, self.attribute, function)
        return function if tensor is None else function.__get__(tensor, cls)


FUNCTION_METHODS = """
    add sub mul div pow square clamp clip round add_ sub_ div_ pow_ clamp_
    eq ne lt le gt ge logical_not isnan isinf isfinite equal isclose allclose
    sum mean max min argmax argmin all any softmax log_softmax prod var std norm amax amin logsumexp cumsum cumprod
    sort argsort topk nonzero
    mm mv dot bmm addmm matmul outer inner trace
    view reshape flatten t permute squeeze expand select unbind as_strided
    narrow diagonal split chunk repeat flip roll ravel masked_select index_put_ t_ transpose_ unsqueeze_ squeeze_ set_
    uniform_ normal_ bernoulli_ multinomial
""".split()
OPERATORS = {
    "__pow__": "pow", "__ipow__": "pow_", "__matmul__": "matmul",
    "__eq__": "eq", "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge",
    "__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor", "__rand__": "bitwise_and",
    "__ror__": "bitwise_or", "__rxor__": "bitwise_xor", "__iand__": "bitwise_and_", "__ior__": "bitwise_or_",
    "__ixor__": "bitwise_xor_",
}  # fmt: skip

for _row in ROWS.values():
    for _name, _function in _row.methods.items():
        setattr(Tensor, _name, Attached(_name, rows, _function))
for _name in (*FUNCTION_METHODS, *OPERATORS):
    setattr(Tensor, _name, Attached(_name, functions, OPERATORS.get(_name, _name)))
Tensor.new = Attached("new", creation, "new")
Tensor.__getitem__, Tensor.__setitem__ = indexing.getitem, indexing.setitem
for _function in (copying.__reduce_ex__, copying.__deepcopy__, copying.__copy__):
    setattr(Tensor, _function.__name__, _function)


# --- methods that take more than a row or a function --------------------------------------------------------


class _Methods:
    """Methods of Tensor, which get onto it below: `x.item??` shows them."""

    # Operators with a number on the left, and Python's own functions

    def __rsub__(self, other):
        if not isinstance(other, int | float | np.number | np.bool_):
            return NotImplemented
        other = number_of(other)
        kernels.check_difference(other, self.array)
        if isinstance(other, float) and self.array.dtype.kind != "f":
            self = self.to(dtypes.default)
        return rows.rsub(self, other)

    def __rtruediv__(self, other):
        return rows.mul(rows.reciprocal(self), other)

    def __rpow__(self, other):
        return functions.pow(number_of(other), self) if isinstance(other, int | float | np.generic) else NotImplemented

    def __rmatmul__(self, other):
        return functions.matmul(creation.as_tensor(other), self)

    def __rfloordiv__(self, other):
        return rows.floor_divide(number(other, self), self)

    def __rmod__(self, other):
        return rows.remainder(number(other, self.detach()), self.detach())  # as in PyTorch: no gradient

    def __invert__(self):
        if self.array.dtype.kind == "f":
            raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
        return functions.without_gradient(np.invert(self.array))

    def __pos__(self):
        return self

    def __iter__(self):
        if self.array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(functions.unbind(self, 0))

    def __reversed__(self):
        return functions.flip(self, 0) if self.array.ndim else self

    def __contains__(self, value):
        return bool(np.any(self.array == getattr(value, "array", value)))

    def __len__(self):
        if self.array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return len(self.array)

    def __bool__(self):
        if self.array.size != 1:
            what = "no values" if self.array.size == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
        return bool(self.array.item())

    def _as_scalar(self, warns=True):
        if warns and state.grad_enabled and self.requires_grad:
            warn_once(messages.SCALAR_OF_GRAD, stacklevel=3)
        if self.array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def __float__(self):
        return float(self._as_scalar())

    def __int__(self):
        return int(self._as_scalar(warns=False))

    def __index__(self):
        if self.array.dtype.kind not in "ib" or self.array.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.array.item())

    def __format__(self, spec):
        if self.array.ndim == 0 and type(self) is Tensor:
            return format(self.item(), spec)
        return object.__format__(self, spec)

    def __dir__(self):
        return sorted({*object.__dir__(self)}.difference(left_out.left_out("torch.Tensor")))

    # --- shape

    def size(self, dim: int | None = None) -> tuple | int:
        """Return the shape, or the length of one dimension."""
        return self.shape if dim is None else self.array.shape[dimension(self, dim)]

    def stride(self, dim: int | None = None) -> int | tuple:
        """Return how many elements to step over to get to the next one, for each dimension."""
        strides = strides_of(writable_array(self)) if self.array.size else packed_strides(self.array.shape)
        return strides if dim is None else strides[dimension(self, dim)]

    def dim(self) -> int:
        """Return the number of dimensions."""
        return self.array.ndim

    def numel(self) -> int:
        """Return the number of elements."""
        return self.array.size

    def element_size(self) -> int:
        """Return the bytes of one element."""
        return self.array.itemsize

    def view_as(self, other: Tensor) -> Tensor:
        """View the tensor in the shape of another."""
        return functions.view(self, other.shape)

    def expand_as(self, other: Tensor) -> Tensor:
        """Expand the tensor to the shape of another."""
        return functions.expand(self, other.shape)

    def where(self, condition: Tensor, other: Tensor) -> Tensor:
        """Take the tensor's elements where the condition holds, those of another elsewhere."""
        return functions.where(tensor_argument("where", "condition", condition), self, other)

    def contiguous(self) -> Tensor:
        """Return the tensor itself if its memory is in row-major order, otherwise a copy that is."""
        if writable_array(self).flags.c_contiguous:
            return self
        return rows.clone_contiguous(self)

    # --- type

    def to(
        self, *args, dtype: dtypes.dtype | None = None, device: object = None, copy: "bool" = False,
        non_blocking: "bool" = False,
    ) -> Tensor:
        """Return the tensor in another dtype: itself if it has it already. RuntimeError for any device but the CPU."""
        copy = copy or [argument for argument in args if isinstance(argument, bool)][1:] == [True]
        for argument in args:
            if isinstance(argument, dtypes.dtype | type):
                dtype = argument
            elif isinstance(argument, Tensor):
                dtype = argument.dtype
            elif isinstance(argument, str | DEVICE):
                device = argument
            elif argument is not None and not isinstance(argument, bool):
                raise TypeError(functions.wrong_form("to", argument))
        if device is not None and str(device) != "cpu":
            raise errors.not_supported(f"the device {str(device)!r}", "Everything is computed on the CPU.")
        kind = creation.numpy_type(dtype, self.array.dtype)
        if kind == self.array.dtype and not copy:
            return self
        if kind.kind != "f":
            self = self.detach()  # no gradient leads back from integers, and nothing is recorded
        return rows.to_copy(self, kind)

    def type(self, dtype: dtypes.dtype | None = None) -> Tensor | str:
        """Return the old-style type name, such as 'torch.FloatTensor'; with a dtype, the tensor converted to it."""
        if dtype is None:
            return self.dtype.tensor_type
        named = {each.tensor_type: each for each in dtypes.FROM_NUMPY.values()}
        return self.to(named.get(dtype, dtype))

    def is_floating_point(self) -> "bool":
        """Return True for float32 and float64."""
        return self.array.dtype.kind == "f"

    def float(self) -> Tensor:
        """Return the tensor as float32: itself when it already is."""
        return self.to(dtypes.float32)

    def double(self) -> Tensor:
        """Return the tensor as float64: itself when it already is."""
        return self.to(dtypes.float64)

    def long(self) -> Tensor:
        """Return the tensor as int64: itself when it already is."""
        return self.to(dtypes.int64)

    def bool(self) -> Tensor:
        """Return the tensor as bool: itself when it already is."""
        return self.to(dtypes.bool_)

    def cpu(self) -> Tensor:
        """Return the tensor itself: everything is on the CPU."""
        return self

    # --- to Python and NumPy, and back

    def item(self) -> "float":
        """Return the one element as a Python number; RuntimeError when there is not exactly one."""
        if self.array.size != 1:
            raise RuntimeError(f"a Tensor with {self.array.size} elements cannot be converted to Scalar")
        return self.array.item()

    def tolist(self) -> "float | list":
        """Return nested lists of Python numbers."""
        return self.array.tolist()

    def numpy(self, *, force: "bool" = False) -> np.ndarray:
        """Return the tensor's memory as a NumPy array: writes are not counted. RuntimeError if it requires grad."""
        if requires_grad(self) and state.grad_enabled:
            if not force:
                raise RuntimeError(messages.NUMPY_OF_GRAD)
            return np.array(self.array)
        return writable_array(self).view()

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __array_wrap__(self, array, *_):
        return creation.from_numpy(np.asarray(array))

    def copy_(self, src: Tensor, non_blocking: "bool" = False) -> Tensor:
        """Overwrite the tensor with the elements of another, which may be narrower or of another type."""
        if not isinstance(src, Tensor):
            if not isinstance(src, int | float | np.generic):
                raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {type_name(src)}")
            src = creation.tensor(src)
        return rows.copy_(self, src)


for _function in filter(callable, vars(_Methods).values()):
    method(_function)

Tensor.T = property(lambda self: reversed_dims(self))
Tensor.mT = property(lambda self: functions.mT(self))
Tensor.is_cpu, Tensor.is_cuda, Tensor.is_sparse = True, False, False
Tensor.layout = strided
Tensor.ndim = property(lambda self: self.array.ndim)
Tensor.nbytes = property(lambda self: self.array.nbytes)
Tensor.itemsize = property(lambda self: self.array.itemsize)
Tensor.device = property(lambda self: device("cpu"))


def reversed_dims(tensor: Tensor) -> Tensor:
    """Return all dimensions in reverse order, the old meaning of `.T`."""
    if tensor.array.ndim != 2:
        text = "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated"
        warn_once(f"{text}. Consider `x.mT` to transpose batches of matrices, or `x.permute(...)`.", stacklevel=3)
    return rows.permute(tensor, tuple(range(tensor.array.ndim))[::-1])


def _new(name):
    def new(self, *args, dtype=None, **options):
        return getattr(creation, name)(*args, dtype=dtype or self.dtype, **options)

    new.__doc__ = f"Call torch.{name} with this tensor's type, unless told otherwise."
    new.__name__, new.__qualname__ = f"new_{name}", f"Tensor.new_{name}"
    setattr(Tensor, f"new_{name}", new)


for _name in ("zeros", "ones", "full", "empty", "tensor"):
    _new(_name)


# --- what is not here, and what cannot be assigned ----------------------------------------------------------


class LeftOut:
    """Stands on Tensor for a method of PyTorch's that is left out: who asks reads what to do; hasattr() is False.

    Not one `__getattr__` for all of them: Python 3.11 reads every field of a class with one in three times the time.
    """

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __get__(self, tensor, cls):
        raise left_out.missing("torch.Tensor", self.name)


for _name in left_out.left_out("torch.Tensor"):
    setattr(Tensor, _name, LeftOut(_name))


def make_facts_read_only() -> None:
    """Refuse to assign what is true of a tensor or a node: give each property without a setter one that raises.

    (Any other name can: tensors take attributes of the user's own, a misspelt one, too. PyTorch's do.)
    """
    AccumulateGrad.__module__ = views.CopySlices.__module__ = "builtins"  # shown like all nodes: build.py
    for cls in (Tensor, Node):
        for name, value in list(vars(cls).items()):
            if type(value) is property and value.fset is None and name != "_backward_hooks":
                refuse = functools.partial(refuse_assignment, name)
                setattr(cls, name, value.setter(refuse).deleter(refuse))


def refuse_assignment(name: str, owner: Tensor, value: int | None = None) -> None:
    """Raise AttributeError in the words that C has for it."""
    base = "TensorBase" if isinstance(owner, Tensor) else "_FunctionBase" if hasattr(owner, "_function") else None
    kind = f"torch._C.{base}" if base else type(owner).__name__
    raise AttributeError(f"attribute '{name}' of '{kind}' objects is not writable")
