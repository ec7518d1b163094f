"""The members that autograd adds to a tensor: grad_fn, requires_grad, detach, .data, .grad, hooks.

`backward` is added in engine/backward.py.

PyTorch: torch/_tensor.py, torch/csrc/autograd/python_variable.cpp.

Note [Three ways to another tensor with the same values]
                 memory    counter   history
    x.detach()   shared    shared    none       a write to it is noticed by what saved x
    x.data       shared    its own   none       a write to it goes unnoticed: gradients may be silently wrong
    x.clone()    its own   its own   from x     not a way out of the graph at all

Note [requires_grad means two things]
For a leaf it is a wish, which can be made and withdrawn. For a computed tensor it is a fact: it has a node. Hence one
may set it on leaves only, and `detach()` is how a computed tensor gets rid of it.
"""

import warnings
import weakref
from collections.abc import Callable

from course_lib.arrays import errors, messages
from course_lib.arrays.messages import type_name
from course_lib.engine import grad_mode, views
from course_lib.engine.graph import make_leaf
from course_lib.engine.hooks import Hooks, RemovableHandle, hooks_of
from course_lib.engine.tensor import NO_EDGE, Tensor, alias, meta_of, new_tensor, writable_array
from course_lib.engine.views import requires_grad
from course_lib.surface.methods import method

state = grad_mode.state

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


@method
def _is_view(self):
    """Return True when the tensor looks at the memory of another, its `_base`."""
    return self.meta is not None and self.meta.view is not None


def _set_requires_grad(self, value):
    """Set `x.requires_grad = value`, on leaves of floating type. Note [requires_grad means two things].

    Only numbers that can be changed a little have a slope, so integers and truth values cannot require one.
    """
    if not isinstance(value, bool):
        raise RuntimeError("requires_grad must be a bool")
    if self.node is not None:  # not grad_fn(): PyTorch does not renew a stale view here either
        raise RuntimeError(errors.REQUIRES_GRAD_OF_NON_LEAF + ("" if value else messages.USE_DETACH))
    if value:
        if self.array.dtype.kind != "f":
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
        if self.is_inference() and not state.inference:
            raise RuntimeError(messages.INFERENCE_REQUIRES_GRAD)
        make_leaf(self)
    elif self.meta is not None:
        self.meta.requires_grad, self.meta.leaf_edge = False, NO_EDGE


Tensor.requires_grad = property(requires_grad, _set_requires_grad, doc="Whether a gradient can flow to this tensor.")


@method
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Make a leaf want a gradient, or stop wanting one. RuntimeError for integers and for computed tensors."""
    if not isinstance(requires_grad, bool):
        kind = type(requires_grad).__name__
        raise TypeError(f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {kind}")
    if requires_grad and self.array.dtype.kind != "f":
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    if not (requires_grad and self.node is not None):
        _set_requires_grad(self, requires_grad)
    return self


@method
def detach(self: Tensor) -> Tensor:
    """Return a tensor on the same memory and counter, outside the graph.

    It is cheap, and it is not a copy: writing to it changes this tensor's values, and moves the counter that both
    share, so that backward notices.
    """
    result = alias(self)
    if self.is_inference():
        meta_of(result).inference, result.version = state.inference or "counted", None
    return result


@method
def detach_(self: Tensor) -> Tensor:
    """Take this tensor out of the graph. RuntimeError for a view; earlier results stay connected.

    What was computed from it keeps its edge to the old node, and gradients go there as before. Only where a node
    saved this very tensor backward will refuse: the gradient's own history would end here.
    """
    if state.inference or self.is_inference():
        return self  # as in PyTorch: the rest belongs to autograd, which inference mode leaves out
    if self._is_view():
        raise RuntimeError(messages.DETACH_VIEW)
    if self.node is not None and self.node.hooks is not None:
        meta_of(self).hooks = self.node.hooks.tensor.get(self.output_nr)  # hooks stay with the tensor
    self.node = None
    if self.meta is not None:
        self.meta.requires_grad = self.meta.edge_to_output = False
        self.meta.output_nr, self.meta.leaf_edge = 0, NO_EDGE
    return self


def _data(self):
    result = new_tensor(writable_array(self))
    if self.is_inference():
        meta_of(result).inference, result.version = state.inference or "counted", None
    return result


def _set_data(self, new):
    """Set `x.data = new`: other memory for the same tensor. Its history and its counter stay, and know nothing of it.

    For the version check nothing has happened, and yet what was saved of the tensor has other values: like a write
    through `.data`, a way to a wrong gradient that nobody notices. Under no_grad `x.copy_(new)` is noticed.
    """
    if not isinstance(new, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(new).__name__}")
    if requires_grad(self) and new.array.dtype.kind != "f":
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    self.array = writable_array(new)
    if new.is_inference() or self.is_inference():
        kept = self.is_inference() and self.meta.inference  # True: without a counter from the beginning
        meta_of(self).inference, self.meta.leaf_edge = new.is_inference() and (kept or "counted"), NO_EDGE


Tensor.data = property(
    _data, _set_data, doc="The same memory without history, with a counter of its own: writes go unnoticed."
)


# --- .grad -------------------------------------------------------------------------------------------------


def _grad(self):
    """Return `x.grad`. Asking a computed tensor is mostly a mistake: it warns, unless retain_grad() was called."""
    meta = self.meta
    if self.node is not None and not (meta is not None and (meta.retains_grad or meta.grad is not None)):
        warnings.warn(messages.GRAD_OF_NON_LEAF, UserWarning, stacklevel=2)
    return None if meta is None else meta.grad


def check_grad(tensor: Tensor, grad: Tensor | float) -> None:
    """Check that a gradient has its tensor's shape and type, and is another tensor."""
    if not isinstance(grad, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type_name(grad)}")
    if grad is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if grad.array.dtype != tensor.array.dtype:
        raise RuntimeError(messages.GRAD_OF_OTHER_TYPE.format(got=grad.dtype.c_name, wanted=tensor.dtype.title))
    if grad.array.shape != tensor.array.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(grad.array.shape)}' to a tensor of size "
            f"'{list(tensor.array.shape)}'. Please ensure that the gradient and the tensor are the same size"
        )


def _set_grad(self, grad):
    """Set `x.grad = g`: the next pass adds to that tensor, in place.

    None is how gradients are cleared: cheaper than zeros, and the next gradient is then taken over instead of added.
    """
    if grad is not None:
        check_grad(self, grad)
        meta_of(self).grad = grad
    elif self.meta is not None:
        self.meta.grad = None


def _del_grad(self):
    if self.meta is not None:
        self.meta.grad = None


Tensor.grad = property(_grad, _set_grad, _del_grad, "The gradient accumulated so far in a leaf, or None.")
Tensor.retains_grad = property(lambda self: self.meta is not None and self.meta.retains_grad)


@method
def retain_grad(self: Tensor) -> None:
    """Keep `.grad` of a computed tensor too. Does nothing on a leaf; RuntimeError without requires_grad.

    The node holds the tensor weakly: nobody is kept alive for a gradient that nobody can read any more.
    """
    if not requires_grad(self):
        raise RuntimeError(messages.RETAIN_GRAD_OF_PLAIN)
    if self.node is None or self.retains_grad:
        return
    node, meta_of(self).retains_grad = views.grad_fn(self), True
    hooks_of(node).retain[self.meta.output_nr] = weakref.ref(self)


@method
def register_hook(self: Tensor, hook: Callable | int) -> RemovableHandle:
    """Call `hook(grad)` when this tensor's gradient is known; what it returns replaces the gradient.

    Known means complete: the sum over all uses, once for each pass, before anything is computed from it. For a leaf
    it is the gradient of this pass, not what `.grad` will then hold.
    """
    if not requires_grad(self):
        raise RuntimeError(messages.HOOK_ON_PLAIN)
    node = views.grad_fn(self)
    if node is None:
        meta = meta_of(self)
        if meta.hooks is None:
            meta.hooks = Hooks()
        return RemovableHandle(meta.hooks, hook)
    return RemovableHandle(hooks_of(node).tensor.setdefault(self.output_nr, Hooks()), hook)


@method
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable) -> RemovableHandle:
    """Call `hook(leaf)` each time the leaf's `.grad` has been added to. It must return None."""
    if not requires_grad(self):
        raise RuntimeError(messages.HOOK_ON_PLAIN)
    if views.grad_fn(self) is not None:
        raise RuntimeError(messages.POST_HOOK_ON_NON_LEAF)
    meta = meta_of(self)
    if meta.post_accumulate_hooks is None:
        meta.post_accumulate_hooks = Hooks()
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
