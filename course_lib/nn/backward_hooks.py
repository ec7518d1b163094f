"""Full backward hooks of modules: two identity nodes around the call see the gradients that come and go.

At the end of the file, the old kind of backward hooks.

PyTorch: torch/utils/hooks.py (BackwardHook), torch/nn/modules/_functions.py (BackwardHookFunction).
"""

import functools
import warnings

from course_lib.engine.function import Function
from course_lib.engine.grad_mode import state
from course_lib.engine.tensor import Tensor


class BackwardHookFunction(Function):
    """The identity, on any number of tensors at once: a place in the graph where hooks can sit."""

    @staticmethod
    def forward(ctx, *tensors):
        ctx.mark_non_differentiable(*[t for t in tensors if not t.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx, *grads):
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

    def watch_inputs(self, args):
        """The arguments, the tensors among them passed through an identity whose backward calls the hooks."""
        self.input_count = len(args)
        args, self.input_places = watch(args, self.at_inputs)
        return args

    def watch_outputs(self, result):
        """The result, passed through an identity whose backward notes the gradients that arrive."""
        if not isinstance(result, tuple | Tensor):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}", stacklevel=4,
            )
        outputs = result if isinstance(result, tuple) else (result,)
        self.output_count = len(outputs)
        outputs, self.output_places = watch(outputs, self.at_outputs)
        return outputs if isinstance(result, tuple) else outputs[0]

    def at_outputs(self, _, grad_output):
        """The hook of the outputs' node."""
        grads = spread(self.output_places, grad_output, self.output_count)
        for hook in self.pre_hooks:
            grads = replaced(grads, hook(self.module, grads), "grad_output", "pre hook")
        self.grad_outputs = grads
        if self.input_places is None:
            self.call_without_inputs()
        return tuple(grads[place] for place in self.output_places) if self.pre_hooks else None

    def call_without_inputs(self):
        """No input requires grad: there is no later moment, so the hooks are called now, with None for the inputs."""
        if self.hooks:
            warnings.warn(
                "Full backward hook is firing when gradients are computed with respect to module outputs since no "
                "inputs require gradients. See "
                "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
                "#torch.nn.Module.register_full_backward_hook "
                "for more details.", stacklevel=5,
            )
        for hook in self.hooks:
            given = hook(self.module, (None,) * self.input_count, self.grad_outputs)
            if given is not None and not (isinstance(given, tuple) and all(g is None for g in given)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for "
                    "all gradients."
                )
        self.grad_outputs = None

    def at_inputs(self, grad_input, _):
        """The hook of the inputs' node: both sides are known now."""
        if self.grad_outputs is None:
            return None  # the module's outputs were not part of this backward pass
        grads = spread(self.input_places, grad_input, self.input_count)
        for hook in self.hooks:
            grads = replaced(grads, hook(self.module, grads, self.grad_outputs), "grad_input", "hook")
        self.grad_outputs = None
        return tuple(grads[place] for place in self.input_places)


def replaced(grads, given, what, kind):
    """The gradients, or what a hook gave for them: RuntimeError when there are more or fewer."""
    if given is not None and len(given) != len(grads):
        raise RuntimeError(
            f"Backward {kind} returned an invalid number of {what}, got {len(given)}, but expected {len(grads)}"
        )
    return grads if given is None else given


def watch(values, notified):
    """(values with the tensors passed through one identity node that has a hook, their places).

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


# --- the old kind ------------------------------------------------------------------------------------------


def hang_on_last_node(module, hooks, args, result):
    """Hang a module's old backward hooks on the node that made its (first) result, and warn of what they will miss.

    Such a hook sees what this one node gets and sends. That is about the module only if there is no other node in it.
    """
    first = result
    while not isinstance(first, Tensor):
        first = next(v for v in first.values() if isinstance(v, Tensor)) if isinstance(first, dict) else first[0]
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(functools.update_wrapper(functools.partial(hook, module), hook))
    if missed := what_is_missed(args, result, node):
        warnings.warn(missed, FutureWarning, stacklevel=4)


def what_is_missed(args, result, node):
    """What an old backward hook on this node does not see, as PyTorch says it; "" when it sees all."""
    what, missing = "Using a non-full backward hook when ", ""
    results = result if isinstance(result, tuple) else (result,)
    makers = {r.grad_fn for r in results if isinstance(r, Tensor) and r.grad_fn is not None}
    if not all(isinstance(r, Tensor) for r in results):
        what = "Using non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors "
        missing = "some of the grad_output"
    elif not all(isinstance(a, Tensor) for a in args):
        what = "Using non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of "
        what, missing = what + "Tensors ", "some of the grad_input"
    elif len(makers) > 1:
        what, missing = what + "outputs are generated by different autograd Nodes ", "some grad_output"
    elif {a.grad_fn for a in args if a.grad_fn is not None} != {after for after, _ in node.next_functions}:
        what, missing = what + "the forward contains multiple autograd Nodes ", "some grad_input"
    if not missing:
        return ""
    return f"{what}is deprecated and will be removed in future versions. This hook will be missing {missing}. {FULL}"


FULL = "Please use register_full_backward_hook to get the documented behavior."


def spread(places, grads, count):
    """One entry for each argument: the gradient of those that are tensors, None for the others."""
    found = dict(zip(places, grads, strict=True))
    return tuple(found.get(place) for place in range(count))
