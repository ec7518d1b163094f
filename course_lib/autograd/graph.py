"""torch.autograd.graph: nodes, edges, hooks on saved tensors, and writing to the version counter.

PyTorch: torch/autograd/graph.py.
"""

from collections.abc import Iterable
from typing import NamedTuple

from course_lib.engine.function import FunctionCtx
from course_lib.engine.grad_mode import state
from course_lib.engine.graph import AccumulateGrad, Node, RemovableHandle, public_edge
from course_lib.engine.tensor import Tensor
from course_lib.engine.views import count_write, gradient_edge
from course_lib.surface.left_out import missing


class _Edge(NamedTuple):
    """The fields of a GradientEdge. With the last PyTorch keeps a graph alive; here nobody reads it."""

    node: Node
    output_nr: int
    ownership_token: Node | None = None


class GradientEdge(_Edge):
    """The place where a tensor's gradient appears: a node and the number of its output.

    `form` is the shape and the element type of that tensor, where they are known: always for an edge that
    get_gradient_edge gave; for one made by hand not at a built-in node, which does not say what it computed.
    """

    def __new__(cls, node, output_nr, ownership_token=None):
        edge = super().__new__(cls, node, output_nr, ownership_token)
        edge.form = None
        if type(node) is AccumulateGrad:
            edge.form = node.variable.array.shape, node.variable.array.dtype
        elif isinstance(node, FunctionCtx):
            edge.form = node._output_forms[output_nr]
        return edge


def get_gradient_edge(tensor):
    """The gradient edge of a tensor; RuntimeError when it does not require grad."""
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients"
        )
    edge = visible_edge(tensor)
    if not edge:
        raise AssertionError("Expected gradient function to be set")
    found = GradientEdge(*public_edge(edge))
    found.form = tensor.array.shape, tensor.array.dtype
    return found


def visible_edge(tensor):
    """Where a gradient for the tensor goes. PyTorch asks a view of a leaf for it, which inference mode does not record.

    AttributeError for a leaf there, and for one that was made there.
    """
    if tensor.grad_fn is None and (state.inference or tensor.is_inference()):
        raise AttributeError("'NoneType' object has no attribute 'next_functions'")
    return gradient_edge(tensor)


def increment_version(tensor):
    """Count a write that was made behind the counter's back."""
    if not isinstance(tensor, Tensor | Iterable):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for t in [tensor] if isinstance(tensor, Tensor) else tensor:
        if not isinstance(t, Tensor):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        count_write(t)


_TOOLS = (
    "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "register_multi_grad_hook", "save_on_cpu",
    "saved_tensors_hooks",
)  # fmt: skip
__all__ = ["GradientEdge", "Node", "RemovableHandle", "get_gradient_edge", "increment_version", *_TOOLS]


def __getattr__(name):
    """The tools are read when first asked for: an import of course_lib is 3 % quicker."""
    if name not in _TOOLS:
        raise missing("torch.autograd.graph", name)
    from course_lib.autograd import graph_tools

    globals().update((tool, getattr(graph_tools, tool)) for tool in _TOOLS)
    return globals()[name]


def __dir__():
    return sorted(__all__)
