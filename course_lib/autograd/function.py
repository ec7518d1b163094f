"""torch.autograd.function: Function, and once_differentiable, the guard for a backward that cannot be differentiated.

PyTorch: torch/autograd/function.py.
"""

import functools
from collections.abc import Callable

from course_lib.engine.function import Function, FunctionCtx
from course_lib.engine.grad_mode import AutoGradMode, state
from course_lib.engine.graph import Node, init_node
from course_lib.engine.tensor import Tensor, meta_of
from course_lib.engine.views import accumulator_of, requires_grad, set_history
from course_lib.surface.left_out import doors


def once_differentiable(backward: Callable) -> Callable:
    """Decorate a backward that cannot itself be differentiated: trying to is then an error, not a wrong number."""

    @functools.wraps(backward)
    def wrapper(ctx, *grads):
        with AutoGradMode(False):
            outputs = backward(ctx, *grads)
        if not state.grad_enabled or not any(isinstance(g, Tensor) and requires_grad(g) for g in grads):
            return outputs
        is_tuple = isinstance(outputs, tuple)
        marked = mark_as_final(outputs if is_tuple else (outputs,))
        return marked if is_tuple else marked[0]

    return wrapper


class Error(Node):
    """The node behind a result that may not be differentiated."""

    __slots__ = ("output_count",)
    several_outputs = True

    def name(self) -> str:
        return "torch::autograd::Error"

    def apply(self, grads: list) -> None:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def mark_as_final(outputs: tuple) -> tuple:
    """Return outputs that require grad and lead to one error node. Behind it stand leaves of which nobody knows."""
    leaves = [None if output is None else output.detach().requires_grad_() for output in outputs]
    node = init_node(Error(), tuple(None if leaf is None else accumulator_of(leaf) for leaf in leaves))
    node.output_count = len(outputs)
    if state.anomaly:
        state.anomaly.note_node(node, None)
    marked = []
    for output_nr, output in enumerate(outputs):
        twin = None if output is None else output.detach()
        if twin is not None:
            meta_of(twin)
            set_history(twin, node, output_nr)
        marked.append(twin)
    return tuple(marked)


class InplaceFunction(Function):
    """A Function that can be told whether to work in place; it is up to its methods to look at `inplace`."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace


class UndefinedGrad(Function):
    """The identity, whose backward passes nothing on at all: the gradient before it is undefined, not zero."""

    @staticmethod
    def forward(ctx: Node, tensor: Tensor) -> Tensor:
        return tensor.clone()

    @staticmethod
    def backward(ctx: Node, grad: Tensor) -> None:
        return None


__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]
__getattr__, __dir__ = doors("torch.autograd.function", __all__)
