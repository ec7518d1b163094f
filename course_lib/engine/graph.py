"""The graph: nodes, the edges between them, and AccumulateGrad, the node at which a path ends in a leaf.

PyTorch: torch/csrc/autograd/node.h (Node), edge.h, functions/accumulate_grad.h.

Note [Who holds whom]
Every arrow of the graph points backwards in time:

    tensor --node--> Node --edges--> Node --edges--> AccumulateGrad --variable--> leaf
                     Node --kept--> saved tensors        leaf --accumulator, weakly--> AccumulateGrad

A tensor keeps alive what it was computed from, never what was computed from it. So a graph lives as long as one of its
results does, `del loss` frees it, and a leaf that took part in a thousand graphs holds none of them.
"""

from collections.abc import Callable
from itertools import count
from sys import getrefcount

import numpy as np

from course_lib.arrays.kernels import broadcast_like, copy_like
from course_lib.arrays.memory import UNSHARED, is_dense
from course_lib.engine.grad_mode import state
from course_lib.engine.hooks import hooks_of
from course_lib.engine.tensor import Tensor, allocate, counter_of, mark_inference, meta_of, new_tensor
from course_lib.engine.unbroadcast import validate_outputs
from course_lib.engine.version import VersionCounter

next_sequence_nr = count().__next__  # nodes are numbered in the order of the forward pass
LEAVES_FIRST = (1 << 64) - 1  # the number of every AccumulateGrad


class Node:
    """One step of the backward pass: takes the gradient of its outputs, returns those of its inputs.

    The subclasses of built-in operations are written by ops.py from the table in derivatives.py.
    """

    __slots__ = (
        "edges",  # where each input's gradient goes: a Node, a pair (Node, output number), or None for nowhere
        "sequence_nr",  # when it was made; the engine runs the newest ready node first
        "hooks",  # NodeHooks, or None
        "visited",  # the mark of the last pass that counted this node; used by backward.py
        "notes",  # dict for `metadata`, or None
        "__weakref__",
    )
    input_metadata = None  # set on nodes that broadcast or promoted: for each input (shape, dtype), or None if it fits
    output_count = 1
    runs_without_gradient = False  # True for custom Functions, whose backward is called even if nothing arrived
    releases = False  # True for nodes with a `release` of their own; set below, so that a sum spares an empty call
    several_outputs = False  # True for nodes such as UnbindBackward0, whose apply takes a list of gradients
    can_skip_inputs = False  # True for nodes of several inputs (ops.py, write_node): apply is told the wanted edges
    saved_names = saved_tensor_names = ()  # the names this kind of node can keep: _saved_self, _saved_result, ...

    def __init_subclass__(cls):
        cls.releases = cls.release is not Node.release

    def apply(self, grad: Tensor | np.ndarray) -> None:
        """Return the gradients of the inputs, one for each edge, from that of the output; arrays from an array."""
        raise NotImplementedError

    def apply_to_tensors(self, grad: Tensor | list) -> tuple:
        """Return the same on tensors, when the backward pass is itself recorded."""
        return self.apply(grad)

    def release(self) -> None:
        """Let go of the saved tensors."""

    # --- what learners and tools see -----------------------------------------------------------------------

    def name(self) -> str:
        """Return the name of the node's type, such as 'MulBackward0'."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple:
        """Return, for each input, the node its gradient goes to and which of that node's outputs it is for."""
        return tuple(public_edge(edge) for edge in self.edges)

    def _sequence_nr(self):
        return self.sequence_nr

    @property
    def requires_grad(self) -> bool:
        return True

    @property
    def metadata(self) -> dict:
        """Return a dictionary for notes about this node; anomaly mode keeps its traceback here."""
        if self.notes is None:
            self.notes = {}
        return self.notes

    def register_hook(self, hook: Callable) -> object:
        """Call `hook(grad_inputs, grad_outputs)` after the node ran; a tuple it returns replaces grad_inputs."""
        return hooks_of(self).add("post", hook)

    def register_prehook(self, hook: Callable) -> object:
        """Call `hook(grad_outputs)` before the node runs; a tuple it returns replaces grad_outputs."""
        return hooks_of(self).add("pre", hook)

    def __call__(self, *grads):
        """Compute the inputs' gradients from the outputs', as formulas give them: the engine undoes broadcasting."""
        if len(grads) != self.output_count:
            raise TypeError(f"expected {self.output_count} arguments, got {len(grads)} instead")
        result = self.apply_to_tensors(list(grads) if self.several_outputs else grads[0])
        return result[0] if len(result) == 1 else tuple(result)

    def __repr__(self):
        return f"<{type(self).__name__} object at {id(self):#x}>"


def forward_name(node: Node) -> str:
    """Return the operation as error messages write it: 'Mul' for MulBackward0, 'Pow1' for PowBackward1, 'MyExp'."""
    name = node.name()
    if "::" in name:
        return name
    head, _, number = name.rpartition("Backward")
    return head + number.removeprefix("0") if head and not number.strip("0123456789") else name


def public_edge(edge: Node | tuple | None) -> tuple:
    """Return an edge as `next_functions` shows it: (node, output number), or (None, 0)."""
    if not edge:
        return (None, 0)
    return edge if type(edge) is tuple else (edge, 0)


def init_node(node: Node, edges: tuple) -> Node:
    """Fill in the fields of a node that was just made."""
    node.edges = edges
    node.sequence_nr = next_sequence_nr()
    node.hooks = node.visited = node.notes = None
    return node


class DeadEnd(Node):
    """The edge of a tensor that requires grad only because its base does: its gradient goes nowhere.

    With `v` from `with no_grad(): v = x[:2]`, v.requires_grad is True, and so is that of v * 2, although no path leads
    from either to x. It `is not None`, so the result gets a node; `if edge:` is False, so nothing is sent along it.
    """

    __slots__ = ()

    def __bool__(self):
        return False


DEAD_END = DeadEnd()


# --- leaves ------------------------------------------------------------------------------------------------


class AccumulateGrad(Node):
    """The end of a path: adds what arrives to the `.grad` of its leaf.

    The node holds its leaf, and the leaf holds the node only weakly: so the node lives as long as some graph
    leads to the leaf, and two operations on one leaf share one node.

    A gradient is not `.grad`. What arrives here is complete for one pass; `.grad` is the sum of all passes since it was
    cleared. The first pass stores its gradient or a copy. Later ones add theirs into it; with create_graph, to a copy.
    """

    __slots__ = ("variable",)
    edges, sequence_nr = (), LEAVES_FIRST  # the same for all of them, so they are no fields here

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def apply(self, grad: Tensor | np.ndarray) -> tuple:
        """Return the gradients of the inputs, one for each edge, from that of the output; arrays from an array."""
        leaf = self.variable
        array, meta = leaf.array, leaf.meta
        have = meta.grad
        if not meta.requires_grad:  # switched off after the forward pass
            if leaf.node is not None:
                raise RuntimeError("leaf variable has been moved into the graph interior")
            return ()
        if type(grad) is Tensor:  # create_graph=True: with history, so that adding must make a new tensor
            meta.grad = new_tensor(copy_like(grad.array, array)).copy_(grad) if have is None else have + grad
        elif have is None:
            result = allocate(Tensor)
            result.array = grad if can_steal_grad(grad, array) else copy_like(grad, array)
            result.version = None if result.array is grad else counter_of_copy(array)
            result.node = result.meta = None
            meta.grad = mark_inference(result) if state.inference else result
        else:
            version = counter_of(have)
            try:
                have.array += grad  # the same tensor, changed in place: whoever holds it sees the sum
            except ValueError:
                broadcast_like(grad, have.array)  # raises, and says why
            version.value += 1
        return ()


def can_steal_grad(grad: np.ndarray, like: np.ndarray) -> bool:
    """Return True when nobody else can see this gradient, so that it can become `.grad` without a copy.

    PyTorch takes over a gradient that nobody else refers to even when it is a view of memory that somebody
    does (its issue 34082): two leaves may then share one `.grad`. Here a view is taken over only when it is the
    last thing that looks at the whole of its memory, like the transposed gradient of a linear layer's weight.

    Who else sees an array is asked of Python, which counts the references to it. UNSHARED is the count when only the
    engine and the functions on the way here hold it, and _ONE_VIEW that of memory that one array looks at. Both are
    measured, not written down, since versions of Python count differently. And the strides must be those of the leaf:
    as in PyTorch `.grad` lies in memory as its leaf does, so that an optimizer steps through both in one order.
    """
    if type(grad) is not np.ndarray:
        return True  # a NumPy scalar cannot be changed
    if getrefcount(grad) > UNSHARED:
        return False
    base = grad.base
    if base is None:
        return (grad.ndim < 2 and like.ndim == grad.ndim) or grad.strides == like.strides
    if type(base) is not np.ndarray or getrefcount(base) > _ONE_VIEW:
        return False
    return base.size == grad.size and grad.strides == like.strides


def _references_of_one_view(grad):
    """Return what getrefcount says in `can_steal_grad` of the base that one view looks at."""
    base = grad.base
    return getrefcount(base)


_ONE_VIEW = _references_of_one_view(np.empty(2)[:1])


def counter_of_copy(like: np.ndarray) -> VersionCounter | None:
    """Return the counter of a gradient that was copied for `.grad`.

    PyTorch makes memory stepped through like the leaf and writes the gradient into it, which counts as a write.
    """
    return VersionCounter(1) if like.flags.c_contiguous or is_dense(like) else None


def make_leaf(tensor: Tensor) -> Tensor:
    """Make a tensor without history a leaf that wants a gradient."""
    meta_of(tensor).requires_grad = True
    return tensor


def gradients_of(node: Node, grad: Tensor | np.ndarray) -> list | tuple | None:
    """Return what a node sends along its edges: the result of apply, summed and converted to fit each input."""
    grads = node.apply_to_tensors(grad) if isinstance(grad, Tensor) else node.apply(grad)
    return grads if node.input_metadata is None else validate_outputs(grads, node.input_metadata)
