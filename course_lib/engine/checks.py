"""What users hand over, checked: gradients, what hooks return, the marks of a custom Function.

PyTorch: torch/csrc/autograd/python_hook.cpp, python_variable.cpp (THPVariable_set_grad), python_function.cpp.
"""

import warnings

import numpy as np

from course_lib.arrays import dtypes, messages
from course_lib.arrays.memory import overlaps
from course_lib.engine.grad_mode import state
from course_lib.engine.tensor import Tensor, counter_of, memory_of, meta_of, new_tensor


def type_name(value):
    """A value's type as C writes it: with its module when it is NumPy's or a dtype."""
    module = {"numpy": "numpy.", "course_lib.arrays.dtypes": "torch."}.get(type(value).__module__, "")
    return module + type(value).__name__


def check_grad(tensor, grad):
    """A gradient must have its tensor's shape and type, and be another tensor."""
    if not isinstance(grad, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type_name(grad)}")
    if grad is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if grad.array.dtype != tensor.array.dtype:
        raise RuntimeError(
            messages.GRAD_OF_OTHER_TYPE.format(got=grad.dtype.c_name, wanted=tensor.dtype.title)
        )
    if grad.array.shape != tensor.array.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(grad.array.shape)}' to a tensor of size "
            f"'{list(tensor.array.shape)}'. Please ensure that the gradient and the tensor are the same size"
        )


def keep_data(tensor):
    """`del x.data` is refused."""
    raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")


def store_for_inference(node, grad):
    """What AccumulateGrad does in inference mode: a `.grad` that begins there is an inference tensor."""
    meta = node.variable.meta
    before = meta.grad
    node.apply(grad)
    if meta.grad is not before:
        meta_of(meta.grad).inference = True


# --- what hooks return -------------------------------------------------------------------------------------


def as_tensor(grad):
    """Hooks are given tensors, also when the engine computes on arrays. In inference mode these are of that mode."""
    if grad is None or isinstance(grad, Tensor):
        return grad
    tensor = new_tensor(grad)
    if state.inference:
        meta_of(tensor).inference = True
    return tensor


def check_result(hook, result, value):
    """A hook may return a gradient of the same shape, nothing else; and none where none arrived."""
    if value is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not isinstance(result, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type_name(result)}'")
    name = getattr(hook, "__name__", "<unknown>")
    if value is not None and result.array.dtype != value.array.dtype:
        types = f"was {value.type()} got {result.type()}"
        raise RuntimeError(f"hook '{name}' has changed the type of value ({types})")
    if value is not None and result.array.shape != value.array.shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value")


def check_results(hook, result, wanted):
    """A node's hook must return a tuple, with as many gradients as it was given and of their forms."""
    if not isinstance(result, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type_name(result)}'")
    if len(result) != len(wanted):
        name = getattr(hook, "__name__", "<unknown>")
        raise RuntimeError(
            f"hook '{name}' has returned an incorrect number of values (got {len(result)}, but expected {len(wanted)})"
        )
    for new, old in zip(result, wanted, strict=True):
        if new is not None:
            check_result(hook, new, as_tensor(old))


# --- the marks of a custom Function ------------------------------------------------------------------------


def take_marks(ctx):
    """What a custom Function's forward marked as dirty and as not differentiable, which ctx lets go of.

    RuntimeError for what is no tuple, or no tensor. (PyTorch's texts end there.)
    """
    marks = take(ctx, "dirty_tensors"), take(ctx, "non_differentiable")
    for marked, text in (
        (marks[0], "mark_dirty can only accept variables, but argument "),
        (marks[1], "mark_non_differentiable only accepts variable arguments, but got "),
    ):
        if not all(isinstance(tensor, Tensor) for tensor in marked):
            raise RuntimeError(text)
    return marks


def take_saved(ctx):
    """What a custom Function's forward wants to keep, of which ctx lets go until it is packed."""
    return take(ctx, "to_save")


def take(ctx, name):
    """The tuple under a name of ctx, None in its place. RuntimeError for anything else."""
    value = getattr(ctx, name)
    if value is None:
        return ()
    if not isinstance(value, tuple):
        raise RuntimeError(f"autograd internal error: {name} attribute is expected to be a tuple but is ")
    setattr(ctx, name, None)
    return value


def write_only_flag(name, place):
    """An attribute for True or False that can be set, and is kept under another name."""

    def read(self):
        raise AttributeError(f"attribute '{name}' of 'torch._C._FunctionBase' objects is not readable")

    def write(self, value):
        if not isinstance(value, bool):
            raise TypeError(f"set_{name} received an invalid combination of arguments - got (), but expected (bool)")
        setattr(self, place, value)

    return property(read, write)


def check_dirty(dirty, outputs):
    """What mark_dirty named must be among the outputs (RuntimeError).

    RuntimeError outside of inference mode also for a tensor made in it: the write cannot be counted.
    """
    if not state.inference and any(tensor.meta is not None and tensor.meta.inference is True for tensor in dirty):
        raise RuntimeError(messages.INFERENCE_IN_PLACE)
    if not all(any(tensor is o for o in outputs) for tensor in dirty):
        for tensor in dirty:  # they count as written to all the same
            counter_of(tensor).value += 1
        raise RuntimeError(messages.DIRTY_NOT_RETURNED)


def check_dirty_input(tensor):
    """What was marked dirty and recorded, but was no input: a warning; RuntimeError if it is a view.

    The write to a view would give its base a history, and the base of no input is none of the Function's business.
    """
    if tensor._is_view():
        counter_of(tensor).value += 1
        raise RuntimeError(messages.DIRTY_NO_INPUT)
    warnings.warn(messages.DIRTY_NO_INPUT, UserWarning, stacklevel=7)


def check_nan(node, grads, retain_graph):
    """Anomaly mode: RuntimeError when a node made a NaN. It has run, so what it kept is let go of.

    Only the first node that does is told of: a NaN spreads to everything behind it.
    """
    for position, grad in enumerate(grads):
        array = getattr(grad, "array", grad)
        if array is not None and np.isnan(array).any():
            if not retain_graph:
                node.release()
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {position}th output.")


# --- what unpack hooks return ------------------------------------------------------------------------------


def as_packed(tensor, form, node):
    """An unpacked tensor in the shape and floating type in which it was packed; TypeError for anything else.

    In PyTorch the formula is computed with what the hook returned, and the gradient is brought to its input's form
    afterwards. A custom Function is handed what the hook returned, and so is who only looks: then `form` is None.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(messages.UNPACKED_NO_TENSOR.format(type(tensor).__name__))
    if form in (None, (tensor.array.shape, tensor.array.dtype)) or hasattr(node, "save_for_backward"):
        return tensor
    shape, dtype = form
    if tensor.array.shape != shape and tensor.array.size == np.prod(shape):
        tensor = tensor.reshape(shape)
    return tensor.to(dtypes.FROM_NUMPY[dtype]) if dtype.kind == "f" else tensor


# --- what is written to and what is read meanwhile ---------------------------------------------------------


def check_apart(tensor, *others):
    """RuntimeError when a tensor to be written to has an element in common with what is read meanwhile."""
    memory = memory_of(tensor)
    if any(isinstance(other, Tensor) and overlaps(memory, memory_of(other)) for other in others):
        raise RuntimeError(messages.OVERLAPS_OPERAND)


# --- a slot whose tensor was written to since --------------------------------------------------------------


def check_packable(slot):
    """RuntimeError for a slot whose tensor can no longer be found in the graph.

    That is a tensor that had no history when it was saved and has one now, of which PyTorch would note the leaf; or a
    view that may be used no more, but for one without history: then only its memory counts.
    """
    tensor = slot.tensor
    if slot.history is not None or slot.is_output:
        _ = tensor.grad_fn
    elif tensor.node is not None:
        raise RuntimeError("grad_accumulator() should be only called on leaf Variables")
    elif tensor._is_view() and tensor.meta.view.version != tensor.version.value:
        slot.tensor = tensor.detach()
