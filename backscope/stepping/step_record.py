"""One backward pass, recorded while it runs: what each node got, sent, freed, and what came to be in `.grad`.

The record is made by hooks on nodes, which both libraries offer, so that one recorder serves both. Counts and
the ready queue cannot be seen from hooks; they follow from the graph and from the order in which nodes ran, and
that order is checked against the engine's rule. Nothing here keeps a tensor: a `Recording` holds words.
"""

import bisect
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from backscope.graph.model import FREED
from backscope.graph.node_facts import read_slots, sequence_nr
from backscope.graph.reader import Reader
from backscope.graph.tensor_facts import PREVIEW, place, preview, window
from backscope.stepping.heap import pop_order

NOTHING = "nothing"


@dataclass
class Sent:
    """One gradient on its way along one edge."""

    position: int  # which input of the node it is for
    target: int  # index of the node it goes to
    output: int  # ... and for which of that node's outputs
    text: str
    sum: str  # how it joins what was there: "1. + 3. = 4."
    total: str  # what the buffer holds then: "4."
    again: bool = False  # the memory of what went along an earlier arrow of the node


@dataclass
class NodeStep:
    """The work of one node."""

    node: int
    got: str = ""
    held: str = ""  # what its buffer held, when a hook made something else of it
    written: list = field(default_factory=list)  # (node, what waited in its buffer before, after): written in place
    sent: list = field(default_factory=list)
    freed: list = field(default_factory=list)  # words: "self = x"
    grads: list = field(default_factory=list)  # (index of a value, its .grad before, after)
    error: str = ""  # why it failed
    began: bool = True  # False when a hook failed before the node could run


@dataclass
class Frame:
    """The state of the engine after one step; before the first when `step` is None."""

    number: int
    step: NodeStep | None
    counts: list  # for each gradient sent: (count before, after), or None when it was not asked for
    ready: list  # nodes, the next one first
    waiting: dict  # node -> for how many gradients it waits
    done: set
    buffers: dict  # node -> words
    grads: dict  # index of a value -> words
    freed: dict  # node -> how many saved tensors it let go


class StepReader(Reader):
    """Reads the graph; a leaf that is asked for brings its AccumulateGrad, which nothing else leads to."""

    roots = ()

    def read_nodes(self, starts) -> None:
        super().read_nodes([*starts, *(node for node, _ in self.roots)])


class Queue:
    """The engine's bookkeeping, from the graph alone: who waits for how many, who is ready, who is next.

    AccumulateGrad comes before everything else; otherwise the node that was made last goes first. Several
    AccumulateGrad nodes that became ready at once leave PyTorch's queue in the order of its heap, and ours too.
    """

    def __init__(self, graph, order, roots, needed):
        self.graph, self.order, self.needed = graph, order, needed
        self.counts = Counter(target for node in graph.nodes for _, target, _ in node.edges if target is not None)
        self.counts.update(node for node, _ in roots)
        self.leaves, self.others, self.done = [], [], set()  # ready: first the leaves in turn, then the newest
        self.arrived = []  # ... and what became ready since a node was last taken
        for node, _ in roots:
            self.deliver(node)

    def deliver(self, node) -> tuple | None:
        """Count one more gradient for a node: (count before, after), or None when the node is not asked for."""
        before = self.counts[node]
        self.counts[node] = before - 1
        if self.needed is not None and node not in self.needed:
            return None
        if before == 1:
            self.arrived.append(node)
        return before, before - 1

    def arrange(self) -> None:
        """Give what became ready its place."""
        arrived, self.arrived = self.arrived, []
        leaves = [node if self.graph.nodes[node].accumulates else None for node in arrived]
        self.leaves += pop_order(leaves, len(self.others))
        for node, leaf in zip(arrived, leaves, strict=True):
            if leaf is None:
                bisect.insort(self.others, node, key=lambda i: -self.order[i])

    @property
    def ready(self) -> list[int]:
        """The nodes that are ready, the next one first."""
        self.arrange()
        return self.leaves + self.others

    def next(self) -> int | None:
        """Return the node that the rule chooses; None when the queue is empty."""
        self.arrange()
        return next(iter(self.leaves or self.others), None)

    def take(self, node) -> bool:
        """Take a node that ran. False when the rule would have chosen another."""
        expected = self.next()
        self.done.add(node)
        for queue in (self.leaves, self.others):
            if node in queue:
                queue.remove(node)
        return node == expected

    def run_on(self) -> list[int]:
        """Return the nodes that would still run, in order."""
        found = []
        while (node := self.next()) is not None:
            self.take(node)
            found.append(node)
            for _, target, _ in self.graph.nodes[node].edges:
                if target is not None:
                    self.deliver(target)
        return found


def needed_for(graph, targets) -> set[int] | None:
    """Return the nodes on some path to a target, with the targets; None, which means all, without targets."""
    if targets is None:
        return None
    users = [[] for _ in graph.nodes]
    for i, node in enumerate(graph.nodes):
        for _, target, _ in node.edges:
            if target is not None:
                users[target].append(i)
    needed, todo = set(), list(targets)
    while todo:
        node = todo.pop()
        if node not in needed:
            needed.add(node)
            todo.extend(users[node])
    return needed


# --- while the pass runs -----------------------------------------------------------------------------------


class Sum:
    """The gradients that arrived for one output of a node, added up; kept as numbers only when they are few."""

    def __init__(self):
        self.text, self.total, self.added = None, None, 0
        self.only = None  # the memory of the only gradient that has arrived: others may hold it, too, and write into it

    def add(self, grad) -> str:
        """Add one more gradient. Returns in words how it joins the others."""
        text, before = preview(grad), self.text
        few = 0 < grad.numel() <= PREVIEW and not text.startswith("shape")
        self.added += 1
        if before is None:
            self.total, self.text = grad.detach().clone() if few else None, text
            self.only = grad.detach() if few else None
            return text
        self.only = None
        if not few or self.total is None:
            self.total, self.text = None, text
            return f"{self.added} gradients of {text} added up"
        self.total = self.total + grad.detach()
        self.text = preview(self.total)
        return f"{before} + {text} = {self.text}"

    def look_again(self) -> bool:
        """Tell whether somebody has written into the only gradient that has arrived."""
        if self.only is None or preview(self.only) == self.text:
            return False
        self.total, self.text = self.only.clone(), preview(self.only)
        return True


def one_memory(a, b) -> bool:
    """Tell whether two gradients are the same elements of one memory. A lone number of ours has none to look at."""
    return a is b or bool(a.dim() and b.dim() and place(a) and (place(a), window(a)) == (place(b), window(b)))


def buffer_text(sums) -> str:
    """Write what a buffer holds."""
    return "; ".join(f"output {k}: {s.text}" if k else s.text for k, s in sorted(sums.items()))


def words(texts) -> str:
    """Write one gradient, or those of several outputs."""
    texts = [NOTHING if text is None else text for text in texts]
    return texts[0] if len(texts) == 1 else "(" + ", ".join(texts) + ")"


class PassRecorder:
    """Hooks on every node of a graph, and what they saw."""

    def __init__(self, reader, graph, watched):
        self.reader, self.graph = reader, graph
        self.nodes = reader.found
        self.watched = watched  # node -> [(index of a value, tensor)]: whose .grad may change when it runs
        self.grads = {v: graph.values[v].grad or "None" for pairs in watched.values() for v, _ in pairs}
        self.steps, self.buffers = [], {}
        self.running = self.settled = None
        self.handles = []
        self.fault = None  # an error of the recorder's own: it must not end the pass it looks at

    def __enter__(self):
        for i, node in enumerate(self.nodes):
            self.handles.append(node.register_prehook(self.hook(self.begin, i)))
            self.handles.append(node.register_hook(self.hook(self.end, i)))
        return self

    def __exit__(self, *error):
        for handle in self.handles:
            handle.remove()
        self.handles.clear()

    def hook(self, method, i) -> Callable:
        """Make a hook that changes nothing, whatever happens in it."""

        def look(grads, *outputs):
            if self.fault is None:
                try:
                    method(i, grads)
                except Exception as error:
                    self.fault = error

        return look

    def seed(self, node, output, grad) -> str:
        """Note a gradient that the pass starts with. Returns it in words."""
        return self.buffers.setdefault(node, {}).setdefault(output, Sum()).add(grad)

    def begin(self, i, grads) -> None:
        """Note that a node is about to run on these gradients."""
        self.settle()
        sums = self.buffers.pop(i, {})
        got = words([None if grad is None else preview(grad) for grad in grads])
        held = words([sums[k].text if k in sums else None for k in range(len(grads))])
        self.running = NodeStep(i, got, held if held != got else "")
        self.steps.append(self.running)
        self.look_for_writes()

    def end(self, i, grads) -> None:
        """Note that a node ran and gives these gradients to its inputs."""
        self.look_for_writes()
        gone = []
        for (position, target, output), grad in zip(self.graph.nodes[i].edges, grads, strict=False):
            if target is not None:
                sums = self.buffers.setdefault(target, {})
                text = joined = NOTHING
                if grad is not None:
                    text, joined = preview(grad), sums.setdefault(output, Sum()).add(grad)
                again = grad is not None and any(one_memory(grad, other) for other in gone)
                self.running.sent.append(Sent(position, target, output, text, joined, buffer_text(sums), again))
                gone += [] if grad is None else [grad]
        self.running = None

    def look_for_writes(self) -> None:
        """Note whether a hook, or a backward, has written into a gradient that waits for another node."""
        for node, sums in self.buffers.items():
            before = buffer_text(sums)
            if any([one.look_again() for one in sums.values()]):
                self.running.written.append((node, before, buffer_text(sums)))

    def settle(self) -> None:
        """Look, after a node ran, at what it let go of, and at the gradients it led to."""
        if not self.steps or self.steps[-1] is self.settled:
            return
        step = self.settled = self.steps[-1]
        step.freed = self.freed(step.node)
        for v, tensor in self.watched.get(step.node, ()):
            before, after = self.grads[v], grad_words(tensor)
            if after != before:
                step.grads.append((v, before, after))
                self.grads[v] = after

    def freed(self, i) -> list[str]:
        """Write the saved tensors of a node that were there before the pass and are not there now."""
        before = [slot for slot in self.graph.nodes[i].slots if slot.state != FREED]
        if not before:
            return []
        names = self.reader.slot_names.of(self.nodes[i])[0]
        kept = {label for label, state, *_ in read_slots(self.nodes[i], names) if state != FREED}
        return [slot_words(self.graph, slot) for slot in before if slot.name not in kept]

    def fail(self, error, text, expected) -> None:
        """Say at which node the pass ended in an error."""
        self.settle()
        if self.running is not None:
            self.running.error = text
        elif self.steps and refuses_result(str(error), self.graph.nodes[self.steps[-1].node].name):
            self.steps[-1].error = text
            self.steps[-1].sent.clear()
        elif expected is not None:
            self.steps.append(NodeStep(expected, error=text, began=False))


def refuses_result(message, name) -> bool:
    """Tell the engine's complaint about what a node returned, which comes after the node's hooks."""
    return message.startswith((f"Function {name} returned", f"Function '{name}' returned"))


def grad_words(tensor) -> str:
    """Write the .grad of a tensor."""
    return "None" if tensor.grad is None else preview(tensor.grad)


def slot_words(graph, slot) -> str:
    """Write a saved tensor that was let go: 'self = x'."""
    what = graph.title(slot.value) if slot.value is not None else slot.content
    return f"{slot.name} = {what}" if what else slot.name


# --- afterwards --------------------------------------------------------------------------------------------


class PassRecording:
    """A backward pass that is over: its graph, its steps, and the state of the engine after each of them."""

    def __init__(self, graph, order, roots, needed, seeds, steps, grads):
        self.graph, self.roots, self.needed, self.seeds, self.steps = graph, roots, needed, seeds, steps
        self.queue_order = order
        self.first_grads = grads
        self.notes = []  # sentences on the whole pass
        self.error = None
        queue = Queue(graph, order, roots, needed)
        self.start_counts = {i: queue.counts[i] for i in self.taking_part()}
        self.planned = queue.run_on()
        self.strays = self.check_order()

    @property
    def failed(self) -> NodeStep | None:
        """The last step, when it failed; otherwise None."""
        return self.steps[-1] if self.steps and self.steps[-1].error else None

    def taking_part(self) -> list[int]:
        """Return the indexes of the nodes that the pass should run, the newest first, then the leaves."""
        nodes = self.graph.nodes
        found = [i for i in range(len(nodes)) if self.needed is None or i in self.needed]
        return sorted(found, key=lambda i: (nodes[i].accumulates, i if nodes[i].accumulates else -i))

    def check_order(self) -> list[int]:
        """Return the numbers of steps at which another node ran than the rule would choose."""
        queue, strays = Queue(self.graph, self.queue_order, self.roots, self.needed), []
        for number, step in enumerate(self.steps, 1):
            if not queue.take(step.node) and step.began:
                strays.append(number)
            for sent in step.sent:
                queue.deliver(sent.target)
        return strays

    def never_ran(self) -> list[int]:
        """Return the nodes that should have run and did not, in the order in which they would have."""
        ran = {step.node for step in self.steps if not step.error}
        return [i for i in self.planned if i not in ran]

    def frames(self, wanted) -> list:
        """Return the frames with these numbers; 0 is the state before the first step."""
        queue = Queue(self.graph, self.queue_order, self.roots, self.needed)
        buffers, grads, freed = dict(self.seeds), dict(self.first_grads), {}

        def frame(number, step, counts):
            return Frame(
                number, step, counts, queue.ready,
                {i: queue.counts[i] for i in self.start_counts if queue.counts[i] > 0 and i not in queue.done},
                set(queue.done), dict(buffers), dict(grads), dict(freed),
            )  # fmt: skip

        found = [frame(0, None, [])] if 0 in wanted else []
        for number, step in enumerate(self.steps, 1):
            queue.take(step.node)
            buffers.pop(step.node, None)
            buffers.update((node, after) for node, _, after in step.written if node in buffers)
            counts = [queue.deliver(sent.target) for sent in step.sent]
            for sent, count in zip(step.sent, counts, strict=True):
                if sent.text != NOTHING and count is not None:
                    buffers[sent.target] = sent.total
            grads.update((v, after) for v, _, after in step.grads)
            if step.freed:
                freed[step.node] = len(step.freed)
            if number in wanted:
                found.append(frame(number, step, counts))
        return found


def order_of(nodes) -> list[int]:
    """Return when each node was made."""
    return [sequence_nr(node) for node in nodes]
