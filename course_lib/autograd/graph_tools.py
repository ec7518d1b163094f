"""The tools of torch.autograd.graph: hooks on saved tensors, one hook for several tensors, mutation of what was saved.

PyTorch: torch/autograd/graph.py (saved_tensors_hooks, register_multi_grad_hook, allow_mutation_on_saved_tensors).
"""

import threading
import weakref
from contextlib import ContextDecorator

from course_lib.autograd.graph import visible_edge
from course_lib.grad_mode import state
from course_lib.graph import AccumulateGrad
from course_lib.native import messages

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
        super().__init__(lambda tensor: tensor.detach(), lambda packed: packed)


# --- one hook for several tensors --------------------------------------------------------------------------


class _MultiHandle:
    """What register_multi_grad_hook returns: `remove()` takes all of its hooks away."""

    def __init__(self, handles):
        self.handles = tuple(handles)

    def remove(self):
        """Take the hooks away."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


def node_of(tensor):
    """The node that a tensor's gradient arrives at."""
    edge = visible_edge(tensor) if tensor.requires_grad else None
    if not edge:
        raise AssertionError("Expected gradient function to be set")
    return edge[0] if isinstance(edge, tuple) else edge


def nodes_in(task):
    """All nodes that a backward pass will run, or catch a gradient at."""
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


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Call fn once a backward pass, with the gradients of several tensors.

    mode "all": fn(list of gradients), when all that this pass will compute are there; None for the others.
    mode "any": fn(gradient), at the first. The hook does not change gradients.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = list(tensors)
    if mode == "any":
        tensors = [tensor for tensor in tensors if tensor.requires_grad]
    # held here, so that a leaf's node and its hooks live on
    nodes = [node_of(tensor) for tensor in tensors if mode == "all"]
    passes, lock = weakref.WeakKeyDictionary(), threading.Lock()

    def collect(position, grad):
        with lock:
            if state.task not in passes:
                running = nodes_in(state.task)
                caught = running & set(state.task.captures or ())
                if any(type(node) is AccumulateGrad and node in caught for node in nodes):
                    raise RuntimeError(
                        "A leaf node was passed to _will_engine_execute_node but we are currently running "
                        "autograd.grad(). This is currently not supported."
                    )
                passes[state.task] = [sum(node in running for node in nodes), [None] * len(nodes)]
            entry = passes[state.task]
            entry[0] -= 1
            entry[1][position] = grad
            complete = entry[0] == 0
            if complete:
                del passes[state.task]
        if complete:
            fn(entry[1])

    def first(position, grad):
        with lock:
            seen = passes.get(state.task, False)
            passes[state.task] = True
        if not seen:
            fn(grad)

    receive = collect if mode == "all" else first
    return _MultiHandle(
        tensor.register_hook(lambda grad, position=position: receive(position, grad))
        for position, tensor in enumerate(tensors)
    )


class _Slot:
    """Stands in a node for a tensor whose copy the context keeps."""


class allow_mutation_on_saved_tensors(ContextDecorator):
    """Inside the block, saved tensors may be overwritten: each is copied when it is saved, and backward uses the copy.

    PyTorch copies only when something is overwritten; here memory is paid for every saved tensor. Backward must run
    inside the same block: AssertionError outside.
    """

    active = threading.local()

    def __enter__(self):
        if getattr(self.active, "context", None) is not None:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        self.active.context = self
        self.copies = weakref.WeakKeyDictionary()
        self.hooks = saved_tensors_hooks(self.pack, self.unpack)
        self.hooks.__enter__()
        return self

    def __exit__(self, *error):
        self.hooks.__exit__(*error)
        self.active.context = None
        self.clear()

    def clear(self):
        """Let go of all copies."""
        self.copies.clear()

    def pack(self, tensor):
        """Keep a copy here, and only a name for it in the node."""
        slot = _Slot()
        self.copies[slot] = tensor.detach().clone()
        return slot

    def unpack(self, slot):
        """The copy; AssertionError once the block has ended."""
        if slot not in self.copies:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
                "in which the graph was originally recorded."
            )
        return self.copies[slot]
