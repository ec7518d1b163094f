"""Running hooks: on tensors, on nodes and on leaves, in the order PyTorch runs them.

PyTorch: torch/csrc/autograd/python_hook.cpp, engine.cpp (call_pre_hooks, call_tensor_pre_hooks).

NodeHooks (below) and the `meta` of a leaf hold them; `run_node_with_hooks` and `run_leaf` (backward.py) call this file.

Note [Order of hooks]
At a node: tensor hooks (in order of registration, each seeing what the one before returned), then retain_grad,
then the node's prehooks, the node itself, and the node's hooks. At a leaf: tensor hooks, the accumulator's
prehooks, the accumulation, post-accumulate hooks, the accumulator's hooks.

Note [Hooks stay with the value, retain_grad with the tensor]
A tensor's hooks sit on the node that computed it. When the tensor is overwritten it gets a new node, and hooks that
were registered before stay on the old one: they were about the old value. retain_grad asks for the gradient of the
tensor as it is in the end, so it moves along to the new node (`set_history` in views.py).

A hook may replace the gradient. It must not write into it, though nothing refuses that: others may hold the same array.
"""

import weakref
from collections.abc import Callable
from itertools import count

import numpy as np

from course_lib.engine.checks import as_tensor, check_result, check_results, like
from course_lib.engine.tensor import Tensor


def call_tensor_hooks(hooks: "Hooks | dict", grad: Tensor | np.ndarray | None) -> Tensor | np.ndarray:
    """Pass a gradient through a tensor's hooks. TypeError or RuntimeError for a result that cannot replace it.

    The list is made first: a hook may remove itself, or add others, which then are called the next time.
    """
    value = as_tensor(grad)
    for hook in list(hooks.values()):
        result = hook(value)
        if result is not None:
            check_result(hook, result, value)
            value = result
    return like(value, grad)


def run_tensor_hooks(node: object, grads: list) -> list:
    """Run the tensor hooks of all of a node's outputs; `grads` is a list, one gradient an output."""
    for output_nr, hooks in list(node.hooks.tensor.items()):
        grads[output_nr] = call_tensor_hooks(hooks, grads[output_nr])
    return grads


def run_retain_grad(node: object, grads: list) -> None:
    """Store the gradients of outputs that retain_grad() was called on; several passes add up.

    It comes after the tensor hooks, so what is kept is what they made of the gradient.
    """
    for output_nr, reference in node.hooks.retain.items():
        tensor, grad = reference(), as_tensor(grads[output_nr])
        if tensor is not None and grad is not None:
            have = tensor.meta.grad
            tensor.meta.grad = grad.clone() if have is None else have + grad


def run_prehooks(node: object, grads: list) -> list:
    """Run the node's prehooks: each is given the tuple of output gradients and may return another.

    "Output" is meant as in the forward pass: what comes in here are gradients of what the node's operation gave out.
    """
    for hook in list(node.hooks.pre.values()):
        given = tuple(as_tensor(g) for g in grads)
        result = hook(given)
        if result is not None:
            check_results(hook, result, grads)
            grads = [like(new, old) for new, old in zip(result, grads, strict=True)]
    return grads


def run_posthooks(node: object, grad_inputs: list | tuple, grad_outputs: list) -> list | tuple:
    """Run the node's hooks: each is given the gradients that go on and those that came, and may replace the former."""
    given = tuple(as_tensor(g) for g in grad_outputs)
    for hook in list(node.hooks.post.values()):
        inputs = tuple(as_tensor(g) for g in grad_inputs)
        result = hook(inputs, given)
        if result is not None:
            check_results(hook, result, grad_inputs)
            form = next((g for g in (*grad_inputs, *grad_outputs) if g is not None), None)
            grad_inputs = tuple(like(new, form) for new in result)
    return grad_inputs


# --- hooks on nodes ----------------------------------------------------------------------------------------


class Hooks(dict):
    """Hooks by number. Their handles do not keep them alive: hooks, and what they hold, go with their tensor."""

    __slots__ = ("__weakref__",)


class NodeHooks:
    """The hooks of one node. `tensor`, `retain` belong to an output, `pre` and `post` to the node itself."""

    __slots__ = ("tensor", "retain", "pre", "post")

    def __init__(self):
        self.tensor = {}  # output number -> {hook id: hook}
        self.retain = {}  # output number -> weak reference to the tensor that retain_grad() was called on
        self.pre, self.post = Hooks(), Hooks()

    def add(self, kind: str, hook: Callable) -> "RemovableHandle":
        """Register a node hook and return the handle that removes it."""
        return RemovableHandle(getattr(self, kind), hook)


class RemovableHandle:
    """The handle of a registered hook: `remove()` takes the hook away again. Also a context manager.

    Hooks are kept by number, in order of registration, so that one and the same function may be registered twice.
    """

    next_id = count().__next__

    def __init__(self, hooks, hook):
        self.hooks_dict_ref = weakref.ref(hooks)
        self.id = self.next_id()
        hooks[self.id] = hook

    def remove(self) -> None:
        """Take the hook away; doing so twice does no harm."""
        (self.hooks_dict_ref() or {}).pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


def hooks_of(node: object) -> NodeHooks:
    """Return the node's hooks, made when first needed."""
    if node.hooks is None:
        node.hooks = NodeHooks()
    return node.hooks
