"""The longer texts of errors and warnings, with PyTorch's key phrases. Those about graphs themselves are in errors.py.

PyTorch: torch/csrc/autograd/python_variable.cpp, python_function.cpp, saved_variable.cpp, torch/autograd/function.py;
c10/util/Exception.h (TORCH_WARN_ONCE).
"""

import warnings

# --- memory ------------------------------------------------------------------------------------------------

OVERLAPS_ITSELF = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
    "Please clone() the tensor before performing the operation."
)
OVERLAPS_OPERAND = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
    "location. Please clone() the tensor before performing the operation."
)

# --- tensors as NumPy, numbers and copies ------------------------------------------------------------------

NUMPY_OF_GRAD = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
SCALAR_OF_GRAD = (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
    "Consider using tensor.detach() first."
)
DEEPCOPY_OF_NON_LEAF = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If "
    "you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
    "https://github.com/pytorch/pytorch/pull/103001"
)

# --- leaves, detach, .grad ---------------------------------------------------------------------------------

INFERENCE_IN_PLACE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed."
    "You can make a clone to get a normal tensor before doing inplace update."
    "See https://github.com/pytorch/rfcs/pull/17 for more details."
)
INFERENCE_REQUIRES_GRAD = "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
RETAIN_GRAD_OF_PLAIN = "can't retain_grad on Tensor that has requires_grad=False"
HOOK_NOT_COPIED = (
    "backward hook {} on tensor will not be serialized.  If this is expected, you can decorate the function with "
    "@torch.utils.hooks.unserializable_hook to suppress this warning"
)
HOOK_ON_PLAIN = "cannot register a hook on a tensor that doesn't require gradient"
POST_HOOK_ON_NON_LEAF = "post accumulate grad hooks cannot be registered on non-leaf tensors"
USE_DETACH = (
    " If you want to use a computed variable in a subgraph that doesn't require differentiation use "
    "var_no_grad = var.detach()."
)
DETACH_VIEW = "Can't detach views in-place. Use detach() instead."
GRAD_OF_NON_LEAF = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
    "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
    "Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you "
    "access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information."
)
GRAD_OF_OTHER_TYPE = "attempting to assign a gradient with dtype '{got}' to a tensor with grad_dtype '{wanted}'."

# --- backward ----------------------------------------------------------------------------------------------

CREATE_GRAPH_CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
    "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
    "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break "
    "the cycle and avoid the leak."
)
GRADIENTS_TWICE = "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`."
ONLY_INPUTS = "only_inputs argument is deprecated and is ignored now (defaults to True)."

# --- modes -------------------------------------------------------------------------------------------------

CLASS_DECORATED = "Decorating classes is deprecated and will be disabled in future versions."

# --- saved tensors -----------------------------------------------------------------------------------------

REGISTER_ON_FREED = (
    "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph "
    "are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
    "through the graph a second time or if you need to access saved variables after calling backward."
)
NO_PAIR_OF_HOOKS = (
    "(): incompatible function arguments. The following argument types are supported:\n"
    "    two functions, pack_hook and unpack_hook"
)
REGISTER_TWICE = "Calling register_hooks on a saved tensor whose hooks have already been set."
PACK_HOOK_WROTE = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
    "modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you need "
    "to perform in-place operations on the input to a pack hook."
)
UNPACKED_NO_TENSOR = "Output of saved tensor unpack_hook expected to be a Tensor but got result of type {}"

# --- custom Functions --------------------------------------------------------------------------------------

READ_TWICE = (
    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
    "autograd.Function."
)
FUNCTION_INSTANCE = " should not be instantiated. Methods on autograd functions are all static."
LEGACY_FUNCTION = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
    "with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
)
NO_BACKWARD = (
    "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
    "mode AD."
)
BACKWARD_AND_VJP = "Implementing both 'backward' and 'vjp' for a custom Function is not allowed."
DIRTY_NO_INPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be "
    "passed to ctx.mark_dirty()."
)
DIRTY_NOT_RETURNED = (
    "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
    "modified inplace must all be outputs of the Function."
)
DIRTY_VIEW_AND_MORE = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot "
    "return more than one Tensor."
)
RETURNED_INPUT_SAVED = (
    "An input that has been returned as-is as output is being saved for backward. This is not supported if "
    "you override setup_context."
)
SAVED_NO_TENSOR = "save_for_backward can only save variables, but argument {} is of type {}"
GRADIENT_COUNT = "function {} returned an incorrect number of gradients (expected {}, got {})"
GRADIENT_OF_NO_TENSOR = (
    "function {} returned a gradient different than None at position {}, but the corresponding forward input was not "
    "a Variable"
)

# --- views that may not be written to ------------------------------------------------------------------------

_BOTH_INSIDE_OR_OUTSIDE = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving "
    "both the view and the inplace either both inside the {mode} block (if you don't want the inplace to be "
    "tracked) or both outside (if you want the inplace to be tracked)."
)


def view_may_not_be_written(origin: str, node_name: str | None, output_nr: int, by_this_view: bool) -> str:
    """Return why a view made by `origin` (see views.py) cannot be edited, or cannot be used after its base was."""
    what = "its base or another view of its base has been modified inplace"
    if by_this_view:
        what = "is being modified inplace"
    made = {"no_grad": "no_grad mode", "inference": "inference mode"}.get(origin)
    mode = "in normal mode" if origin == "inference" else "with grad mode enabled"
    if node_name is None:
        head = f"A view was created in {made or 'no_grad mode'} and {what} {mode}."
    elif made is not None:
        head = f"Output {output_nr} of {node_name} is a view of a view which was created in {made} and {what} {mode}."
    else:
        head = f"Output {output_nr} of {node_name} is a view and {what}."
    if made is not None:
        return head + _BOTH_INSIDE_OR_OUTSIDE.format(mode="no_grad" if origin == "no_grad" else "inference_mode")
    if origin == "multiple outputs":
        return head + (
            " This view is the output of a function that returns multiple views. Such functions do not allow the "
            "output views to be modified inplace. You should replace the inplace operation by an out-of-place one."
        )
    return head + (
        " This view was created inside a custom Function (or because an input was returned as-is) and the autograd "
        "logic to handle view+inplace would override the custom backward associated with the custom Function, "
        "leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the "
        "custom Function."
    )

# --- gradient edges ------------------------------------------------------------------------------------------

MATERIALIZE_UNUSED = (
    "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
)
MATERIALIZED_EDGE = "materialize_grads cannot be used when the given input is a GradientEdge"

# --- what a backward pass was given --------------------------------------------------------------------------


def gradient_shape_mismatch(index: int, got: tuple, wanted: tuple) -> object:
    """Return a gradient whose shape is not that of the tensor it is for."""
    return RuntimeError(
        f"Mismatch in shape: grad_output[{index}] has a shape of {got} and output[{index}] has a shape of {wanted}."
    )


def unused_input(index: int) -> object:
    """Return autograd.grad was asked for a tensor that the outputs do not depend on."""
    return RuntimeError(
        f"The differentiated Tensor at index {index} appears to not have been used in the graph. "
        "Set allow_unused=True if this is the desired behavior."
    )


COPY_OF_A_TENSOR = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than {maker}(sourceTensor)."
)


def no_such_name(module: str, name: str) -> object:
    """Return the AttributeError of a library for a name that it does not have, as PyTorch may."""
    return AttributeError(
        f"{module} has no {name!r}. If PyTorch has it, this engine leaves it out; `dir({module})` lists what there is."
    )


# --- warnings that PyTorch gives once a process, wherever they come from --------------------------------------

_given = set()
_always = False


def set_warn_always(always: bool) -> None:
    """Give such warnings each time, or once a process (as it is at first)."""
    global _always
    _always = bool(always)


def warn_once(message: str, stacklevel: int) -> None:
    """Give a UserWarning, unless it was given before."""
    if _always or message not in _given:
        _given.add(message)
        warnings.warn(message, UserWarning, stacklevel=stacklevel + 1)


def type_name(value: object) -> str:
    """Return a value's type as C writes it: with its module when it is NumPy's or a dtype."""
    module = {"numpy": "numpy.", "course_lib.arrays.dtypes": "torch."}.get(type(value).__module__, "")
    return module + type(value).__name__
