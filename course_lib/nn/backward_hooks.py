"""Full backward hooks of modules: two identity nodes around the call see the gradients that come and go.

At the end of the file, the old kind of backward hooks.

PyTorch: torch/utils/hooks.py (BackwardHook), torch/nn/modules/_functions.py (BackwardHookFunction).
"""

import functools
import warnings
from collections.abc import Callable

from course_lib.engine.function import Function
from course_lib.engine.grad_mode import state
from course_lib.engine.tensor import Tensor


class BackwardHookFunction(Function):
    """The identity, on any number of tensors at once: a place in the graph where hooks can sit."""

    @staticmethod
    def forward(ctx: object, *tensors) -> tuple:
        ctx.mark_non_differentiable(*[t for t in tensors if not t.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx: object, *grads) -> tuple:
        return grads


class BackwardHook:
    """Runs a module's backward hooks for one call of it.

    The node behind the outputs notes the gradients that arrive there; the node before the inputs then has both
    sides and calls the hooks.
    """

    def __init__(self, module, hooks, pre_hooks):
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs = None
        self.input_places = self.output_places = None  # which arguments were tensors
        self.input_count = self.output_count = None

    def watch_inputs(self, args: tuple) -> tuple:
        """Return the arguments, the tensors among them passed through an identity whose backward calls the hooks."""
        self.input_count = len(args)
        args, self.input_places = watch(args, self.at_inputs)
        return args

    def watch_outputs(self, result: Tensor) -> Tensor:
        """Return the result, passed through an identity whose backward notes the gradients that arrive."""
        if not isinstance(result, tuple | Tensor):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}", stacklevel=4,
            )
        outputs = result if isinstance(result, tuple) else (result,)
        self.output_count = len(outputs)
        outputs, self.output_places = watch(outputs, self.at_outputs)
        return outputs if isinstance(result, tuple) else outputs[0]

    def at_outputs(self, _: tuple, grad_output: tuple) -> tuple | None:
        """Return the hook of the outputs' node."""
        grads = spread(self.output_places, grad_output, self.output_count)
        for hook in self.pre_hooks:
            grads = replaced(grads, hook(self.module, grads), "grad_output", "pre hook")
        self.grad_outputs = grads
        if self.input_places is None:  # no input requires grad: there is no later moment to call the hooks
            if self.hooks:
                warnings.warn(NO_INPUTS, stacklevel=5)
            for hook in self.hooks:
                if any(g is not None for g in hook(self.module, (None,) * self.input_count, grads) or ()):
                    raise RuntimeError(NO_GRADIENT)
            self.grad_outputs = None
        return tuple(grads[place] for place in self.output_places) if self.pre_hooks else None

    def at_inputs(self, grad_input: tuple, _: tuple) -> tuple | None:
        """Return the hook of the inputs' node: both sides are known now."""
        if self.grad_outputs is None:
            return None  # the module's outputs were not part of this backward pass
        grads = spread(self.input_places, grad_input, self.input_count)
        for hook in self.hooks:
            grads = replaced(grads, hook(self.module, grads, self.grad_outputs), "grad_input", "hook")
        self.grad_outputs = None
        return tuple(grads[place] for place in self.input_places)


NO_INPUTS = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
    "gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
    "#torch.nn.Module.register_full_backward_hook for more details."
)
NO_GRADIENT = (
    "Backward hook for Modules where no input requires gradient should always return None or None for all gradients."
)


def replaced(grads: tuple, given: tuple | None, what: str, kind: str) -> tuple:
    """Return the gradients, or what a hook gave for them: RuntimeError when there are more or fewer."""
    if given is not None and len(given) != len(grads):
        raise RuntimeError(
            f"Backward {kind} returned an invalid number of {what}, got {len(given)}, but expected {len(grads)}"
        )
    return grads if given is None else given


def watch(values: tuple, notified: Callable) -> tuple:
    """Return (values with the tensors passed through one identity node that has a hook, their places).

    The places are None, and the values untouched, when there is nothing to differentiate.
    """
    places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    tensors = [values[i] for i in places]
    if not (state.grad_enabled and any(t.requires_grad for t in tensors)):
        return values, None
    watched = BackwardHookFunction.apply(*tensors)

    def hook(grad_input, grad_output):  # errors about what it returns name it so
        return notified(grad_input, grad_output)

    next(t.grad_fn for t in watched if t.grad_fn is not None).register_hook(hook)
    values = list(values)
    for place, tensor in zip(places, watched, strict=True):
        values[place] = tensor
    return tuple(values), places


def spread(places: list, grads: tuple, count: int) -> tuple:
    """Return one entry for each argument: the gradient of those that are tensors, None for the others."""
    found = dict(zip(places, grads, strict=True))
    return tuple(found.get(place) for place in range(count))


# --- the old kind ------------------------------------------------------------------------------------------


def hang_on_last_node(module: object, hooks: list, args: tuple, result: Tensor | tuple) -> None:
    """Hang a module's old backward hooks on the node that made its (first) result.

    Such a hook sees what this one node gets and sends. It is warned of when there are other nodes in the module.
    """
    results = result if isinstance(result, tuple) else (result,)
    if not all(isinstance(r, Tensor) for r in results):
        raise TypeError(f"A non-full backward hook needs a module that returns tensors. {FULL}")
    node = results[0].grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(functools.update_wrapper(functools.partial(hook, module), hook))
    before = {arg.grad_fn for arg in args if isinstance(arg, Tensor) and arg.grad_fn is not None}
    if before != {after for after, _ in node.next_functions} or len({r.grad_fn for r in results}) > 1:
        warnings.warn(MISSED, FutureWarning, stacklevel=4)


FULL = "Please use register_full_backward_hook to get the documented behavior."
MISSED = (
    "Using a non-full backward hook when the forward contains multiple autograd Nodes is deprecated and will be "
    f"removed in future versions. This hook will be missing some grad_input. {FULL}"
)
