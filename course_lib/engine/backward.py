"""The backward pass: count each node's consumers, then run nodes as their gradients become complete.

PyTorch: torch/csrc/autograd/engine.cpp (Engine::execute, evaluate_function), graph_task.h, input_buffer.cpp.

Note [When a node may run]
A tensor that is used in three places gets three contributions to its gradient, and the chain rule wants their sum.
So its node has to wait for all three. How many there are is counted before anything runs: `count_dependencies` walks
the graph once. A node that ran on the first contribution would send a part of its gradient onwards, the rest would
follow later, and either everything behind it runs again for each part (2 ** n times for n diamonds in a row) or the
rest is lost. With

    a = x * x;  b = a + x;  c = b * a;  d = c + b;  e = d * a        at x = 2

an engine that runs each node once, in the order in which first contributions arrive, finds 140; the slope is 316.

Note [Which node runs next]
Of all nodes whose gradient is complete, the newest. For a chain that is the forward pass backwards; where branches
are independent any order gives the same sums, and this one has finished with what the forward pass made last, so the
memory that is freed first is what was saved last. Only AccumulateGrad jumps the queue: a gradient that is complete
becomes `.grad` at once and its buffer is gone. Hooks, printed lines and the last digit of sums of floats show the
order, so it is PyTorch's exactly, down to the order in which its queue gives out equals (arrays/heap.py).

Note [Where a pass begins]
A root is a tensor that backward() was called on; its edge is where the pass starts. A seed is the gradient it starts
with: 1 for a loss of one element, else what the caller gave. `backward` lets the gradients run into the leaves,
`grad` catches them where its inputs stand and lets nothing run into `.grad`. Both end in `run`.

Note [What flows along the edges]
NumPy arrays. If each were made a Tensor, a pass would take 1.2 times as long. Hooks and custom Functions are given
tensors, wrapped where they are called. With create_graph=True tensors flow, every formula is an operation like any
other, and the pass leaves a graph behind it: double backward is nothing else.

Note [Fast and careful]
`evaluate` tells the story of a pass, and `run_node_with_hooks` that of a node: read these. Nearly every pass is on
arrays and runs all nodes that it reaches; for these there is `evaluate_fast`, which does the same in half the time.
"""

import warnings
from heapq import heappop, heappush
from operator import attrgetter
from threading import Lock

import numpy as np

from course_lib.arrays import errors, heap, messages
from course_lib.arrays.kernels import copy_of_gradient, named_sizes
from course_lib.arrays.messages import warn_once
from course_lib.engine import grad_mode
from course_lib.engine.checks import as_tensor
from course_lib.engine.graph import LEAVES_FIRST, AccumulateGrad, Node
from course_lib.engine.hooks import call_tensor_hooks, run_posthooks, run_prehooks, run_retain_grad, run_tensor_hooks
from course_lib.engine.saved import read_slot
from course_lib.engine.tensor import Tensor, new_tensor, writable_array
from course_lib.engine.unbroadcast import validate_outputs
from course_lib.engine.views import gradient_edge, requires_grad

state = grad_mode.state
SMALL = 256  # below this many elements a new array is made faster than an old one is added to
_counting = Lock()


class GraphTask:
    """One backward pass: what it was asked for and how far it has come.

    What belongs to a pass is kept here and not in the nodes (but for the mark `visited`), so that several threads can
    run passes over one graph, and a hook can start another pass inside of one.

    roots     the edges it starts from, and `seeds`, the gradient given for each; both become those of `root`
    captures  {node: [(output number, position in the answer)]} for autograd.grad; empty for backward()
    needed    the nodes that must run to reach the inputs asked for; None when all must
    use_fast_path  True for the usual pass, on arrays and through every node: `evaluate_fast` takes it
    """

    __slots__ = ("root", "create_graph", "retain_graph", "captures", "captured", "dependencies", "buffers", "ready",
                 "leaves", "needed", "anomaly", "use_fast_path", "__weakref__")  # fmt: skip

    def __init__(self, roots, seeds, create_graph, retain_graph, captures=None, accumulate_into=()):
        self.root = GraphRoot()
        self.root.edges, self.root.seeds = tuple(roots), tuple(seeds)
        self.create_graph, self.retain_graph = create_graph, retain_graph
        self.captures, self.captured = captures or {}, {}
        self.dependencies = {}  # how many consumers a node still waits for; absent means one
        self.buffers = {}  # the gradient collected so far for each node that waits for more
        self.ready = []  # nodes whose gradient is complete: heap of (-sequence number, node, gradient)
        self.leaves = []  # ... and AccumulateGrad nodes with theirs, which run before all others
        self.needed = None
        self.anomaly = state.anomaly
        nodes = self.count_dependencies()
        if captures or accumulate_into:
            self.find_needed(nodes, accumulate_into)
        self.use_fast_path = self.needed is None and not (create_graph or self.anomaly)

    def count_dependencies(self) -> list:
        """Visit every reachable node once and count the edges that lead to it. Returns the nodes visited.

        Edges to nowhere (None) are no dependencies: counted, they would never be delivered and the queue would
        starve. Most nodes have one consumer, so only counts above one are stored. An edge to one of several outputs is
        stored, too, with a 1 that nobody counts: so all edges for which `add_to_input_buffer` has something to do are
        keys. The list grows while it is walked: that replaces recursion, which a graph a million nodes deep would not
        survive.
        """
        dependencies, nodes, mark = self.dependencies, [self.root], object()
        with _counting:  # `visited` is a field of the nodes, which other threads' passes may share
            for node in nodes:
                for edge in node.edges:
                    if edge:
                        if type(edge) is tuple:  # one of several outputs
                            dependencies[edge] = 1
                            edge = edge[0]
                        if edge.visited is mark:
                            dependencies[edge] = dependencies.get(edge, 1) + 1
                        else:
                            edge.visited = mark
                            nodes.append(edge)
        return nodes

    def add_to_input_buffer(self, edge: Node | tuple, grad: Tensor | np.ndarray | None) -> tuple:
        """Add a gradient to the buffer of its node. The node and the sum, or (None, None) while it waits for more.

        The buffer of a node with several outputs is a list: one gradient for each output that got one.
        """
        buffers, node = self.buffers, edge
        if type(edge) is tuple:
            node, output_nr = edge
            if grad is not None:
                grads = buffers.setdefault(node, [None] * node.output_count)
                grads[output_nr] = grad if grads[output_nr] is None else grads[output_nr] + grad
        elif grad is not None:
            buffers[node] = grad if buffers.get(node) is None else buffers[node] + grad
        left = self.dependencies.get(node, 1) - 1
        if left:
            self.dependencies[node] = left
            return None, None
        self.dependencies.pop(node, None)
        return node, buffers.pop(node, None)

    def queue(self, node: Node, grad: Tensor | np.ndarray | list) -> None:
        """Put a node whose gradient is complete among those that can run."""
        if node.sequence_nr == LEAVES_FIRST:
            self.leaves.append((node, grad))
        else:
            heappush(self.ready, (-node.sequence_nr, node, grad))

    def apply(self, node: Node, grad: Tensor | np.ndarray | list) -> tuple:
        """Run a node on arrays or tensors. What leads to nothing that was asked for is not even computed."""
        run = node.apply_to_tensors if self.create_graph else node.apply
        if self.needed is None or not node.can_skip_inputs:
            return run(grad)
        ends = [edge[0] if type(edge) is tuple else edge for edge in node.edges]
        return run(grad, [edge if self.wants(end) else None for edge, end in zip(node.edges, ends, strict=True)])

    # --- only for `grad` and `inputs=`: which nodes lead to what was asked for --------------------------------

    def find_needed(self, nodes: list, accumulate_into: set | tuple) -> None:
        """Find the nodes on some path to an input. Older nodes come first: all that a node leads to is older.

        So one look at each node decides: it is needed when something that it leads to is. What an input was computed
        from is not, and neither runs nor loses its saved tensors.
        """
        self.needed = set(accumulate_into)
        order = sorted([node for node in nodes if node.edges], key=attrgetter("sequence_nr"))
        for node in order:
            for edge in node.edges:
                if edge and self.wants(edge[0] if type(edge) is tuple else edge):
                    self.needed.add(node)
                    break

    def should_execute(self, node: Node) -> bool:
        """Return True for nodes on a path to what was asked for; in an ordinary pass for all."""
        return self.needed is None or node in self.needed

    def wants(self, node: Node | None) -> bool:
        """Return True for those that must run, and for those at which a gradient is only caught."""
        return self.needed is None or node in self.needed or node in self.captures

    def skips(self, node: Node) -> bool:
        """Return True for nodes that lead to nothing that was asked for: their gradient is dropped where it arrives."""
        if self.wants(node):
            return False
        # In `grad(y, x)` with a y that does not depend on x, y's node is visited all the same: its tensor hooks run.
        return [edge[0] if type(edge) is tuple else edge for edge in self.root.edges] != [node]


class GraphRoot(Node):
    """Stands before the roots, so that a root that other roots depend on waits for them like any node.

    In `backward([y, z])` with z = y * 2, y must not run before the contribution from z is in.
    """

    __slots__ = ("seeds",)
    sequence_nr = LEAVES_FIRST - 1


def evaluate(task: GraphTask) -> None:
    """Run a backward pass: deliver what a node sends, choose the next one, run it; from the root until none is left.

    `node` is what ran last and `grads` what it sends, one for each of its edges. The root sends the gradients that the
    caller gave. `skips`, here, and `wants` and `capture`, further on, are about autograd.grad and `inputs=` only.
    """
    if task.use_fast_path:
        evaluate_fast(task)
        return
    node, grads, dependencies = task.root, task.root.seeds, task.dependencies
    while node is not None:
        # 1. Deliver: what is complete is queued, unless it leads to nothing that was asked for.
        for edge, grad in zip(node.edges, grads, strict=True):
            following = edge or None  # None: the input was a constant, or its edge is a dead end
            if edge in dependencies:  # it has several consumers, or is one of several outputs
                following, grad = task.add_to_input_buffer(edge, grad)
            if following is not None and not task.skips(following):
                task.queue(following, grad)
        # Nothing here may hold on to the gradients: AccumulateGrad takes over what nobody else refers to, and an
        # array that is held longer than it is needed is memory that a large model does not have.
        grads = grad = None
        # 2. Choose: leaves at once, otherwise the node that was made last.
        if task.leaves:
            run_leaves(task, node)
        _, node, grad = heappop(task.ready) if task.ready else (None, None, None)
        # 3. Run it, let go of what it kept, and undo what broadcasting did to its inputs.
        if node is not None:
            grads = run_and_release(task, node, grad)
            if node.input_metadata is not None:
                grads = validate_outputs(grads, node.input_metadata)


def evaluate_fast(task: GraphTask) -> None:
    """Do what `evaluate` does, on arrays and through every node. tests/engine/test_evaluate.py compares them.

    Most nodes have one consumer and no hooks. Those are queued and run here without a call. The newest ready node is
    kept out of the heap: a chain then needs none.
    """
    dependencies, buffers, ready, leaves = task.dependencies, task.buffers, task.ready, task.leaves
    retain, node, grads = task.retain_graph, task.root, task.root.seeds
    owned = set()  # nodes whose buffer was made here by adding, so that more can be added in place
    newest, newest_number, arrived = None, -1, None
    while True:
        # 1. Deliver.
        for edge, grad in zip(node.edges, grads):  # noqa: B905  (strict=True costs 3 % of a chain)
            if not edge:
                continue  # the input was a constant
            following = edge
            if edge in dependencies:  # it has several consumers, or is one of several outputs
                have, left = buffers.get(edge), dependencies[edge] - 1
                if have is not None and grad is not None:
                    # The first contribution is not copied. It may be an array that other nodes were given as well
                    # (`a + b` sends one both ways), so the second makes a new array: only that may be added to.
                    if owned and edge in owned:
                        have += grad
                        grad = have
                    else:
                        grad = have + grad
                        if left and grad.size >= SMALL:
                            owned.add(edge)
                    if left:
                        buffers[edge], dependencies[edge] = grad, left
                        continue
                    del buffers[edge]
                else:
                    following, grad = task.add_to_input_buffer(edge, grad)
                    if following is None:
                        continue
            number = following.sequence_nr
            if number == LEAVES_FIRST:
                leaves.append((following, grad))
            elif number > newest_number:
                if newest is not None:
                    heappush(ready, (-newest_number, newest, arrived))
                newest, newest_number, arrived = following, number, grad
            else:
                heappush(ready, (-number, following, grad))
        grads = grad = have = None
        # 2. Choose.
        if leaves:
            run_leaves(task, node, newest)
        if newest is not None and (not ready or newest_number > -ready[0][0]):
            node, grad = newest, arrived
            newest, newest_number, arrived = None, -1, None
        elif ready:
            _, node, grad = heappop(ready)
        else:
            return
        # 3. Run.
        if grad is not None and node.hooks is None:
            grads = node.apply(grad)
            if node.releases and not retain:
                node.release()
        else:
            grads = run_and_release(task, node, grad)
        if node.input_metadata is not None:
            grads = validate_outputs(grads, node.input_metadata)
        grad = None


def run_leaves(task: GraphTask, node: Node, newest: Node | None = None) -> None:
    """Run the leaves whose gradients `node` completed: all of them, before any other node."""
    leaves = task.leaves
    if len(leaves) > 2:  # PyTorch's heap gives out two equals as they came, but not three
        leaves[:] = heap.priority_queue_order(node, leaves, task.ready, newest)
    while leaves:
        leaf, grad = leaves.pop(0)
        meta = leaf.variable.meta
        if not task.use_fast_path or grad is None or leaf.hooks or meta.hooks or meta.post_accumulate_hooks:
            run_node_with_hooks(task, leaf, grad)
            grad_mode.set_grad_mode(task.create_graph)  # a hook may have switched it
        else:
            leaf.apply(grad)


def run_and_release(task: GraphTask, node: Node, grad: Tensor | np.ndarray | list) -> tuple | None:
    """Run a node and let go of what it kept: one by one, so that memory falls while the pass goes on.

    An error in a hook leaves what has not run yet as it was.
    """
    is_needed = task.should_execute(node)
    special = node.hooks is not None or task.anomaly or node in task.captures
    if grad is None or special or not is_needed:
        grads = run_node_with_hooks(task, node, grad)
        grad_mode.set_grad_mode(task.create_graph)  # whatever a hook has switched lasts for its node
    else:
        grads = task.apply(node, grad)
    if is_needed and not task.retain_graph:
        node.release()
    return grads


def run_node_with_hooks(task: GraphTask, node: Node, grad: Tensor | np.ndarray | None) -> tuple:
    """Run a node, with whatever may be special about it.

    In PyTorch's order: hooks of the node's tensors; retain_grad; prehooks; the node itself; its hooks. The gradient
    that autograd.grad asked for is caught after the tensor hooks: grad(loss, [h]) gives what h's hooks made of it. But
    in grad(loss, [h, x]), with x behind h, h's node must run as well, and then it is caught before h's hooks.
    """
    several = node.several_outputs
    if task.anomaly:
        state.evaluating = node
    grads = (grad or [None] * node.output_count) if several else [grad]
    is_needed = task.should_execute(node)
    if is_needed and node in task.captures:
        capture(task, node, grads)
    if type(node) is AccumulateGrad:
        return run_leaf(task, node, grads, is_needed)
    if node.hooks is not None:
        grads = run_tensor_hooks(node, grads)
        run_retain_grad(node, grads)
    if not is_needed:
        capture(task, node, grads)
        return (None,) * len(node.edges)
    if node.hooks is not None:
        grads = run_prehooks(node, grads)
    if not node.runs_without_gradient and (all(g is None for g in grads) or not any(node.edges)):
        for name in node.saved_tensor_names:
            read_slot(node, name)  # what was overwritten is noticed even when nothing is to be computed
        grad_inputs = (None,) * len(node.edges)
    else:
        grad_inputs = task.apply(node, grads if several else grads[0])
    if node.hooks is not None and node.hooks.post:
        if node.input_metadata is not None:
            grad_inputs = validate_outputs(grad_inputs, node.input_metadata)  # `evaluate` does so again: they fit
        grad_inputs = run_posthooks(node, grad_inputs, grads)
    if state.anomaly and state.anomaly_check_nan:
        state.anomaly.check_nan(node, grad_inputs, task.retain_graph)
    return grad_inputs


def run_leaf(task: GraphTask, node: Node, grads: list, is_needed: bool) -> tuple:
    """Run the end of a path: the leaf's hooks, the accumulation, and the hooks that follow it.

    A leaf that autograd.grad asked for ends before the accumulation: its `.grad` is not touched.
    """
    meta = node.variable.meta
    if meta.hooks:
        grads[0] = call_tensor_hooks(meta.hooks, grads[0])
    if not is_needed:
        capture(task, node, grads)
        return ()
    if node.hooks is not None:
        grads = run_prehooks(node, grads)
    if grads[0] is not None:
        node.apply(grads[0])
        if state.anomaly and meta.grad is not None and meta.grad.version is not None:
            state.anomaly.note_write(meta.grad.version)
    # PyTorch calls these through the loop for tensor hooks as well: so a tensor that they return is what comes back.
    if call_tensor_hooks(meta.post_accumulate_hooks or {}, node.variable) is not node.variable:
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")
    if node.hooks is not None:
        run_posthooks(node, (), grads)
    return ()


def capture(task: GraphTask, node: Node, grads: list) -> None:
    """Keep what autograd.grad was asked for."""
    for output_nr, position in task.captures.get(node, ()):
        task.captured[position] = grads[output_nr]


def run(task: GraphTask) -> None:
    """Run a whole backward pass; recording is on in it exactly when create_graph is.

    After an error the mode and the outer pass are as before. What had run by then stays done, as in PyTorch: some
    leaves have their gradient, and the saved tensors of the nodes that ran are gone.
    """
    before, outer = grad_mode.set_grad_mode(task.create_graph), state.task
    state.task, evaluating = task, state.evaluating
    try:
        evaluate(task)
    except Exception as error:
        if state.anomaly and state.evaluating is not evaluating:
            state.anomaly.report(state.evaluating)
        if isinstance(error, ValueError) and (named := named_sizes(error)) is not error:
            raise named from None
        raise
    finally:
        state.task, state.evaluating = outer, evaluating
        grad_mode.set_grad_mode(before)


# --- what users call ----------------------------------------------------------------------------------------


def backward(
    tensors: object, grad_tensors: object = None, retain_graph: bool | None = None, create_graph: bool = False,
    grad_variables: object = None, inputs: object = None,
) -> None:
    """Add the gradients of `tensors` (weighted by `grad_tensors`) to the `.grad` of the leaves they depend on.

    With `inputs` only those tensors receive a gradient, leaves or not. RuntimeError when a tensor has no history,
    or a gradient is missing for one with several elements, or has another shape. `grad_variables` is the old name of
    `grad_tensors`.
    """
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(messages.GRADIENTS_TWICE)
        grad_tensors = grad_variables
    targets = set()
    if inputs is not None and not (inputs := as_list(inputs)):
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots, seeds = begin(as_list(tensors), grad_tensors, create_graph)
    for tensor in inputs or ():
        if isinstance(tensor, Tensor) and (not requires_grad(tensor) or tensor.grad_fn is not None):
            tensor.retain_grad()  # how a computed tensor gets its `.grad`; one without gradient is refused
        targets.add(edge_of_input(tensor)[0])
    retain_graph = create_graph if retain_graph is None else retain_graph
    try:
        run(GraphTask(roots, seeds, create_graph, retain_graph, accumulate_into=targets))
    finally:
        if create_graph:
            warn_once(messages.CREATE_GRAPH_CYCLE, stacklevel=3)


def grad(
    outputs: object, inputs: object, grad_outputs: object = None, retain_graph: bool | None = None,
    create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
    is_grads_batched: bool = False, materialize_grads: bool = False,
) -> tuple:
    """Return the gradients of `outputs` (weighted by `grad_outputs`) for `inputs`, as a tuple (a dict for a dict).

    Nothing is stored in `.grad`. RuntimeError for an input that the outputs do not depend on, unless allow_unused
    (then None) or materialize_grads (then zeros). `only_inputs` is a relic: whatever it is, it changes nothing.
    """
    if not only_inputs:
        warnings.warn(messages.ONLY_INPUTS, FutureWarning, stacklevel=2)
    if is_grads_batched:
        raise errors.not_supported("is_grads_batched", "Call autograd.grad once for each gradient.")
    if materialize_grads and allow_unused is False:
        raise ValueError(messages.MATERIALIZE_UNUSED)
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    wanted = as_list(inputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    roots, seeds = begin(as_list(outputs), grad_outputs, create_graph)
    captures = {}
    for position, tensor in enumerate(wanted):
        node, output_nr = edge_of_input(tensor)
        captures.setdefault(node, []).append((output_nr, position))
    task = GraphTask(roots, seeds, create_graph, create_graph if retain_graph is None else retain_graph, captures)
    run(task)
    results = finish_gradients(task, wanted, allow_unused, materialize_grads)
    return dict(zip(inputs, results, strict=True)) if isinstance(inputs, dict) else tuple(results)


def _backward_of_tensor(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Compute gradients of this tensor for all leaves it was computed from, and add them to their `.grad`.

    gradient: what to start with, of this tensor's shape; may be left out for a single element.
    """
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


_backward_of_tensor.__name__, _backward_of_tensor.__qualname__ = "backward", "Tensor.backward"
Tensor.backward = _backward_of_tensor


# --- roots and seeds: where a pass begins, and what is asked of it ------------------------------------------


def is_edge(value: object) -> bool:
    """Return True for a GradientEdge, a named tuple whose last field is `ownership_token`."""
    return isinstance(value, tuple) and hasattr(value, "ownership_token")


def as_list(values: object) -> list:
    """Return a list from one tensor or gradient edge, or from several in a sequence or a dict."""
    if type(values) is Tensor:
        return [values]
    values = values.values() if isinstance(values, dict) else values
    return [values] if isinstance(values, Tensor) or is_edge(values) else list(values)


def begin(outputs: list, grad_outputs: object, create_graph: bool) -> tuple:
    """Return the edges a pass starts from and the gradients it starts with. RuntimeError for what cannot be a root."""
    if grad_outputs is None:
        if len(outputs) == 1 and type(outputs[0]) is Tensor and outputs[0].node is not None and outputs[0].meta is None:
            # A loss, with which nearly every pass begins: no view, no hooks. No more needs to be asked.
            return [outputs[0].node], [root_gradient(outputs[0], None, create_graph, 0)]
        grad_outputs = [None] * len(outputs)
    grad_outputs = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)[: len(outputs)]
    if len(grad_outputs) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grad_outputs)} gradients")
    seeds = []
    for position, (output, grad) in enumerate(zip(outputs, grad_outputs, strict=True)):
        is_constant = grad is None and isinstance(output, Tensor) and not requires_grad(output)
        seeds.append(None if is_constant else root_gradient(output, grad, create_graph, position))
    edges = [edge_of_root(output) for output in outputs]
    for position, edge in enumerate(edges):
        if not edge:  # no history, or a dead end
            raise errors.no_history(position)
    return edges, seeds


def root_gradient(tensor: object, grad: Tensor | None, create_graph: bool, position: int) -> Tensor | np.ndarray | None:
    """Return the gradient a pass starts with at one root: what was given, checked, or 1 for a single element."""
    if is_edge(tensor):
        return seed_of_edge(tensor, grad, create_graph, position)
    if not isinstance(tensor, Tensor):
        raise AssertionError("Expected output to be a torch.Tensor")
    array = tensor.array
    if grad is None:
        if array.size != 1:
            raise RuntimeError(errors.NOT_A_SCALAR)
        ones = np.ones(array.shape, array.dtype) if type(array) is np.ndarray else array.dtype.type(1)
        return as_tensor(ones) if create_graph else ones
    if not isinstance(grad, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")
    if grad.array.shape != array.shape:
        raise messages.gradient_shape_mismatch(position, grad.shape, tensor.shape)
    if create_graph:
        return grad if grad.array.dtype == array.dtype else grad.to(tensor.dtype)
    return writable_array(grad).astype(array.dtype, copy=False)


def seed_of_edge(edge: object, grad: Tensor | None, create_graph: bool, position: int) -> np.ndarray | None:
    """Return the same at a gradient edge. Where the form of its tensor is not known, any gradient is taken as it is."""
    if edge.form is not None:
        return root_gradient(new_tensor(np.empty(*edge.form)), grad, create_graph, position)
    if grad is None:
        raise RuntimeError(errors.NOT_A_SCALAR)
    return grad if create_graph else grad.array


def edge_of_root(root: object) -> Node | tuple:
    """Return the edge that a pass starts from, at a tensor or at a gradient edge; None for a tensor without history."""
    if is_edge(root):
        return (root.node, root.output_nr) if root.node.several_outputs else root.node
    return gradient_edge(root)


def edge_of_input(tensor: object) -> tuple:
    """Return (node, output number) at which the gradient of a tensor or gradient edge is caught, or RuntimeError."""
    if is_edge(tensor):
        return tensor.node, tensor.output_nr
    if not isinstance(tensor, Tensor):
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(tensor).__name__}")
    edge = gradient_edge(tensor) if requires_grad(tensor) else None
    if edge is None:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return edge if isinstance(edge, tuple) else (edge, 0)


def finish_gradients(task: GraphTask, inputs: list, allow_unused: bool, materialize_grads: bool) -> list:
    """Return what was caught, as tensors; what was not, as an error, None or zeros."""
    results = []
    for position, tensor in enumerate(inputs):
        caught = task.captured.get(position)
        if caught is None and not allow_unused:
            raise messages.unused_input(position)
        if caught is None and materialize_grads:
            if is_edge(tensor):
                raise RuntimeError(messages.MATERIALIZED_EDGE)
            caught = as_tensor(np.zeros_like(tensor.array))
            caught.requires_grad = task.create_graph
        elif caught is not None and not isinstance(caught, Tensor):
            caught = as_tensor(caught if getattr(caught, "base", None) is None else copy_of_gradient(caught))
        results.append(caught)
    return results
