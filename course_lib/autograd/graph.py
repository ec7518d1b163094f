"""torch.autograd.graph: edges, the version counter; hooks on saved tensors, one hook for several, mutation.

PyTorch: torch/autograd/graph.py.
"""

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import ContextDecorator, contextmanager
from typing import NamedTuple

from course_lib.arrays import messages
from course_lib.engine.grad_mode import state
from course_lib.engine.graph import AccumulateGrad, Node, public_edge
from course_lib.engine.hooks import RemovableHandle
from course_lib.engine.tensor import Tensor
from course_lib.engine.views import count_write, gradient_edge
from course_lib.surface.left_out import doors


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
        elif hasattr(node, "_output_forms"):  # the node of a Function
            edge.form = node._output_forms[output_nr]
        return edge


def get_gradient_edge(tensor: Tensor) -> GradientEdge | None:
    """Return the gradient edge of a tensor; RuntimeError without requires_grad, AttributeError in inference mode."""
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients"
        )
    if tensor.grad_fn is None and (state.inference or tensor.is_inference()):
        # PyTorch asks a view of the leaf for its node, and inference mode records no view
        raise AttributeError("'NoneType' object has no attribute 'next_functions'")
    edge = gradient_edge(tensor)
    if not edge:
        raise AssertionError("Expected gradient function to be set")
    found = GradientEdge(*public_edge(edge))
    found.form = tensor.array.shape, tensor.array.dtype
    return found


def increment_version(tensor: Tensor | list) -> None:
    """Count a write that was made behind the counter's back."""
    for t in tensor if hasattr(tensor, "__iter__") and not isinstance(tensor, Tensor) else [tensor]:
        if not isinstance(t, Tensor):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        count_write(t)


# --- hooks on saved tensors, for everything recorded inside a block ----------------------------------------


class saved_tensors_hooks:
    """Inside the block every tensor a node keeps goes through `pack`; its backward gets what `unpack` returns."""

    def __init__(self, pack_hook, unpack_hook):
        self.pair = pack_hook, unpack_hook

    def __enter__(self):
        if state.saved_tensor_hooks_disabled is not None:
            raise RuntimeError(state.saved_tensor_hooks_disabled)
        if not all(callable(hook) for hook in self.pair):
            raise TypeError("_push_saved_tensors_default_hooks" + messages.NO_PAIR_OF_HOOKS)
        state.saved_tensor_hooks.append(self.pair)
        state.update()

    def __exit__(self, *error):
        state.saved_tensor_hooks.pop()
        state.update()


class disable_saved_tensors_hooks(ContextDecorator):
    """Opening a saved_tensors_hooks block inside this one is a RuntimeError with the given message."""

    def __init__(self, error_message):
        self.message = error_message

    def __enter__(self):
        self.previous = state.saved_tensor_hooks_disabled
        if state.saved_tensor_hooks:
            raise RuntimeError(self.message)
        state.saved_tensor_hooks_disabled = self.message

    def __exit__(self, *error):
        state.saved_tensor_hooks_disabled = self.previous


class save_on_cpu(saved_tensors_hooks):
    """Keep what nodes save in the CPU's memory: all is there already, so nothing moves, but no version is checked."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda tensor: tensor, lambda packed: packed)


# --- one hook for several tensors --------------------------------------------------------------------------


class _MultiHandle:
    """The handle of register_multi_grad_hook: `remove()` takes all of its hooks away."""

    def __init__(self, handles):
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Take the hooks away."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


def nodes_in(task: object) -> set:
    """Return all nodes that a backward pass will run, or catch a gradient at."""
    roots = [node for node, _ in task.root.next_functions]
    if len(roots) == 1:  # PyTorch begins with a single root itself, and does not count it among the nodes it will run
        roots = [node for node, _ in roots[0].next_functions]
    found, queue = set(), roots
    while queue:
        node = queue.pop()
        if node is not None and node not in found:
            found.add(node)
            queue += [following for following, _ in node.next_functions]
    return {node for node in found if not task.skips(node)}


def register_multi_grad_hook(tensors: list | tuple, fn: Callable, *, mode: str = "all") -> _MultiHandle | None:
    """Call fn once a backward pass, with the gradients of several tensors.

    mode "all": fn(list of gradients), when all that this pass will compute are there; None for the others.
    mode "any": fn(gradient), at the first. The hook does not change gradients.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = [tensor for tensor in tensors if mode == "all" or tensor.requires_grad]
    if not all(tensor.requires_grad for tensor in tensors):
        raise AssertionError("Expected gradient function to be set")
    # held here, so that a leaf's node and its hooks live on
    nodes = [get_gradient_edge(tensor).node for tensor in tensors if mode == "all"]
    passes = weakref.WeakKeyDictionary()  # pass -> [how many gradients are still to come, those that have come]

    def receive(position, grad):
        task = state.task
        if mode == "any":
            if task not in passes:
                passes[task] = None
                fn(grad)
            return
        if task not in passes:
            running = nodes_in(task)
            caught = running & set(task.captures)
            if any(type(node) is AccumulateGrad and node in caught for node in nodes):
                raise RuntimeError(
                    "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). "
                    "This is currently not supported."
                )
            passes[task] = [sum(node in running for node in nodes), [None] * len(nodes)]
        entry = passes[task]
        entry[0] -= 1
        entry[1][position] = grad
        if entry[0] == 0:
            del passes[task]
            fn(entry[1])

    return _MultiHandle(
        tensor.register_hook(lambda grad, position=position: receive(position, grad))
        for position, tensor in enumerate(tensors)
    )


_open = threading.local()


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator:
    """Let saved tensors be overwritten inside the block: backward uses a copy of each that was.

    PyTorch copies a tensor when it is overwritten, we when it is saved; what was not overwritten keeps its history, for
    second derivatives. Backward must run inside the same block: AssertionError outside.
    """
    if getattr(_open, "now", False):
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    ended = False

    def pack(tensor):
        return tensor, tensor._version, tensor.detach().clone()

    def unpack(kept):
        if ended:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
                "in which the graph was originally recorded."
            )
        tensor, version, copy = kept
        now, then = tensor.array, copy.array
        same = now.shape == then.shape and now.dtype == then.dtype and now.tobytes() == then.tobytes()
        return tensor if same and tensor._version == version else copy  # an uncounted write shows in the bytes

    _open.now = True
    try:
        with saved_tensors_hooks(pack, unpack):
            yield
    finally:
        _open.now, ended = False, True


__all__ = [
    "GradientEdge", "Node", "RemovableHandle", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
    "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]  # fmt: skip
__getattr__, __dir__ = doors("torch.autograd.graph", __all__)
