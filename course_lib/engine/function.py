"""Custom Functions: a forward and a backward of your own, joined by ctx, which is the graph node itself.

PyTorch: torch/autograd/function.py, torch/csrc/autograd/python_function.cpp, custom_function.cpp.

Note [What apply does]
  1. It notes the edges of the tensor arguments and their shapes, before forward can change anything.
  2. It runs forward with recording off: whatever forward computes is no part of the graph. That is the point of a
     custom Function, and the reason why its backward is trusted blindly: nothing checks that it is the slope.
  3. It gives each output its history (`finish_output`). There are four kinds:
       a fresh tensor                       this node
       an input that mark_dirty named       this node, as after an in-place operation; the base of a view, too
       an input returned as it is           a view of it, so that the caller's tensor keeps its own history
       a constant, or recording off         no history; an input is handed out as a new tensor
  4. It packs what save_for_backward was given. Only now: whether a tensor is an output, which must be kept without
     its history, is known when forward has returned. A tensor put on ctx by hand does not come here, so it is
     not checked, not released, and makes a circle if it is an output.

Note [What backward is given and owes]
Gradients come as tensors, zeros for outputs that got none (None with set_materialize_grads(False)). It owes one value
for each argument of forward, None for those that are no tensors. Without create_graph it runs with recording off; with
it, whatever it computes is recorded, and second derivatives are those of the formulas in backward.
"""

import warnings

import numpy as np

from course_lib.arrays import errors, messages
from course_lib.arrays.kernels import can_be_summed
from course_lib.arrays.messages import type_name
from course_lib.engine import checks, grad_mode, views
from course_lib.engine.arguments import bind_arguments
from course_lib.engine.checks import as_tensor
from course_lib.engine.graph import Node, init_node
from course_lib.engine.ops import instrument
from course_lib.engine.saved import FREED, Freed, SavedOutput, SavedTensor, SavedVariable
from course_lib.engine.tensor import NO_EDGE, Tensor, writable_array
from course_lib.engine.unbroadcast import unbroadcast

state = grad_mode.state


class FunctionCtx(Node):
    """The node of a custom Function: what `ctx` is in forward and in backward.

    Attributes of your own may be put on it. They are neither version-checked nor released, and a tensor kept so
    that leads back to this node is a reference cycle: use `save_for_backward` for inputs and outputs.

    It is a Node whose formulas somebody else wrote: the engine calls `apply`, as for any other. Unlike others it has
    a dictionary, it runs also when no gradient arrived at all, and its class is named after the Function.
    """

    saved_names = saved_tensor_names = ("slots",)
    runs_without_gradient = True
    _function = None  # the Function class

    def __init__(self):
        init_node(self, ())
        self.saved_slots = None  # list of SavedVariable or None, once forward has returned
        self.to_save = self.dirty_tensors = self.non_differentiable = ()  # as forward says; empty once it has returned
        self.needs_input_grad, self._materialize, self._freed = (), True, False
        self.output_count, self.several_outputs = 1, False

    # --- what forward calls --------------------------------------------------------------------------------

    def save_for_backward(self, *tensors) -> None:
        """Keep inputs or outputs (or None) for backward, with the version check. The last call counts.

        Anything but tensors and None is refused with a TypeError when `apply` finishes, if it records a node.
        """
        self.to_save = tensors

    def mark_dirty(self, *tensors) -> None:
        """Say that forward changed these inputs in place; they must be returned."""
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors) -> None:
        """Say that these outputs have no gradient: they will not require one."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Give backward None instead of zeros for outputs without a gradient, if False."""
        self._materialize = value

    # --- what backward reads -------------------------------------------------------------------------------

    @property
    def saved_tensors(self) -> tuple:
        """Return the tensors given to save_for_backward, each checked. RuntimeError once they were released."""
        if self._freed and READ_ONCE not in (self.saved_slots or ()):  # else READ_ONCE says it
            raise RuntimeError(errors.SAVED_TENSORS_FREED)
        if self.saved_slots is None:
            return ()
        tensors = tuple(None if kept is None else kept.read(self) for kept in self.saved_slots)
        if getattr(self._function, "clear_saved_tensors_on_access", False):
            self.saved_slots = [kept and READ_ONCE for kept in self.saved_slots]
        return tensors

    def release(self) -> None:
        """Let go of what save_for_backward was given. Attributes that were put on ctx by hand stay."""
        self._freed = True
        if self.saved_slots:
            self.saved_slots = [kept if kept is READ_ONCE else kept and FREED for kept in self.saved_slots]

    # --- the backward pass ---------------------------------------------------------------------------------

    def apply(self, grads: Tensor | np.ndarray | list | None) -> tuple:
        """Call the Function's backward and bring what it returns to the form of the inputs."""
        grads = list(grads) if self.several_outputs else [grads]
        recording = state.grad_enabled
        arrays = not recording and not any(isinstance(grad, Tensor) for grad in grads)
        given = [self.output_gradient(i, grad) for i, grad in enumerate(grads)]
        backward = self._function._backward()
        result = backward(self, given) if self._function.boxed_grads_call else backward(self, *given)
        grad_mode.set_grad_mode(recording)  # whatever backward has switched
        result = result if isinstance(result, tuple) else (result,)
        return self.fit_gradients(self.check_count(result), arrays)

    def fit_gradients(self, result: tuple, arrays: bool) -> tuple:
        """Return the gradients of the tensor arguments, each checked, summed and cast to its argument's form."""
        grads = []
        for position, (grad, is_tensor) in enumerate(zip(result, self._input_is_tensor, strict=True)):
            if not is_tensor:  # an argument that is no tensor has no edge either: there is nothing to send
                if grad is not None:
                    raise RuntimeError(messages.GRADIENT_OF_NO_TENSOR.format(type(self).__name__, position + 1))
                continue
            if grad is not None and not isinstance(grad, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type_name(grad)})")
            edge, form = self.edges[len(grads)], self._input_forms[len(grads)]
            if grad is not None and edge is not None:
                name = type(self).__name__
                if not can_be_summed(grad.array.shape, form[0]):
                    sizes = f"got {list(grad.array.shape)} but expected shape compatible with {list(form[0])}"
                    raise RuntimeError(f"Function {name} returned an invalid gradient at index {len(grads)} - {sizes}")
                grad = unbroadcast(grad, *form)
            grads.append(grad.array if arrays and grad is not None else grad)
        return tuple(grads)

    # --- rarely used: what `apply` above asks for, and what users see ---------------------------------------

    def output_gradient(self, position: int, grad: Tensor | np.ndarray | None) -> Tensor | None:
        """Return one argument of backward: the gradient as a tensor, zeros if nothing arrived; None for no tensor."""
        if grad is not None:
            return as_tensor(grad)
        if not self._materialize or self._output_forms[position] is None:
            return None
        return as_tensor(np.zeros(*self._output_forms[position]))

    def check_count(self, result: tuple) -> tuple | None:
        """Raise RuntimeError unless there is one gradient for each argument of forward; trailing Nones are fine."""
        expected = len(self._input_is_tensor)
        while len(result) > expected and result[-1] is None:
            result = result[:-1]
        if len(result) != expected:
            raise RuntimeError(messages.GRADIENT_COUNT.format(type(self).__name__, expected, len(result)))
        return result

    @property
    def saved_variables(self) -> tuple:
        """Return the old name of `saved_tensors`."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self):
        if self._freed:
            raise RuntimeError(errors.SAVED_TENSORS_FREED)
        return tuple(SavedTensor(self, "slots", i) for i in range(len(self.saved_slots or ())))

    def __call__(self, *grads):
        raise TypeError(f"'{type(self).__name__}' object is not callable")

    def __repr__(self):
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"


READ_ONCE = Freed(messages.READ_TWICE)  # in slots of Functions with clear_saved_tensors_on_access, once they were read


class _FunctionMeta(type):
    """Gives each Function class a node class of its own, named after it: what MyExp.apply gives has MyExpBackward."""

    def __init__(cls, name, bases, namespace):
        super().__init__(name, bases, namespace)
        namespace = {"_function": cls, "__module__": "course_lib.autograd.function"}
        cls._backward_cls = type(name + "Backward", (FunctionCtx,), namespace)


class Function(metaclass=_FunctionMeta):
    """Subclass it, give it static methods `forward` and `backward`, and call `apply`.

    forward(ctx, *args) computes the result with recording off; backward(ctx, *grad_outputs) returns one gradient
    for each argument of forward, None for those that are no tensors. With a static method
    setup_context(ctx, inputs, output), forward takes no ctx.
    """

    @staticmethod
    def forward(*args, **kwargs) -> None:
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Node, inputs: tuple, output: Tensor) -> None:
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Node, *grad_outputs) -> None:
        raise NotImplementedError(messages.NO_BACKWARD)

    @classmethod
    def apply(cls, *args, **kwargs) -> Tensor | list | tuple:
        """Run forward on the arguments and, when any tensor among them requires grad, record a node."""
        # 1. Of the note above. What an input was is asked for now: forward may overwrite it, or make it require grad.
        separate_setup = cls.setup_context is not Function.setup_context
        if kwargs or separate_setup:
            args = bind_arguments(cls.forward, args, kwargs, separate_setup)
        inputs = [arg for arg in args if isinstance(arg, Tensor)]
        wanted = tuple(isinstance(arg, Tensor) and views.requires_grad(arg) for arg in args)
        recording = state.grad_enabled and any(wanted)  # in inference mode too, after an enable_grad inside
        edges = tuple(views.gradient_edge(tensor) for tensor in inputs) if recording else ()
        ctx = cls._backward_cls()  # after the edges: a stale view's new node must be older than what leads to it
        ctx._input_is_tensor, ctx.needs_input_grad = tuple(isinstance(arg, Tensor) for arg in args), wanted
        ctx._input_forms = tuple((tensor.array.shape, tensor.array.dtype) for tensor in inputs)
        # 2. Without setup_context, ctx is in forward's hands while it computes; with it, only afterwards, so that the
        # same forward can be run by tools that know no ctx.
        with grad_mode.AutoGradMode(False):
            if separate_setup:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args)
        return finish_apply(ctx, inputs, edges, output, recording, separate_setup)

    # --- rarely used ----------------------------------------------------------------------------------------

    clear_saved_tensors_on_access = False  # True: saved_tensors may be read once, and is then let go
    boxed_grads_call = False  # True: backward(ctx, grads) gets its gradients as one list

    def __init__(self, *args, **kwargs):
        warnings.warn(f"{type(self)}{messages.FUNCTION_INSTANCE}", DeprecationWarning, stacklevel=2)

    def __call__(self, *args, **kwargs):
        raise RuntimeError(messages.LEGACY_FUNCTION)

    vjp = backward

    @classmethod
    def _backward(cls) -> object:
        """Return the method that computes gradients: `backward`, or `vjp`, its other name."""
        has_backward = cls.backward is not Function.backward
        has_vjp = cls.vjp is not Function.vjp
        if has_backward and has_vjp:
            raise RuntimeError(messages.BACKWARD_AND_VJP)
        return cls.vjp if has_vjp else cls.backward


def finish_apply(ctx: Node, inputs: list, edges: tuple, output: object, recording: bool, separate_setup: bool) -> tuple:
    """Give the outputs their history and pack what was saved: steps 3 and 4.

    The node takes its edges only here. Until then it is a node that leads nowhere, and an error in forward leaves no
    half of a graph behind.
    """
    is_tuple = isinstance(output, tuple)
    outputs = output if is_tuple else (output,)
    checks.check_marks(ctx)
    checks.check_dirty(ctx.dirty_tensors, outputs)
    ctx.output_count, ctx.several_outputs = len(outputs), len(outputs) > 1
    ctx._output_forms = [(o.array.shape, o.array.dtype) if isinstance(o, Tensor) else None for o in outputs]
    ctx.edges = edges
    finished = tuple(
        finish_output(ctx, inputs, o, output_nr, recording) if isinstance(o, Tensor) else o
        for output_nr, o in enumerate(outputs)
    )
    note_views(ctx, [o for o in finished if isinstance(o, Tensor)])
    tensors, ctx.to_save = ctx.to_save, ()  # at once: an error in a pack hook must leave no circle behind
    if recording:
        pack_saved(ctx, tensors, inputs, outputs, separate_setup)
        if state.recording == 2 and finished:
            instrument(ctx, finished[0])
    ctx.dirty_tensors = ctx.non_differentiable = ()  # results hold ctx, so it may not hold them
    return finished if is_tuple else finished[0]


def finish_output(ctx: Node, inputs: list, tensor: Tensor, output_nr: int, recording: bool) -> Tensor:
    """Give one output its history, by its kind: step 3 of the note.

    The order of the questions matters: what is not differentiable is so whatever else it is, and an input that was
    changed in place is no longer "an input returned as it is".
    """
    is_input = any(tensor is i for i in inputs)
    is_dirty = any(tensor is d for d in ctx.dirty_tensors)
    constant = any(tensor is n for n in ctx.non_differentiable) or tensor.array.dtype.kind != "f"
    if constant or not recording:  # not differentiable, or recording off
        if is_dirty:
            views.count_write(tensor)
        return without_history(tensor, is_input, is_dirty)
    if is_dirty:  # an input that mark_dirty named
        return finish_dirty(ctx, tensor, is_input, output_nr)
    if is_input:  # an input returned as it is
        tensor = views.make_view(tensor, writable_array(tensor))
    # A fresh tensor, then. It may still be a view, if forward made it on the memory of an input.
    view = None if tensor.meta is None else tensor.meta.view
    if view is not None:
        view.version = tensor.version.value
    if tensor.meta is not None and not is_input:
        tensor.meta.requires_grad, tensor.meta.leaf_edge = False, NO_EDGE
    views.set_history(tensor, ctx, output_nr)
    return tensor


def finish_dirty(ctx: Node, tensor: Tensor, is_input: bool, output_nr: int) -> Tensor:
    """Give an input that forward changed in place the Function's node as history; it loses its `.grad`.

    mark_dirty counts as the write: whatever forward did, the counter moves by one more here.
    """
    meta = tensor.meta
    is_view = meta is not None and meta.view is not None
    try:
        if tensor.node is None and views.requires_grad(tensor):
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        if not is_input:
            checks.check_dirty_input(tensor)
        if is_view and ctx.output_count > 1:
            raise RuntimeError(messages.DIRTY_VIEW_AND_MORE)
        views.check_in_place(tensor, True)  # before the counter moves: it may renew the view's node
    finally:
        views.count_write(tensor)  # PyTorch counts it also when it then refuses
    if meta is not None:
        meta.grad = meta.hooks = None
    if is_view:
        views.rebase_history(tensor, ctx)
    else:
        views.set_history(tensor, ctx, output_nr)
    return tensor


def pack_saved(ctx: Node, tensors: tuple, inputs: list, outputs: tuple, separate_setup: bool) -> None:
    """Turn what save_for_backward was given into checked slots: outputs repacked, inputs by reference.

    A tensor that is neither, something computed inside of forward, is kept by reference like an input. It has no
    history, so that a second derivative takes it for a constant. An input that forward returned stays an input.
    """
    kept = []
    for position, tensor in enumerate(tensors):
        if tensor is None:
            kept.append(None)
            continue
        if not isinstance(tensor, Tensor):
            raise TypeError(messages.SAVED_NO_TENSOR.format(position, type(tensor).__name__))
        is_dirty = any(tensor is d for d in ctx.dirty_tensors)
        returned = any(tensor is i for i in inputs) and any(tensor is o for o in outputs)
        if returned and separate_setup and not is_dirty:
            raise RuntimeError(messages.RETURNED_INPUT_SAVED)
        own = tensor.node is ctx and not tensor.is_inference()
        kept.append((SavedOutput if own else SavedVariable).of(tensor))
    ctx.saved_slots = kept or None


# --- rarely used: outputs that are views, and outputs that are not differentiated ---------------------------


def note_views(ctx: Node, outputs: list) -> None:
    """Forbid writing to views that a Function returns: its own backward would be overridden.

    A write would make the base's CopySlices the history of the view, past the node of the Function.
    """
    several = sum(output.node is ctx for output in outputs) > 1
    for output in outputs:
        view = None if output.meta is None else output.meta.view
        if view is not None and not any(output is d for d in ctx.dirty_tensors):
            view.origin = "multiple outputs" if several else "custom function"


def without_history(tensor: Tensor, is_input: bool, is_dirty: bool) -> Tensor:
    """Return an output without history. An input is never handed out itself: its history is its own."""
    if views.requires_grad(tensor) and is_input:
        return tensor.detach()
    if views.requires_grad(tensor):
        return tensor if tensor._is_view() else tensor.detach_()
    return views.make_view(tensor, writable_array(tensor)) if is_input and not is_dirty else tensor
