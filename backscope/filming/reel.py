"""All frames of a film under common indexes: the same tensor, node or slot has the same number in every frame."""

import copy
from dataclasses import dataclass, field

from backscope.graph.model import Memory


@dataclass
class Side:
    """One frame's graph under the common indexes: only what is there."""

    values: dict = field(default_factory=dict)  # index -> Value
    nodes: dict = field(default_factory=dict)  # index -> Back; its slots are a dictionary by their names
    memories: list = field(default_factory=list)
    other_counter: list = field(default_factory=list)

    def title(self, i) -> str:
        """Return a value's name."""
        return self.values[i].name

    def node_title(self, i) -> str:
        """Return a node's number and name, 'AccumulateGrad of w'."""
        node = self.nodes[i]
        return f"AccumulateGrad of {self.title(node.leaf)}" if node.accumulates else f"{node.number} {node.name}"


class Reel:
    """The frames, a Side for each, and for each thing a place that it keeps."""

    def __init__(self, frames):
        self.frames = frames
        keep_names([frame.graph for frame in frames])
        number([frame.graph for frame in frames] + [frame.says[0].graph for frame in frames if frame.says])
        ids = Ids()
        found = [ids.of(frame.graph) for frame in frames]
        graphs = [frame.graph for frame in frames]
        self.values = [values for values, _ in found]
        self.nodes = [nodes for _, nodes in found]
        self.sides = [self.side(k, graphs[k]) for k in range(len(frames))]
        self.keep_inputs()
        self.node_place = places(
            self.nodes, lambda k, i: node_kind(self.sides[k], i), lambda k, i: behind(self.sides[k], i)
        )
        self.value_place = places(self.values, lambda k, i: self.value_kind(self.sides[k], i), lambda k, i: ())

    def side(self, k, graph) -> Side:
        """Return a frame's graph under the common indexes."""
        value, node = self.values[k], self.nodes[k]

        def at(places, i):
            return None if i is None else places[i]

        side = Side()
        for old, i in zip(graph.values, value, strict=True):
            side.values[i] = one = copy.copy(old)
            one.node, one.view_of, one.grad_of = at(node, one.node), at(value, one.view_of), at(value, one.grad_of)
            one.inputs = [value[j] for j in one.inputs]
        for old, i in zip(graph.nodes, node, strict=True):
            side.nodes[i] = one = copy.copy(old)
            one.leaf = at(value, one.leaf)
            one.edges = [(j, at(node, following), output) for j, following, output in one.edges]
            one.slots = {}
            for slot in old.slots:
                one.slots[slot.name] = slot = copy.copy(slot)
                slot.value = at(value, slot.value)
        side.memories = [Memory(sorted(value[i] for i in m.members), m.version) for m in graph.memories]
        side.other_counter = [(value[a], value[b]) for a, b in graph.other_counter]
        return side

    def keep_inputs(self) -> None:
        """Keep a value's inputs, found through what its node saved: what a pass frees was still an input."""
        for before, now in zip(self.sides, self.sides[1:], strict=False):
            for i, new in now.values.items():
                old = before.values.get(i)
                if old is not None and old.token == new.token and old.node == new.node is not None:
                    both = [j for j in old.inputs if j in now.values and now.values[j].token == before.values[j].token]
                    new.inputs = list(dict.fromkeys([*both, *new.inputs]))

    def value_kind(self, side, i) -> tuple:
        """Return what must agree for a tensor to take another's place: it stands beside its node; a leaf stays."""
        value = side.values[i]
        beside = i if value.leaf and value.requires_grad else self.node_place.get(value.node)
        return value.name if value.named else "", value.requires_grad, value.shape, beside

    @property
    def largest(self) -> int:
        """Count the nodes of the film, or the places for tensors, whichever are more."""
        return max(self.count, len(set(self.value_place.values())))

    @property
    def count(self) -> int:
        """Count the nodes of the film, in all its frames together."""
        return len({node.key for side in self.sides for node in side.nodes.values() if node.key is not None})


class Ids:
    """Gives things their indexes, frame after frame, in the order of their first appearance."""

    def __init__(self):
        self.values, self.nodes = {}, {}
        self.before = {}  # what made or held each value of the frame before -> its index

    def of(self, graph) -> tuple:
        """Return (indexes of the values, indexes of the nodes) of one graph."""
        tokens = {value.token for value in graph.values}
        held = {}  # a value without a name is often a new object each time that it is looked at
        for node in graph.nodes:
            for slot in node.slots:
                if slot.value is not None:
                    held.setdefault(slot.value, (node.key, slot.name))
        values, marks = [], {}
        for i, value in enumerate(graph.values):
            made = None if value.node is None else (graph.nodes[value.node].key, value.output_nr)
            keys = [("made", made)] * (made is not None) + [("held", held.get(i))] * (i in held and not value.named)
            known = self.values.get(value.token)
            for key in keys if known is None else ():
                token, same = self.before.get(key, (None, None))
                if same is not None and token not in tokens and same not in values:
                    known = same
                    break
            if known is None or known in values:
                known = len(set(self.values.values()))
            self.values[value.token] = known
            values.append(known)
            marks.update(dict.fromkeys(keys, (value.token, known)))
        self.before = marks
        return values, [self.node(values, node) for node in graph.nodes]

    def node(self, values, node) -> int:
        key = ("leaf", values[node.leaf]) if node.accumulates else ("node", node.key)
        return self.nodes.setdefault(key, len(self.nodes))


def keep_names(graphs) -> None:
    """Call a tensor of several names by the one that it had in the frame before, as long as that is its name."""
    before = {}
    for graph in graphs:
        for value in graph.values:
            if before.get(value.token) in value.also:
                value.also = [value.name, *(name for name in value.also if name != before[value.token])]
                value.name = before[value.token]
        before = {value.token: value.name for value in graph.values if value.named}


def number(graphs) -> None:
    """Give a node one number in all frames, and names after it to values without one."""
    keys = sorted({node.key for graph in graphs for node in graph.nodes if not node.accumulates})
    numbers = {key: n for n, key in enumerate(keys, 1)}
    for graph in graphs:
        for i, node in enumerate(graph.nodes):
            node.number = None if node.accumulates else numbers[node.key]
            for value in graph.values:
                if value.node == i and not value.named:
                    value.name = f"#{node.number}" + (f".{value.output_nr}" if value.output_nr else "")


# --- places --------------------------------------------------------------------------------------------------


def node_kind(side, i) -> tuple:
    """Return what must agree for a node to take another's place; an AccumulateGrad keeps to its leaf."""
    node = side.nodes[i]
    return node.name, node.leaf, len(node.edges), tuple(node.slots)


def behind(side, i) -> list[int]:
    """Return the nodes that a node leads to: its place must not come before theirs."""
    return [f for _, f, _ in side.nodes[i].edges if f is not None and not side.nodes[f].accumulates]


def places(found, kind, before) -> dict:
    """Return {index: place}. What is new takes the place of something of its kind that is gone for good.

    So a loop stays where it is: three steps of training take the room of one.
    """
    last = {i: k for k, things in enumerate(found) for i in things}
    place, taken = {}, []  # taken: the frame in which a thing is seen last, its kind, its place
    for k, things in enumerate(found):
        for i in things:
            if i not in place:
                what, low = kind(k, i), max((place.get(f, -1) for f in before(k, i)), default=-1)
                old = next((one for one in taken if one[0] < k and one[1] == what and one[2] > low), None)
                if old is not None:
                    taken.remove(old)
                place[i] = old[2] if old is not None else len(set(place.values()))
                taken.append((last[i], what, place[i]))
    return place
