"""torch.autograd.function: Function, and once_differentiable, the guard for a backward that cannot be differentiated.

PyTorch: torch/autograd/function.py.
"""

import functools

from course_lib.function import Function, FunctionCtx
from course_lib.grad_mode import AutoGradMode, state
from course_lib.graph import Node, init_node
from course_lib.tensor import Tensor
from course_lib.views import requires_grad

__all__ = ["Function", "FunctionCtx", "once_differentiable"]


def once_differentiable(backward):
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

    __slots__ = ()
    several_outputs, output_count = True, 1

    def apply(self, grads):
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def mark_as_final(outputs):
    """Outputs that require grad and lead to an error node."""
    marked = []
    for output in outputs:
        if output is not None:
            twin = output.detach()
            twin.node = init_node(Error(), ())
            output = twin
        marked.append(output)
    return tuple(marked)


