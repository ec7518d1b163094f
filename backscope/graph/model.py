"""The model of a picture, as plain data: values, nodes, saved tensors, shared memory; and in which order.

Nothing here keeps a tensor alive: a `Graph` holds words and numbers, taken at the moment of drawing (reader.py).
"""

from dataclasses import dataclass, field

STALE, FREED, PACKED, DETACHED, OK = "STALE", "FREED", "packed by hooks", "DETACHED", "ok"
UNWATCHED = "unwatched"  # a tensor that a custom Function put on ctx by itself: nobody checks its version
ACCUMULATE = "AccumulateGrad"


@dataclass
class TensorInfo:
    """A tensor that is alive: one the learner named, a leaf, or one that only the graph still holds."""

    name: str
    named: bool
    preview: str
    dtype: str
    shape: str
    version: int | None  # None for an inference tensor, which has no counter
    leaf: bool
    requires_grad: bool
    frozen: bool  # a Parameter that does not require grad
    node: int | None  # index in Graph.nodes of the node that computed its present value
    output_nr: int = 0
    outside: str = ""  # its grad_fn, when that is not part of this graph
    grad: str | None = None  # for leaves that require grad and for tensors that retain theirs
    retains_grad: bool = False
    also: list = field(default_factory=list)  # its other names
    view_of: int | None = None  # index in Graph.values
    grad_of: int | None = None  # index of the leaf whose .grad it is, when its history leads back to that leaf
    hooks: list = field(default_factory=list)  # their names, "" for one that has none
    post_hooks: list = field(default_factory=list)
    problem: str = ""  # why PyTorch refuses to say more about it
    asked: bool = False  # it was given to draw()
    memory: int | None = None  # index in Graph.memories, when it shares memory with another value
    inputs: list = field(default_factory=list)  # indexes of the values it was computed from
    token: int = 0  # the same number for the same tensor, in every picture


@dataclass
class SavedSlot:
    """One place in which a backward node keeps a tensor."""

    name: str
    state: str
    value: int | None = None  # the value that it holds, when that has a box of its own
    content: str = ""  # what it holds, when nothing else shows it
    wrote: str = ""  # the line of code that wrote into it since, when somebody knows
    saved: int | None = None  # the version when it was saved
    now: int | None = None  # the version now


@dataclass
class NodeInfo:
    """A node of the backward graph; or, when `folded` is set, a box that stands for several."""

    name: str
    number: int | None = None  # 1, 2, 3 … in the order in which they were made; None for AccumulateGrad
    edges: list = field(default_factory=list)  # (input number, index of the next node or None, its output)
    slots: list = field(default_factory=list)
    kept: list = field(default_factory=list)  # (name, number) pairs such as ("exponent", "2")
    accumulates: bool = False  # ends a path in a leaf: an AccumulateGrad
    leaf: int | None = None  # AccumulateGrad only: index of the value that it adds to
    slopes: dict = field(default_factory=dict)  # input number -> its slope in words, when asked for
    folded: int = 0  # how many nodes this box stands for
    folded_slots: dict = field(default_factory=dict)  # state -> how many of them
    lines: list = field(default_factory=list)  # a folded box's own words
    key: object = None  # the same for the same node, in every picture; None for AccumulateGrad
    hooks: list = field(default_factory=list)  # on the node itself, after it: their names
    prehooks: list = field(default_factory=list)  # on the node itself, before it


@dataclass
class Memory:
    """Values that look at one memory and share one version counter."""

    members: list
    version: int | None


@dataclass
class Graph:
    """Everything a picture and its listing are made from."""

    values: list
    nodes: list  # in the order in which they were made, each AccumulateGrad before its first user
    memories: list
    other_counter: list  # (value, value): same memory, but a counter each
    asked: list = field(default_factory=list)  # indexes of the values given to draw(), in that order
    folds: list = field(default_factory=list)  # sentences: what was folded
    leaves: set = field(default_factory=set)  # names of the leaves that gradients reach, before folding
    missed: list = field(default_factory=list)  # names of parameters that no gradient reaches from here
    by_module: bool = False  # whether nodes were folded into modules
    parts: dict = field(default_factory=dict)  # name -> (number of its first node, of its last)
    counts: tuple = (0, 0, 0)  # backward nodes, leaves that require grad and saved tensors, before folding

    def title(self, index: int) -> str:
        """Return a value's name."""
        return self.values[index].name

    def node_words(self, index: int) -> str:
        """Name a node in a sentence: 'MulBackward0 (node 1)'."""
        node = self.nodes[index]
        return f"{node.name} (node {node.number})"

    def node_title(self, index: int) -> str:
        """Return a node's number and name, 'AccumulateGrad of w', or a folded box's first words."""
        node = self.nodes[index]
        if node.folded:
            return node.lines[0]
        if node.accumulates:
            return f"{ACCUMULATE} of {self.title(node.leaf)}"
        return f"{node.number} {node.name}"


# --- order, and what was computed from what ------------------------------------------------------------------


def put_in_order(graph: Graph) -> None:
    """Sort the values by when the computation met them, and renumber everything that refers to them."""
    first = {}
    for back in graph.nodes:
        if back.accumulates:
            continue
        met = []
        for _, following, _ in back.edges:
            if following is not None and graph.nodes[following].accumulates:
                met.append(graph.nodes[following].leaf)
        for slot in back.slots:
            if slot.value is not None:
                met.append(slot.value)
        for k, value in enumerate(met):
            first.setdefault(value, (back.number, 0, k))
    for i, value in enumerate(graph.values):
        if value.node is not None and not graph.nodes[value.node].accumulates:
            first[i] = (graph.nodes[value.node].number, 1, value.output_nr)
    for memory in graph.memories:
        placed = [first[i] for i in memory.members if i in first]
        for i in memory.members:
            first.setdefault(i, (*(max(placed)[:1] if placed else (0,)), 2, 0))
    for a, b in graph.other_counter:
        first.setdefault(b, (first.get(a, (0,))[0], 3, 0))
    order = [i for _, i in sorted([(first.get(i, (0, 0, 0)), i) for i in range(len(graph.values))])]
    new = {old: i for i, old in enumerate(order)}
    renumber(graph, order, new)


def renumber(graph: Graph, order: list[int], new: dict[int, int]) -> None:
    """Keep the values in `order` only, under their new indexes."""
    graph.values = [graph.values[i] for i in order]
    for value in graph.values:
        value.view_of, value.grad_of = new.get(value.view_of), new.get(value.grad_of)
    for back in graph.nodes:
        back.leaf = new.get(back.leaf)
        for slot in back.slots:
            slot.value = new.get(slot.value)
    memories = []
    for memory in graph.memories:
        members = sorted(new[i] for i in memory.members if i in new)
        if len(members) > 1:
            memories.append(Memory(members, memory.version))
    graph.asked = [new[i] for i in graph.asked]
    graph.memories = sorted(memories, key=lambda memory: memory.members)
    graph.other_counter = sorted((new[a], new[b]) for a, b in graph.other_counter if a in new and b in new)
    for value in graph.values:
        value.memory = None
    for m, memory in enumerate(graph.memories):
        for i in memory.members:
            graph.values[i].memory = m


def link_inputs(graph: Graph) -> None:
    """Find what each value was computed from: the nearest values that are still alive behind its node.

    A temporary that nobody keeps is passed through. Also inputs without grad, known because they were saved.
    """
    made = {}  # (node, output) -> value whose present content that node computed
    rewritten = False  # whether a write may have given some value another history since it was used
    for i, value in enumerate(graph.values):
        rewritten = rewritten or bool(value.outside or value.version)
        if value.node is not None:
            made.setdefault((value.node, value.output_nr), i)
    behind = {}  # node -> values nearest behind it
    for n in topological(graph.nodes):
        node = graph.nodes[n]
        plain = plain_inputs(graph, node) if node.slots else []
        missing = 0  # inputs that next_functions has no place for
        for _, following, _ in node.edges:
            missing += following is None
        fill = len(plain) == missing
        moved = moved_inputs(graph, node, made) if rewritten else {}
        near = dict(moved)
        for _, following, output in node.edges:
            if following is None:
                if fill:
                    near[plain.pop(0)] = None
            elif graph.nodes[following].accumulates:
                near[graph.nodes[following].leaf] = None
            elif (following, output) in made:
                near[made[following, output]] = None
            elif not moved:
                near.update(behind.get(following, {}))
        near.update(dict.fromkeys(plain))
        behind[n] = near
    for i, value in enumerate(graph.values):
        for k in behind.get(value.node, ()):
            if k != i and k is not None:
                value.inputs.append(k)


def plain_inputs(graph, node) -> list[int]:
    """Return the values without grad that a node saved: inputs that next_functions has no place for."""
    saved = {}
    for slot in node.slots:
        value = None if slot.value is None else graph.values[slot.value]
        if value is not None and value.leaf and not value.requires_grad:
            saved[slot.value] = None
    return list(saved)


def moved_inputs(graph, node, made) -> dict:
    """Find the operands that a node saved and that a write has given another history since: {value: None}, or {}.

    Only where they are as many as the arrows that lead to no living value: else it is not known which is which.
    """
    unmade = [
        following
        for _, following, output in node.edges
        if following is not None and not graph.nodes[following].accumulates and (following, output) not in made
    ]
    arrows = {(following, output) for _, following, output in node.edges}
    saved = {slot.value: None for slot in node.slots if slot.value is not None and not slot.name.startswith("result")}
    moved = {i: None for i in saved if has_moved(graph.values[i], arrows)}
    return moved if len(moved) == len(unmade) else {}


def has_moved(value, arrows) -> bool:
    """Tell whether a value's history now begins elsewhere than at one of these arrows' ends."""
    return bool(value.outside) or value.node is not None and (value.node, value.output_nr) not in arrows


def topological(nodes: list[NodeInfo]) -> list[int]:
    """Sort the indexes of nodes, each after all that its edges lead to. No recursion."""
    waiting = [0] * len(nodes)
    users = [[] for _ in nodes]
    for i, node in enumerate(nodes):
        for _, following, _ in node.edges:  # several edges to one node count each, and are taken off each
            if following is not None:
                waiting[i] += 1
                users[following].append(i)
    ready = [i for i, count in enumerate(waiting) if count == 0]
    for i in ready:  # which grows on the way
        for user in users[i]:
            waiting[user] -= 1
            if waiting[user] == 0:
                ready.append(user)
    return ready
