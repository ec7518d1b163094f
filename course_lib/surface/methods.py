"""The operators and methods of Tensor that compute: attached to the class, row by row and function by function.

PyTorch: torch/_tensor.py, torch/csrc/autograd/generated/python_variable_methods.cpp.
"""

import functools

import numpy as np

from course_lib.arrays import dtypes, errors, kernels, messages
from course_lib.arrays.memory import packed_strides, strides_of
from course_lib.arrays.messages import type_name, warn_once
from course_lib.engine import grad_mode, views
from course_lib.engine.arguments import dimension, number, number_of, tensor_argument
from course_lib.engine.build import rows
from course_lib.engine.graph import AccumulateGrad, Node
from course_lib.engine.tensor import Tensor, writable_array
from course_lib.engine.views import requires_grad
from course_lib.surface import copying, creation, functions, indexing, left_out
from course_lib.surface.device import device, strided
from course_lib.surface.parsing import with_argument_errors

state = grad_mode.state
DEVICE = device


def method(name=None, into=Tensor):
    """Attach a function to Tensor under its own name or another."""

    def attach(function):
        setattr(into, name or function.__name__, function)
        return function

    return attach


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


ROW_METHODS = """
    neg reciprocal addcmul addcdiv exp log log1p sqrt rsqrt sin cos tan tanh sigmoid relu abs erf sign floor ceil
    maximum minimum hypot triu tril clamp_min clamp_max remainder floor_divide
    transpose unsqueeze index_select gather masked_fill scatter scatter_add index_add
    mul_ neg_ reciprocal_ addcmul_ addcdiv_ exp_ sqrt_ sin_ tanh_ sigmoid_ relu_ abs_ floor_ round_ zero_ fill_
    lerp_ clamp_min_ masked_fill_ scatter_ scatter_add_ index_add_
""".split()
ROW_OPERATORS = {
    "__add__": "add", "__radd__": "add", "__iadd__": "add_", "__sub__": "sub", "__isub__": "sub_",
    "__mul__": "mul", "__rmul__": "mul", "__imul__": "mul_", "__truediv__": "div", "__itruediv__": "div_",
    "__neg__": "neg", "__abs__": "abs", "__mod__": "remainder", "__imod__": "remainder_",
    "__floordiv__": "floor_divide", "__ifloordiv__": "floor_divide_", "swapaxes": "transpose",
}  # fmt: skip
FUNCTION_METHODS = """
    add sub mul div pow square clamp clip round add_ sub_ div_ pow_ clamp_
    eq ne lt le gt ge lt_ logical_not isnan isinf isfinite equal isclose allclose is_nonzero
    sum mean max min argmax argmin all any softmax log_softmax prod var std norm amax amin logsumexp cumsum cumprod
    sort argsort topk median nonzero unique
    mm mv dot bmm addmm matmul outer inner trace
    view reshape flatten t permute squeeze expand select unbind as_strided unfold sum_to_size
    unflatten movedim tile narrow diagonal split chunk repeat repeat_interleave flip roll ravel
    masked_select index_fill_ index_copy_ index_put_ t_ transpose_ unsqueeze_ squeeze_ set_
    uniform_ normal_ random_ bernoulli_ multinomial exponential_
""".split()
OPERATORS = {
    "__pow__": "pow", "__ipow__": "pow_", "__matmul__": "matmul",
    "__eq__": "eq", "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge",
    "__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor", "__rand__": "bitwise_and",
    "__ror__": "bitwise_or", "__rxor__": "bitwise_xor", "__iand__": "bitwise_and_", "__ior__": "bitwise_or_",
    "__ixor__": "bitwise_xor_",
}  # fmt: skip

for _home, _names in ((rows, ROW_METHODS), (functions, FUNCTION_METHODS), (creation, ["new"])):
    for _name in _names:
        setattr(Tensor, _name, Attached(_name, _home, _name))
for _home, _pairs in ((rows, ROW_OPERATORS), (functions, OPERATORS)):
    for _name, _function in _pairs.items():
        setattr(Tensor, _name, Attached(_name, _home, _function))
Tensor.__getitem__, Tensor.__setitem__ = indexing.getitem, indexing.setitem
for _function in (copying.__reduce_ex__, copying.__deepcopy__, copying.__copy__):
    setattr(Tensor, _function.__name__, _function)


@method()
def __rsub__(self, other):
    if not isinstance(other, int | float | np.number | np.bool_):
        return NotImplemented
    other = number_of(other)
    kernels.check_difference(other, self.array)
    if isinstance(other, float) and self.array.dtype.kind != "f":
        self = to(self, dtypes.default)
    return rows.rsub(self, other)


SHORT = {  # name: what it says of itself, and what it does
    "__rtruediv__": ("other / self", lambda self, other: rows.mul(rows.reciprocal(self), other)),
    "__rmatmul__": ("other @ self", lambda self, other: functions.matmul(creation.as_tensor(other), self)),
    "__rfloordiv__": ("other // self", lambda self, other: rows.floor_divide(number(other, self), self)),
    "__rmod__": (  # as PyTorch: no gradient
        "other % self", lambda self, other: rows.remainder(number(other, self.detach()), self.detach())
    ),
    "__reversed__": ("The rows from the last", lambda self: functions.flip(self, 0) if self.array.ndim else self),
    "__pos__": ("The tensor itself", lambda self: self),
    "__contains__": ("value in self", lambda self, value: bool(np.any(self.array == getattr(value, "array", value)))),
    "__float__": ("A Python number", lambda self: float(self._as_scalar())),
    "__int__": ("A Python number", lambda self: int(self._as_scalar(warns=False))),
    "__array_wrap__": ("A tensor of NumPy's result", lambda self, a, *_: creation.from_numpy(np.asarray(a))),
    "where": ("self where the condition holds, other elsewhere", lambda self, condition, other: functions.where(
        tensor_argument("where", "condition", condition), self, other
    )),
    "view_as": ("view to the shape of another tensor", lambda self, other: functions.view(self, other.shape)),
    "reshape_as": ("reshape to the shape of another tensor", lambda self, other: functions.reshape(self, other.shape)),
    "expand_as": ("expand to the shape of another tensor", lambda self, other: functions.expand(self, other.shape)),
    "dim": ("The number of dimensions", lambda self: self.array.ndim),
    "ndimension": ("The number of dimensions", lambda self: self.array.ndim),
    "numel": ("The number of elements", lambda self: self.array.size),
    "nelement": ("The number of elements", lambda self: self.array.size),
    "element_size": ("Bytes of one element", lambda self: self.array.itemsize),
    "is_floating_point": ("True for float32 and float64", lambda self: self.array.dtype.kind == "f"),
    "tolist": ("Nested lists of Python numbers", lambda self: self.array.tolist()),
    "clone": ("A copy in memory of its own that passes its gradient on", lambda self: rows.clone(self)),
    "float": ("The tensor as float32: itself when it already is", lambda self: to(self, dtypes.float32)),
    "double": ("The tensor as float64: itself when it already is", lambda self: to(self, dtypes.float64)),
    "long": ("The tensor as int64: itself when it already is", lambda self: to(self, dtypes.int64)),
    "bool": ("The tensor as bool: itself when it already is", lambda self: to(self, dtypes.bool_)),
    "type_as": ("The tensor in the dtype of another", lambda self, other: to(self, other.dtype)),
    "cpu": ("The tensor itself: everything is on the CPU", lambda self: self),
}  # fmt: skip
for _name, (_doc, _function) in SHORT.items():
    _function.__name__, _function.__qualname__, _function.__doc__ = _name, f"Tensor.{_name}", f"{_doc}."
    setattr(Tensor, _name, _function)


@method()
def __rpow__(self, other):
    return functions.pow(number_of(other), self) if isinstance(other, int | float | np.generic) else NotImplemented


@method()
def __invert__(self):
    if self.array.dtype.kind == "f":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return functions.without_gradient(np.invert(self.array))


@method()
def __iter__(self):
    if self.array.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(functions.unbind(self, 0))


@method()
def contiguous(self):
    """The tensor itself if its memory is in row-major order, otherwise a copy that is."""
    if writable_array(self).flags.c_contiguous:
        return self
    return rows.clone_contiguous(self)


Tensor.T = property(lambda self: reversed_dims(self))
Tensor.mT = property(lambda self: functions.mT(self))


def reversed_dims(tensor):
    """All dimensions in reverse order, the old meaning of `.T`."""
    if tensor.array.ndim != 2:
        text = "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated"
        warn_once(f"{text}. Consider `x.mT` to transpose batches of matrices, or `x.permute(...)`.", stacklevel=3)
    return rows.permute(tensor, tuple(range(tensor.array.ndim))[::-1])


# --- shape and type ----------------------------------------------------------------------------------------

Tensor.is_cpu, Tensor.is_cuda, Tensor.is_sparse = True, False, False
Tensor.layout = strided
Tensor.ndim = property(lambda self: self.array.ndim)
Tensor.nbytes = property(lambda self: self.array.nbytes)
Tensor.itemsize = property(lambda self: self.array.itemsize)
Tensor.device = property(lambda self: device("cpu"))


@method()
def size(self, dim=None):
    """The shape, or the length of one dimension."""
    return self.shape if dim is None else self.array.shape[dimension(self, dim)]


@method()
def stride(self, dim=None):
    """How many elements to step over to get to the next one, for each dimension."""
    strides = strides_of(writable_array(self)) if self.array.size else packed_strides(self.array.shape)
    return strides if dim is None else strides[dimension(self, dim)]


@method("type")
def type_(self, dtype=None):
    """The old-style type name, such as 'torch.FloatTensor'; with a dtype, the tensor converted to it."""
    if dtype is None:
        return self.dtype.tensor_type
    named = {each.tensor_type: each for each in dtypes.FROM_NUMPY.values()}
    return self.to(named.get(dtype, dtype))


# --- to Python ---------------------------------------------------------------------------------------------


@method()
def item(self):
    """The one element as a Python number; RuntimeError when there is not exactly one."""
    if self.array.size != 1:
        raise RuntimeError(f"a Tensor with {self.array.size} elements cannot be converted to Scalar")
    return self.array.item()


@method()
def __format__(self, spec):
    if self.array.ndim == 0 and type(self) is Tensor:
        return format(self.item(), spec)
    return object.__format__(self, spec)


@method()
def __len__(self):
    if self.array.ndim == 0:
        raise TypeError("len() of a 0-d tensor")
    return len(self.array)


@method()
def __bool__(self):
    if self.array.size != 1:
        what = "no values" if self.array.size == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
    return bool(self.array.item())


@method()
def _as_scalar(self, warns=True):
    if warns and state.grad_enabled and self.requires_grad:
        warn_once(messages.SCALAR_OF_GRAD, stacklevel=3)
    if self.array.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return self.item()


@method()
def __index__(self):
    if self.array.dtype.kind not in "ib" or self.array.size != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(self.array.item())


# --- types -------------------------------------------------------------------------------------------------


@method()
def to(self, *args, dtype=None, device=None, copy=False, non_blocking=False):
    """The tensor in another dtype: itself when it already has it. RuntimeError for any device but the CPU."""
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


@method("__dir__")
def names(self):
    """What a tensor has, for completion: not what is left out."""
    return sorted({*object.__dir__(self)}.difference(left_out.left_out("torch.Tensor")))


def _new(name):
    def new(self, *args, dtype=None, **options):
        return getattr(creation, name)(*args, dtype=dtype or self.dtype, **options)

    new.__doc__ = f"torch.{name} in this tensor's type, unless told otherwise."
    method(f"new_{name}")(new)


for _name in ("zeros", "ones", "full", "empty", "tensor"):
    _new(_name)


@method()
def numpy(self, *, force=False):
    """The tensor's memory as a NumPy array: writes to it are not counted. RuntimeError if it requires grad."""
    if requires_grad(self) and state.grad_enabled:
        if not force:
            raise RuntimeError(messages.NUMPY_OF_GRAD)
        return np.array(self.array)
    return writable_array(self).view()


@method()
def __array__(self, dtype=None, copy=None):
    array = numpy(self)
    return array if dtype is None else array.astype(dtype, copy=False)


# --- writing in place --------------------------------------------------------------------------------------


@method()
def copy_(self, src, non_blocking=False):
    """Overwrite the tensor with the elements of another, which may be narrower or of another type."""
    if not isinstance(src, Tensor):
        if not isinstance(src, int | float | np.generic):
            raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {type_name(src)}")
        src = creation.tensor(src)
    return rows.copy_(self, src)


# --- attributes ------------------------------------------------------------------------------------------------


def make_facts_read_only():
    """What is true of a tensor or a node cannot be assigned: a word on it from each property without a setter.

    (Any other name can: tensors take attributes of the user's own, a misspelt one, too. PyTorch's do.)
    """
    AccumulateGrad.__module__ = views.CopySlices.__module__ = "builtins"  # shown like all nodes: build.py
    for cls in (Tensor, Node):
        for name, value in list(vars(cls).items()):
            if type(value) is property and value.fset is None and name != "_backward_hooks":
                refuse = functools.partial(refuse_assignment, name)
                setattr(cls, name, value.setter(refuse).deleter(refuse))


def refuse_assignment(name, owner, value=None):
    """AttributeError in the words that C has for it."""
    base = "TensorBase" if isinstance(owner, Tensor) else "_FunctionBase" if hasattr(owner, "_function") else None
    kind = f"torch._C.{base}" if base else type(owner).__name__
    raise AttributeError(f"attribute '{name}' of '{kind}' objects is not writable")
