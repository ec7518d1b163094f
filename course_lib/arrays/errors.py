"""The engine's words when something cannot be done. Key phrases are PyTorch's, so that a web search finds help.

PyTorch: torch/csrc/autograd/saved_variable.cpp, VariableTypeUtils.h, functions/utils.cpp, engine.cpp, variable.cpp.

Nearly every error of autograd protects one of three things. The values that backward will use are those that forward
used (saved tensors). Each value has one history (writing in place). A gradient has somewhere to start and somewhere
to go (the engine). backscope/explaining/report.py says for each message what happened and what cures it.
"""


class NotSupportedError(NotImplementedError):
    """PyTorch can do this and this engine cannot; the message names the limit."""


def not_supported(what: str, instead: str) -> NotSupportedError:
    """Return the one error for everything this engine leaves out: what was asked for, and what to do instead."""
    return NotSupportedError(f"course_lib does not support {what}. {instead}")


def refuse(function: str, instead: str, **options) -> None:
    """Raise NotSupportedError for the first of a function's options that is asked for and left out here."""
    for name, asked in options.items():
        if asked:
            raise not_supported(f"{name} of {function}", instead)


# --- saved tensors -----------------------------------------------------------------------------------------

# A slot was read after a backward pass had emptied it: in a second pass, or by looking at `_saved_self`.
SAVED_TENSORS_FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have "
    "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
    "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if "
    "you need to access saved tensors after calling backward."
)

# The tensor is still there, but detach_() took its history: gradients would end where they should go on.
SAVED_DETACHED = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_()."
    "This is not supported, please use out-of-place `.detach()` instead"
)

# Inference tensors have no counter, so a later write could not be noticed.
INFERENCE_SAVED = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
    "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use "
    "it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
)


def modified_in_place(kind: str, shape: tuple, output_of: str, now: int, wanted: int, report: str = "") -> object:
    """Return the version error. `output_of` is ", which is output 0 of Mul," or "", `report` from anomaly mode."""
    hint = (
        report
        or " Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{kind} [{', '.join(map(str, shape))}]]{output_of} is at version {now}; "
        f"expected version {wanted} instead.{hint}"
    )


# --- writing in place --------------------------------------------------------------------------------------

# The value that .grad belongs to would be gone, and the leaf would be a leaf no more.
LEAF_IN_PLACE = "a leaf Variable that requires grad is being used in an in-place operation."
VIEW_OF_LEAF_IN_PLACE = "a view of a leaf Variable that requires grad is being used in an in-place operation."

INFERENCE_NO_VERSION = "Inference tensors do not track version counter."


# --- leaves, detach, hooks ---------------------------------------------------------------------------------

REQUIRES_GRAD_OF_NON_LEAF = "you can only change requires_grad flags of leaf variables."


# --- the engine --------------------------------------------------------------------------------------------

# backward() starts with the gradient 1 only where the result is one number; else somebody must give the weights.
NOT_A_SCALAR = "grad can be implicitly created only for scalar outputs"


def no_history(index: int) -> object:
    """Return a root of the backward pass that nothing leads back from."""
    return RuntimeError(f"element {index} of tensors does not require grad and does not have a grad_fn")
