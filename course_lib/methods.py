"""The operators and methods of Tensor, attached last: everything below works without them.

PyTorch: torch/_tensor.py, torch/csrc/autograd/python_variable.cpp.
"""

import warnings
import weakref

import numpy as np

from course_lib import composites, creation, dtypes, errors, grad_mode, indexing, views
from course_lib.graph import RemovableHandle, hooks_of, require_grad
from course_lib.ops import ROWS, build, rename_node, rows
from course_lib.tensor import Tensor, alias, counter_of, memory_of, meta_of, new_tensor
from course_lib.views import gradient_edge, requires_grad

state = grad_mode.state


def method(name=None, into=Tensor):
    """Attach a function to Tensor under its own name or another."""

    def attach(function):
        setattr(into, name or function.__name__, function)
        return function

    return attach


# --- operations of the table -------------------------------------------------------------------------------


class LazyOperation:
    """Stands in for an operation on Tensor until it is first used; then its source is written: ops.py."""

    def __init__(self, attribute, operation):
        self.attribute, self.operation = attribute, operation

    def __get__(self, tensor, cls):
        function = build(self.operation)
        setattr(Tensor, self.attribute, function)
        return function if tensor is None else function.__get__(tensor, cls)


ROW_METHODS = """
    neg reciprocal lerp addcmul addcdiv exp expm1 log log1p log2 sqrt rsqrt sin cos tan asin acos atan sinh
    cosh tanh sigmoid relu abs erf sign floor ceil round trunc maximum minimum masked_fill triu tril masked_select
""".split()
ROW_OPERATORS = {
    "__add__": "add", "__radd__": "add", "__iadd__": "add_", "__sub__": "sub", "__isub__": "sub_",
    "__mul__": "mul", "__rmul__": "mul", "__imul__": "mul_", "__truediv__": "div", "__itruediv__": "div_",
    "__neg__": "neg", "__abs__": "abs", "absolute": "abs", "negative": "neg",
}  # fmt: skip

for _name in ROW_METHODS:
    setattr(Tensor, _name, LazyOperation(_name, _name))
for _name, _row in ROWS.items():
    if _row.in_place:
        setattr(Tensor, _name + "_", LazyOperation(_name + "_", _name + "_"))
for _name, _operation in ROW_OPERATORS.items():
    setattr(Tensor, _name, LazyOperation(_name, _operation))

COMPOSITE_METHODS = """
    add sub mul div pow remainder square clamp sum mean prod var std norm max min amax amin argmax argmin all any
    logsumexp cumsum cumprod softmax log_softmax sort argsort topk mm mv dot bmm addmm matmul outer inner view reshape
    flatten t
    transpose permute unsqueeze squeeze expand select narrow diagonal unbind split chunk repeat flip index_select
    gather scatter_add index_add eq ne lt le gt ge logical_not isnan isinf isfinite equal allclose
    add_ sub_ mul_ div_ pow_ remainder_
""".split()

for _name in COMPOSITE_METHODS:
    setattr(Tensor, _name, getattr(composites, _name))

Tensor.subtract, Tensor.multiply, Tensor.divide, Tensor.true_divide = (
    composites.sub, composites.mul, composites.div, composites.div,
)
Tensor.swapaxes = composites.transpose
Tensor.__eq__, Tensor.__ne__ = composites.eq, composites.ne
Tensor.__lt__, Tensor.__le__ = composites.lt, composites.le
Tensor.__gt__, Tensor.__ge__ = composites.gt, composites.ge
Tensor.__and__, Tensor.__or__, Tensor.__xor__ = (
    composites.bitwise_and, composites.bitwise_or, composites.bitwise_xor,
)
Tensor.__rand__, Tensor.__ror__, Tensor.__rxor__ = Tensor.__and__, Tensor.__or__, Tensor.__xor__
Tensor.__getitem__, Tensor.__setitem__ = indexing.getitem, indexing.setitem
Tensor.__pow__, Tensor.__matmul__, Tensor.__ipow__ = composites.pow, composites.matmul, composites.pow_




@method()
def __rsub__(self, other):
    if not isinstance(other, int | float | np.number):
        return NotImplemented
    if isinstance(other, float) and self.array.dtype.kind != "f":
        self = to(self, dtypes.default)
    return rows.rsub(self, other)


@method()
def __rtruediv__(self, other):
    return rows.mul(rows.reciprocal(self), other)


@method()
def __rpow__(self, other):
    return composites.pow(other, self)


@method()
def __rmatmul__(self, other):
    return composites.matmul(creation.tensor(other), self)


@method()
def __floordiv__(self, other):
    return composites.div(self, other, rounding_mode="floor")


@method()
def __mod__(self, other):
    return composites.remainder(self, other)


@method()
def __invert__(self):
    if self.array.dtype.kind == "f":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return new_tensor(np.invert(self.array))


@method()
def __pos__(self):
    return self


@method()
def __iter__(self):
    if self.array.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(composites.unbind(self, 0))


@method()
def __contains__(self, value):
    return bool(np.any(self.array == getattr(value, "array", value)))


@method()
def where(self, condition, other):
    """self where the condition holds, other elsewhere."""
    return composites.where(condition, self, other)


@method()
def view_as(self, other):
    """The same memory in the shape of another tensor."""
    return composites.view(self, other.array.shape)


@method()
def reshape_as(self, other):
    """The elements in the shape of another tensor."""
    return composites.reshape(self, other.array.shape)


@method()
def expand_as(self, other):
    """The tensor seen in the shape of another."""
    return composites.expand(self, other.array.shape)


@method()
def contiguous(self):
    """The tensor itself if its memory is in row-major order, otherwise a copy that is."""
    if memory_of(self).flags.c_contiguous:
        return self
    return rows.clone_contiguous(self)


Tensor.T = property(lambda self: reversed_dims(self))
Tensor.mT = property(composites.mT)


def reversed_dims(tensor):
    """All dimensions in reverse order, the old meaning of `.T`."""
    return rows.permute(tensor, tuple(range(tensor.array.ndim))[::-1])


# --- types -------------------------------------------------------------------------------------------------


@method()
def clone(self, *, memory_format=None):
    """A copy in memory of its own, with a counter of its own, that passes its gradient on."""
    return rows.clone(self)


@method()
def to(self, *args, dtype=None, device=None, copy=False, non_blocking=False):
    """The tensor in another dtype: itself when it already has it. RuntimeError for any device but the CPU."""
    for argument in args:
        if isinstance(argument, dtypes.dtype):
            dtype = argument
        elif isinstance(argument, Tensor):
            dtype = argument.dtype
        elif not isinstance(argument, bool):
            device = argument
    if device is not None and str(device) != "cpu":
        raise errors.not_supported(f"the device {str(device)!r}", "Everything is computed on the CPU.")
    if dtype is None or dtype is self.dtype:
        return rows.clone(self) if copy else self
    if not dtype.is_floating_point:
        self = self.detach()  # no gradient leads back from integers, and nothing is recorded
    return rows.to_copy(self, dtype.numpy)


def _converter(name, dtype):
    def convert(self):
        return to(self, dtype)

    convert.__name__ = name
    convert.__doc__ = f"The tensor as {dtype.name}: itself when it already is."
    setattr(Tensor, name, convert)


for _name, _dtype in dict(
    float=dtypes.float32, double=dtypes.float64, long=dtypes.int64, bool=dtypes.bool_
).items():
    _converter(_name, _dtype)


@method()
def type_as(self, other):
    """The tensor in the dtype of another."""
    return to(self, other.dtype)


@method()
def cpu(self):
    """The tensor itself: everything is on the CPU."""
    return self


@method()
def cuda(self, device=None):
    raise errors.not_supported("the device 'cuda'", "Everything is computed on the CPU.")


@method()
def new_zeros(self, *size, dtype=None, requires_grad=False):
    """Zeros of another shape in this tensor's type."""
    return creation.zeros(*size, dtype=dtype or self.dtype, requires_grad=requires_grad)


@method()
def new_ones(self, *size, dtype=None, requires_grad=False):
    """Ones of another shape in this tensor's type."""
    return creation.ones(*size, dtype=dtype or self.dtype, requires_grad=requires_grad)


@method()
def new_tensor_(self, data, dtype=None, requires_grad=False):
    """A new leaf from data in this tensor's type."""
    return creation.tensor(data, dtype=dtype or self.dtype, requires_grad=requires_grad)


Tensor.new_tensor = Tensor.new_tensor_
del Tensor.new_tensor_


@method()
def numpy(self, *, force=False):
    """The tensor's memory as a NumPy array: writes to it are not counted. RuntimeError if it requires grad."""
    if requires_grad(self):
        if not force:
            raise RuntimeError(errors.NUMPY_OF_GRAD)
        return np.array(self.array)
    return memory_of(self)


@method()
def __array__(self, dtype=None, copy=None):
    array = numpy(self)
    return array if dtype is None else array.astype(dtype, copy=False)


# --- writing in place that is no row -----------------------------------------------------------------------


@method()
def copy_(self, src, non_blocking=False):
    """Overwrite the tensor with the elements of another, which may be narrower or of another type."""
    if not isinstance(src, Tensor):
        src = creation.tensor(src)
    return rows.copy_(self, src)


@method()
def fill_(self, value):
    """Overwrite every element with one number (or a tensor without dimensions)."""
    if isinstance(value, Tensor):
        if value.array.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.array.ndim} dimensions."
            )
        return rows.copy_(self, value)
    return rows.fill_(self, value)


@method()
def scatter_add_(self, dim, index, src):
    """Add src at the places that index names along a dimension."""
    return rows.scatter_add_(self, indexing.dimension(self, dim), index, src)


@method()
def index_add_(self, dim, index, source):
    """Add the slices of source at the places that index names along a dimension."""
    return rows.index_add_(self, indexing.dimension(self, dim), index, source)


@method()
def index_put_(self, indices, values, accumulate=False):
    """Write (or add) values at the places that index tensors name."""
    return indexing.put_(self, list(indices), values, accumulate)


@method()
def clamp_min_(self, min):
    """Raise elements below min to min, in place."""
    return rows.clamp_(self, min, None)


def t_in_place(input):
    if input.array.ndim > 2:
        raise RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {input.array.ndim}D")
    return rows.t(input)


NODES_OF_SHAPE_CHANGES = {
    "t_": "TBackward1", "transpose_": "TransposeBackward1", "unsqueeze_": "UnsqueezeBackward1",
    "squeeze_": "SqueezeBackward3",
}  # fmt: skip


def _in_place_shape(name, change):
    """t_, unsqueeze_ and the like: the tensor itself changes shape. Counts as a write although no value moves."""

    def method_(self, *args):
        views.check_in_place(self, state.recording > 0 and requires_grad(self))
        edge = gradient_edge(self) if state.recording > 0 else None
        changed = change(alias(self) if edge is None else twin(self), *args)
        counter_of(self).value += 1
        self.array = changed.array
        if edge is not None:
            rename_node(changed.node, NODES_OF_SHAPE_CHANGES[name])
            views.set_history(self, changed.node)
            if self._is_view():
                self.meta.view.version = self.version.value  # no value moved: the base's history stays as it is
        return self

    method_.__name__ = name
    method_.__doc__ = f"{name.rstrip('_')}, changing this tensor itself instead of returning another."
    setattr(Tensor, name, method_)


def twin(tensor):
    """Another tensor on the same memory with the same history."""
    other = alias(tensor)
    other.node = views.grad_fn(tensor)
    if tensor.meta is not None and tensor.meta.edge_to_output:
        meta_of(other).edge_to_output, other.meta.output_nr = True, tensor.meta.output_nr
    return other


_in_place_shape("t_", t_in_place)
for _name in ("transpose", "unsqueeze", "squeeze"):
    _in_place_shape(_name + "_", getattr(composites, _name))


@method()
def set_(self, source):
    """Make the tensor look at another tensor's memory. Counts as a write."""
    if requires_grad(self) and state.grad_enabled:
        views.check_in_place(self, True)
    version = counter_of(self)
    version.value += 1
    self.array = memory_of(source)
    return self


# --- history -----------------------------------------------------------------------------------------------

Tensor.grad_fn = property(views.grad_fn, doc="The node that computed this tensor's present value; None for a leaf.")
Tensor.is_leaf = property(
    lambda self: views.grad_fn(self) is None, doc="True for tensors without history: made by the user, or detached."
)
Tensor.output_nr = property(lambda self: 0 if self.meta is None else self.meta.output_nr)
Tensor._base = property(
    lambda self: None if self.meta is None or self.meta.view is None else self.meta.view.base,
    doc="For a view, the tensor whose memory it looks at; never itself a view.",
)


@method()
def _is_view(self):
    """True when the tensor looks at the memory of another, its `_base`."""
    return self.meta is not None and self.meta.view is not None


def _set_requires_grad(self, value):
    if not isinstance(value, bool):
        raise RuntimeError("requires_grad must be a bool")
    if views.grad_fn(self) is not None:
        raise RuntimeError(errors.REQUIRES_GRAD_OF_NON_LEAF + ("" if value else errors.USE_DETACH))
    if value:
        if self.array.dtype.kind != "f":
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
        if self.is_inference() and not state.inference:
            raise RuntimeError(errors.INFERENCE_REQUIRES_GRAD)
        require_grad(self)
    elif self.meta is not None:
        self.meta.requires_grad = False


Tensor.requires_grad = property(requires_grad, _set_requires_grad, doc="Whether a gradient can flow to this tensor.")


@method()
def requires_grad_(self, requires_grad=True):
    """Make a leaf want a gradient, or stop wanting one. RuntimeError for integers and for computed tensors."""
    if requires_grad and self.array.dtype.kind != "f":
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    if not (requires_grad and self.node is not None):
        _set_requires_grad(self, requires_grad)
    return self


@method()
def detach(self):
    """A tensor on the same memory and counter, outside the graph."""
    result = alias(self)
    if self.is_inference():
        meta_of(result).inference = True
    return result


@method()
def detach_(self):
    """Take this tensor out of the graph. RuntimeError for a view; earlier results stay connected."""
    if self._is_view():
        raise RuntimeError(errors.DETACH_VIEW)
    self.node = None
    if self.meta is not None:
        self.meta.requires_grad = self.meta.retains_grad = self.meta.edge_to_output = False
        self.meta.output_nr = 0
    return self


def _data(self):
    return new_tensor(memory_of(self))


def _set_data(self, new):
    if not isinstance(new, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(new).__name__}")
    if requires_grad(self) and new.array.dtype.kind != "f":
        raise RuntimeError(
            "data set to a tensor that requires gradients must be floating point or complex dtype"
        )
    self.array = memory_of(new)


Tensor.data = property(
    _data, _set_data, doc="The same memory without history and with a counter of its own: writes go unnoticed."
)


# --- .grad -------------------------------------------------------------------------------------------------


def _grad(self):
    meta = self.meta
    if self.node is not None and not (meta is not None and (meta.retains_grad or meta.grad is not None)):
        warnings.warn(errors.GRAD_OF_NON_LEAF, UserWarning, stacklevel=2)
    return None if meta is None else meta.grad


def _set_grad(self, grad):
    if grad is not None:
        check_grad(self, grad)
    meta_of(self).grad = grad


def _del_grad(self):
    if self.meta is not None:
        self.meta.grad = None


def check_grad(tensor, grad):
    """A gradient must have its tensor's shape and type, and be another tensor."""
    if not isinstance(grad, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(grad).__name__}")
    if grad is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if grad.array.dtype != tensor.array.dtype:
        raise errors.grad_dtype_mismatch(grad.dtype.c_name, tensor.dtype.title)
    if grad.array.shape != tensor.array.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(grad.array.shape)}' to a tensor of size "
            f"'{list(tensor.array.shape)}'. Please ensure that the gradient and the tensor are the same size"
        )


Tensor.grad = property(_grad, _set_grad, _del_grad, "The gradient accumulated so far in a leaf, or None.")
Tensor.retains_grad = property(lambda self: self.meta is not None and self.meta.retains_grad)


@method()
def retain_grad(self):
    """Keep `.grad` of a computed tensor too. Does nothing on a leaf; RuntimeError without requires_grad."""
    if not requires_grad(self):
        raise RuntimeError(errors.RETAIN_GRAD_OF_PLAIN)
    node = views.grad_fn(self)
    if node is None or self.retains_grad:
        return
    meta_of(self).retains_grad = True
    hooks_of(node).retain[self.meta.output_nr] = weakref.ref(self)


@method()
def register_hook(self, hook):
    """Call `hook(grad)` when this tensor's gradient is known; what it returns replaces the gradient."""
    if not requires_grad(self):
        raise RuntimeError(errors.HOOK_ON_PLAIN)
    node = views.grad_fn(self)
    if node is None:
        meta = meta_of(self)
        if meta.hooks is None:
            meta.hooks = {}
        return RemovableHandle(meta.hooks, hook)
    return RemovableHandle(hooks_of(node).tensor.setdefault(self.output_nr, {}), hook)


@method()
def register_post_accumulate_grad_hook(self, hook):
    """Call `hook(leaf)` each time the leaf's `.grad` has been added to. It must return None."""
    if not requires_grad(self):
        raise RuntimeError(errors.HOOK_ON_PLAIN)
    if views.grad_fn(self) is not None:
        raise RuntimeError(errors.POST_HOOK_ON_NON_LEAF)
    meta = meta_of(self)
    if meta.post_accumulate_hooks is None:
        meta.post_accumulate_hooks = {}
    return RemovableHandle(meta.post_accumulate_hooks, hook)


def _backward_hooks(self):
    if self.node is not None:
        hooks = None if self.node.hooks is None else self.node.hooks.tensor.get(self.output_nr)
    else:
        hooks = None if self.meta is None else self.meta.hooks
    return hooks or None


Tensor._post_accumulate_grad_hooks = property(
    lambda self: (self.meta and self.meta.post_accumulate_hooks) or None, doc="The post-accumulate hooks, or None."
)
Tensor._backward_hooks = property(_backward_hooks, doc="The tensor hooks by number, or None.")


@method()
def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Compute gradients of this tensor for all leaves it was computed from, and add them to their `.grad`.

    gradient: what to start with, of this tensor's shape; may be left out for a single element.
    """
    from course_lib.autograd import backward

    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


@method()
def __deepcopy__(self, memo):
    if views.grad_fn(self) is not None:
        raise RuntimeError(errors.DEEPCOPY_OF_NON_LEAF)
    if id(self) in memo:
        return memo[id(self)]
    copy = memo[id(self)] = new_tensor(np.array(self.array), type(self))
    if requires_grad(self):
        require_grad(copy)
    if self.meta is not None and self.meta.grad is not None and self.keeps_grad_when_copied:
        copy.meta.grad = __deepcopy__(self.meta.grad, memo)
    return copy


Tensor.keeps_grad_when_copied = True


@method()
def __reduce_ex__(self, protocol):
    return _rebuild, (type(self), np.array(self.array), requires_grad(self))


def _rebuild(cls, array, wants_grad):
    tensor = new_tensor(array, cls)
    return require_grad(tensor) if wants_grad else tensor
