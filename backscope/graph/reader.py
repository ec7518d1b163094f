"""From tensors to the `Graph` that a picture shows: every node behind them, every value that is worth a box."""

import re
from collections import deque
from heapq import heapify, heappop, heappush

from backscope.graph.model import (
    ACCUMULATE,
    OK,
    UNWATCHED,
    Graph,
    Memory,
    NodeInfo,
    SavedSlot,
    TensorInfo,
    put_in_order,
)
from backscope.graph.node_facts import (
    CUSTOM,
    SlotNames,
    hook_names,
    node_name,
    read_hooks,
    read_kept,
    read_slots,
)
from backscope.graph.tensor_facts import (
    TensorFacts,
    counted_together,
    dtype_of,
    grad_of,
    is_parameter,
    preview,
    read_facts,
    safe_getattr,
    token_of,
    window,
)

RESULT = re.compile(r"result\d*$")  # the names under which nodes keep what they computed themselves
ASKED_FOR_HOOKS = 100  # in a graph of more nodes than this, nodes are not asked for their hooks


def reachable_nodes(starts: list) -> list[tuple]:
    """Return (node, its edges) for every node behind `starts`, each once, nearest first. No recursion.

    Edges are read here and nowhere else: a graph that changes while it is drawn still gives one picture.
    """
    found, seen, queue = [], set(), deque(starts)
    while queue:
        node = queue.popleft()
        if id(node) in seen:
            continue
        seen.add(id(node))
        edges = node.next_functions
        found.append((node, edges))
        for following, _ in edges:
            if following is not None:
                queue.append(following)
    return found


def in_order(nodes, edges, made) -> list:
    """Sort nodes as they were made, but none before one that it leads to. `made`: {id of a node: when}.

    The two differ only for the node of an old view, which is made anew when somebody asks for it.
    """
    index = {id(node): i for i, node in enumerate(nodes)}
    waiting, users = [0] * len(nodes), [[] for _ in nodes]
    for i, node in enumerate(nodes):
        for following, _ in edges[id(node)]:
            if id(following) in index:
                waiting[i] += 1
                users[index[id(following)]].append(i)
    ready = [(made[id(node)], i) for i, node in enumerate(nodes) if waiting[i] == 0]
    heapify(ready)
    ordered = []
    while ready:
        _, i = heappop(ready)
        ordered.append(nodes[i])
        for user in users[i]:
            waiting[user] -= 1
            if waiting[user] == 0:
                heappush(ready, (made[id(nodes[user])], user))
    return ordered


class Reader:
    """Builds a Graph from tensors.

    `names` maps the id of a tensor to its names; `around` are the tensors that the learner can name, which
    are shown when they have to do with the graph.
    """

    def __init__(self, asked, names, around):
        self.asked, self.names, self.around = asked, names, around
        self.tensors = []  # beside self.values: the tensor each value was read from
        self.values = []
        self.by_id = {}  # id of a tensor -> index of its value
        self.by_place = {}  # memory address -> indexes of values
        self.facts = {}  # id of a tensor -> its TensorFacts, read once
        self.slot_names = SlotNames()
        self.unnamed_leaves = 0

    def read(self) -> Graph:
        """Read everything behind the tensors, and return the Graph."""
        for tensor in (*self.asked, *self.around):
            if id(tensor) not in self.facts:
                self.facts[id(tensor)] = read_facts(tensor)
        starts = [self.facts[id(tensor)].grad_fn for tensor in self.asked]
        self.read_nodes([node for node in starts if node is not None])
        for tensor in self.asked:
            self.values[self.value(tensor)].asked = True
        self.read_leaves()
        self.read_named()
        self.read_saved()
        self.read_neighbours()
        self.link_views()
        memories, other_counter = self.memories()
        asked = list(dict.fromkeys([self.by_id[id(tensor)] for tensor in self.asked]))
        graph = Graph(self.values, self.backs, memories, other_counter, asked)
        leaves = saved = 0
        for back in self.backs:
            leaves += back.accumulates
            for slot in back.slots:
                saved += slot.state != UNWATCHED
        graph.counts = len(self.backs) - leaves, leaves, saved
        self.link_rings()
        put_in_order(graph)
        return graph

    def facts_of(self, tensor) -> TensorFacts:
        """Return the TensorFacts of a tensor; they keep it alive, so that its id stays its own."""
        known = self.facts.get(id(tensor))
        if known is None:
            known = self.facts[id(tensor)] = read_facts(tensor)
        return known

    def read_nodes(self, starts) -> None:
        """Number the nodes behind these, and read what each is."""
        met = reachable_nodes(starts)
        edges_of, names, made, leaves, inner = {}, {}, {}, [], []
        for node, edges in met:
            edges_of[id(node)] = edges
            names[id(node)] = name = node.name().rpartition("::")[2]
            if name == ACCUMULATE:
                leaves.append(node)
            else:
                made[id(node)] = getattr(node, "_sequence_nr", int)()  # sequence_nr, without a call
                inner.append(node)
        inner = in_order(inner, edges_of, made)
        self.found = leaves + inner
        self.index = {id(node): i for i, node in enumerate(self.found)}
        self.backs = []
        for i, node in enumerate(self.found):
            edges = []
            for k, (following, output) in enumerate(edges_of[id(node)]):
                edges.append((k, self.index.get(id(following)), output))  # None leads nowhere
            leaf = i < len(leaves)
            number, key = (None, None) if leaf else (i - len(leaves) + 1, made[id(node)])
            back = NodeInfo(names[id(node)], number, edges, key=key, accumulates=leaf)
            if len(self.found) <= ASKED_FOR_HOOKS:
                back.hooks, back.prehooks = read_hooks(node)
            self.backs.append(back)

    # --- values ---

    def value(self, tensor, name=None) -> int:
        """Return the index of a tensor's value, which is read when first met."""
        known = self.by_id.get(id(tensor))
        if known is not None:
            return known
        index, facts = len(self.values), self.facts.get(id(tensor)) or self.facts_of(tensor)
        self.by_id[id(tensor)] = index
        self.tensors.append(tensor)
        self.values.append(self.describe(tensor, facts, name))
        if facts.place is not None:
            self.by_place.setdefault(facts.place, []).append(index)
        return index

    def describe(self, tensor, facts, name) -> TensorInfo:
        """Write the TensorInfo of a tensor."""
        grad_fn, leaf, requires_grad = facts.grad_fn, facts.leaf, facts.requires_grad
        node = None if grad_fn is None else self.index.get(id(grad_fn))
        names, shape = self.names.get(id(tensor), []), tuple(map(int, tensor.shape))
        output_nr, retains, grad = 0, False, None
        if not leaf:
            output_nr = safe_getattr(tensor, "output_nr", 0)
            retains = bool(safe_getattr(tensor, "retains_grad", False))
        if (leaf and requires_grad) or retains:
            grad = safe_getattr(tensor, "grad")
            grad = "None" if grad is None else preview(grad)
        hooks, post_hooks = getattr(tensor, "_backward_hooks", None), None
        if leaf and requires_grad:
            post_hooks = safe_getattr(tensor, "_post_accumulate_grad_hooks")
        return TensorInfo(
            name=names[0] if names else name or self.unnamed(node, output_nr),
            named=bool(names),
            preview=preview(tensor, shape),
            dtype=dtype_of(tensor),
            shape=str(shape),
            version=facts.version,
            leaf=leaf,
            requires_grad=requires_grad,
            frozen=leaf and not requires_grad and is_parameter(tensor),
            node=node,
            output_nr=output_nr,
            outside=node_name(grad_fn) if grad_fn is not None and node is None else "",
            grad=grad,
            retains_grad=retains,
            also=names[1:],
            hooks=hook_names(hooks) if hooks else [],
            post_hooks=hook_names(post_hooks) if post_hooks else [],
            problem=facts.problem,
            token=token_of(tensor),
        )

    def unnamed(self, node, output_nr) -> str:
        """Name a value that nobody named: by the number of the node that made it."""
        if node is None:
            self.unnamed_leaves += 1
            return f"unnamed {self.unnamed_leaves}"
        return f"#{self.backs[node].number}" + (f".{output_nr}" if output_nr else "")

    def read_leaves(self) -> None:
        """Read the inputs, in the order in which the computation first used them."""
        for back in [b for b in self.backs if not b.accumulates]:
            for _, following, _ in back.edges:
                if following is not None and self.backs[following].accumulates:
                    self.backs[following].leaf = self.value(self.found[following].variable)
        for i, back in enumerate(self.backs):
            if back.accumulates and back.leaf is None:
                back.leaf = self.value(self.found[i].variable)

    def read_named(self) -> None:
        """Read the tensors that the learner can name and that one of these nodes computed."""
        for tensor in self.around:
            grad_fn = self.facts[id(tensor)].grad_fn
            if grad_fn is not None and id(grad_fn) in self.index:
                self.value(tensor)

    def read_neighbours(self) -> None:
        """Read the named tensors on the memory of a value that is shown, and the base of each view."""
        for tensor in self.around:
            if id(tensor) not in self.by_id and self.facts[id(tensor)].place in self.by_place:
                self.value(tensor)
        for tensor in list(self.tensors):
            base = self.facts[id(tensor)].base
            if base is not None:
                self.value(base)

    # --- saved tensors ---

    def read_saved(self) -> None:
        named_by_id = {id(t) for t in self.around}
        self.named_at = {}
        for tensor in self.around:
            self.named_at.setdefault(self.facts[id(tensor)].place, []).append(tensor)
        for i, node in enumerate(self.found):
            back = self.backs[i]
            tensors, numbers = ((), ()) if back.accumulates else self.slot_names.of(node)
            for label, state, tensor, saved, now in read_slots(node, tensors) if tensors else ():
                slot = SavedSlot(label, state, saved=saved, now=now)
                if tensor is not None:
                    self.place_saved(slot, tensor, i, id(tensor) in named_by_id)
                back.slots.append(slot)
            if numbers or CUSTOM in tensors:
                back.kept = list(read_kept(node, numbers))

    def place_saved(self, slot, tensor, node, named) -> None:
        """Say what a slot holds: a value that has its own box, or the content itself."""
        slot.value = self.value(tensor) if named else self.by_id.get(id(tensor))
        if slot.value is None:
            slot.value = self.twin(tensor, node)
        if slot.value is None and self.has_history(tensor):
            slot.value = self.value(tensor)
        if slot.value is None and RESULT.match(slot.name.partition("[")[0]):
            slot.value = self.value(tensor, f"#{self.backs[node].number}")
            result = self.values[slot.value]  # the slot keeps it without its history
            result.node, result.leaf, result.requires_grad = node if slot.state == OK else None, False, True
        if slot.value is None:
            slot.content = preview(tensor)

    def has_history(self, tensor) -> bool:
        facts = self.facts_of(tensor)
        return facts.grad_fn is not None or facts.requires_grad

    def twin(self, tensor, node) -> int | None:
        """Find the value on the same elements and counter: a kept result is a second tensor."""
        where = self.facts_of(tensor).place
        same = [i for i in self.by_place.get(where, ()) if self.alike(self.tensors[i], tensor)]
        if len(same) > 1:
            values = self.values
            same.sort(key=lambda i: (values[i].node != node, values[i].node is None, self.is_plain(i, tensor), i))
        if same:
            return same[0]
        named = [t for t in self.named_at.get(where, ()) if self.alike(t, tensor)]
        named.sort(key=lambda t: self.facts[id(t)].grad_fn is None)
        return self.value(named[0]) if named else None

    def is_plain(self, i, tensor) -> bool:
        """Tell a value that is no part of the tensor's history: `w.detach()`, when `w.t()` was saved."""
        return self.has_history(tensor) and not self.values[i].requires_grad

    def alike(self, a, b) -> bool:
        """Tell whether tensors on one memory look at the same elements and share a counter."""
        return a is b or (window(a) == window(b) and counted_together(self.facts_of(a), self.facts_of(b)))

    # --- shared memory ---

    def has_no_history(self, i) -> bool:
        return self.values[i].leaf and not self.values[i].requires_grad

    def rank(self, i) -> tuple:
        """Choose by this who stands for all that share a counter: no view, and something with a history."""
        return self.values[i].view_of is not None, self.has_no_history(i), i

    def facts_at(self, i) -> TensorFacts:
        return self.facts[id(self.tensors[i])]

    def link_views(self) -> None:
        for i, tensor in enumerate(self.tensors):
            base = self.facts[id(tensor)].base
            if base is not None:
                self.values[i].view_of = self.by_id[id(base)]

    def link_rings(self) -> None:
        """Find each .grad whose history leads back to its leaf: leaf, .grad and graph hold each other."""
        for i, tensor in enumerate(self.tensors):
            if self.values[i].grad in (None, "None"):
                continue
            known = self.by_id.get(id(grad_of(tensor)))
            if known is not None and self.values[known].node is not None and self.leads_to(self.values[known].node, i):
                self.values[known].grad_of = i

    def leads_to(self, node, leaf) -> bool:
        """Tell whether a way leads from a node to the AccumulateGrad of a leaf."""
        met = [node]
        for i in met:
            met += [to for _, to, _ in self.backs[i].edges if to is not None and to not in met]
        return any(self.backs[i].leaf == leaf for i in met if self.backs[i].accumulates)

    def memories(self) -> tuple:
        """Group values on one memory by counter, and find the pairs with one memory but two counters."""
        memories, pairs = [], []
        for members in self.by_place.values():
            if len(members) == 1:
                continue
            groups = []
            for i in members:
                for group in groups:
                    if counted_together(self.facts_at(group[0]), self.facts_at(i)):
                        group.append(i)
                        break
                else:
                    groups.append([i])
            for group in groups:
                if len(group) > 1:
                    memories.append(Memory(group, self.values[group[0]].version))
            groups.sort(key=lambda group: all(self.has_no_history(i) for i in group))
            first = [min(group, key=self.rank) for group in groups]
            pairs.extend((first[0], other) for other in first[1:])
        return memories, pairs
