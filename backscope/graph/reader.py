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
    SlotNames,
    hook_names,
    node_name,
    read_hooks,
    read_kept,
    read_slots,
    sequence_nr,
)
from backscope.graph.tensor_facts import (
    dtype_of,
    grad_of,
    is_parameter,
    one_counter,
    place,
    preview,
    safe_getattr,
    shape_of,
    token_of,
    window,
)

RESULT = re.compile(r"result\d*$")  # the names under which nodes keep what they computed themselves
ASKED_FOR_HOOKS = 100  # in a graph of more nodes than this, nodes are not asked for their hooks


def reachable_nodes(starts):
    """[(node, its edges)] for every node behind `starts`, each once, nearest first. No recursion: graphs are deep.

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
        queue.extend(following for following, _ in edges if following is not None)
    return found


def in_order(nodes, edges):
    """Nodes as they were made, oldest first, but none before one that it leads to.

    The two differ only for the node of an old view, which is made anew when somebody asks for it.
    """
    index = {id(node): i for i, node in enumerate(nodes)}
    waiting, users = [0] * len(nodes), [[] for _ in nodes]
    for i, node in enumerate(nodes):
        for key in {id(following) for following, _ in edges[id(node)] if id(following) in index}:
            waiting[i] += 1
            users[index[key]].append(i)
    ready = [(sequence_nr(node), i) for i, node in enumerate(nodes) if waiting[i] == 0]
    heapify(ready)
    ordered = []
    while ready:
        _, i = heappop(ready)
        ordered.append(nodes[i])
        for user in users[i]:
            waiting[user] -= 1
            if waiting[user] == 0:
                heappush(ready, (sequence_nr(nodes[user]), user))
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
        self.slot_names = SlotNames()
        self.unnamed_leaves = 0

    def read(self):
        """The Graph."""
        starts = [f for f in (safe_getattr(t, "grad_fn") for t in self.asked) if f is not None]
        self.read_nodes(starts)
        for tensor in self.asked:
            self.values[self.value(tensor)].asked = True
        self.read_leaves()
        self.read_named()
        self.read_saved()
        self.read_neighbours()
        self.link_views()
        memories, other_counter = self.memories()
        asked = list(dict.fromkeys(self.by_id[id(tensor)] for tensor in self.asked))
        graph = Graph(self.values, self.backs, memories, other_counter, asked)
        leaves = sum(back.accumulates for back in self.backs)
        saved = sum(slot.state != UNWATCHED for back in self.backs for slot in back.slots)
        graph.counts = len(self.backs) - leaves, leaves, saved
        self.link_rings()
        put_in_order(graph)
        return graph

    def read_nodes(self, starts):
        met = reachable_nodes(starts)
        edges_of = {id(node): edges for node, edges in met}
        found = [node for node, _ in met]
        leaves = [n for n in found if node_name(n) == ACCUMULATE]
        inner = in_order([n for n in found if node_name(n) != ACCUMULATE], edges_of)
        self.found = leaves + inner
        self.index = {id(node): i for i, node in enumerate(self.found)}
        self.backs = []
        for i, node in enumerate(self.found):
            edges = [
                (k, None if following is None else self.index[id(following)], output)
                for k, (following, output) in enumerate(edges_of[id(node)])
            ]
            number = None if i < len(leaves) else i - len(leaves) + 1
            key = None if number is None else sequence_nr(node)
            back = NodeInfo(node_name(node), number, edges, key=key)
            if len(self.found) <= ASKED_FOR_HOOKS:
                back.hooks, back.prehooks = read_hooks(node)
            self.backs.append(back)

    # --- values ---

    def value(self, tensor, name=None):
        """The index of a tensor's value, read when first met."""
        known = self.by_id.get(id(tensor))
        if known is not None:
            return known
        index = len(self.values)
        self.by_id[id(tensor)] = index
        self.tensors.append(tensor)  # also keeps it alive, so that its id stays its own
        self.values.append(self.describe(tensor, name))
        where = place(tensor)
        if where is not None:
            self.by_place.setdefault(where, []).append(index)
        return index

    def describe(self, tensor, name):
        problem, grad_fn = "", None
        try:
            grad_fn = tensor.grad_fn
        except RuntimeError as error:
            problem = str(error).split(". ")[0]
        node = None if grad_fn is None else self.index.get(id(grad_fn))
        names = self.names.get(id(tensor), [])
        output_nr = safe_getattr(tensor, "output_nr", 0)
        leaf = bool(safe_getattr(tensor, "is_leaf", False))
        requires_grad = bool(safe_getattr(tensor, "requires_grad", False))
        retains = bool(safe_getattr(tensor, "retains_grad", False))
        grad = None
        if (leaf and requires_grad) or retains:
            grad = safe_getattr(tensor, "grad")
            grad = "None" if grad is None else preview(grad)
        return TensorInfo(
            name=names[0] if names else name or self.unnamed(node, output_nr),
            named=bool(names),
            preview=preview(tensor),
            dtype=dtype_of(tensor),
            shape=shape_of(tensor),
            version=safe_getattr(tensor, "_version"),
            leaf=leaf,
            requires_grad=requires_grad,
            frozen=leaf and not requires_grad and is_parameter(tensor),
            node=node,
            output_nr=output_nr,
            outside=node_name(grad_fn) if grad_fn is not None and node is None else "",
            grad=grad,
            retains_grad=retains,
            also=names[1:],
            hooks=hook_names(safe_getattr(tensor, "_backward_hooks")),
            post_hooks=hook_names(safe_getattr(tensor, "_post_accumulate_grad_hooks")),
            problem=problem,
            token=token_of(tensor),
        )

    def unnamed(self, node, output_nr):
        """The name of a value that nobody named: the number of the node that made it."""
        if node is None:
            self.unnamed_leaves += 1
            return f"unnamed {self.unnamed_leaves}"
        return f"#{self.backs[node].number}" + (f".{output_nr}" if output_nr else "")

    def read_leaves(self):
        """Inputs first, in the order in which the computation first used them."""
        for back in [b for b in self.backs if not b.accumulates]:
            for _, following, _ in back.edges:
                if following is not None and self.backs[following].accumulates:
                    self.backs[following].leaf = self.value(self.found[following].variable)
        for i, back in enumerate(self.backs):
            if back.accumulates and back.leaf is None:
                back.leaf = self.value(self.found[i].variable)

    def read_named(self):
        """Tensors the learner can name that one of these nodes computed."""
        for tensor in self.around:
            grad_fn = safe_getattr(tensor, "grad_fn")
            if grad_fn is not None and id(grad_fn) in self.index:
                self.value(tensor)

    def read_neighbours(self):
        """Named tensors on the memory of a value that is shown; and the base of each view."""
        for tensor in self.around:
            if id(tensor) not in self.by_id and place(tensor) in self.by_place:
                self.value(tensor)
        for tensor in list(self.tensors):
            base = safe_getattr(tensor, "_base")
            if base is not None:
                self.value(base)

    # --- saved tensors ---

    def read_saved(self):
        named_by_id = {id(t) for t in self.around}
        self.named_at = {}
        for tensor in self.around:
            self.named_at.setdefault(place(tensor), []).append(tensor)
        for i, node in enumerate(self.found):
            tensors, numbers = self.slot_names.of(node)
            back = self.backs[i]
            for label, state, tensor, saved, now in read_slots(node, tensors):
                slot = SavedSlot(label, state, saved=saved, now=now)
                if tensor is not None:
                    self.place_saved(slot, tensor, i, id(tensor) in named_by_id)
                back.slots.append(slot)
            back.kept = list(read_kept(node, numbers))

    def place_saved(self, slot, tensor, node, named):
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

    def has_history(self, tensor):
        return safe_getattr(tensor, "grad_fn") is not None or bool(safe_getattr(tensor, "requires_grad", False))

    def twin(self, tensor, node):
        """The value on the same elements and counter: a kept result is a second tensor."""
        where = place(tensor)
        same = [i for i in self.by_place.get(where, ()) if self.alike(self.tensors[i], tensor)]
        same.sort(key=lambda i: (self.values[i].node != node, self.values[i].node is None, self.is_plain(i, tensor), i))
        if same:
            return same[0]
        named = [t for t in self.named_at.get(where, ()) if self.alike(t, tensor)]
        named.sort(key=lambda t: safe_getattr(t, "grad_fn") is None)
        return self.value(named[0]) if named else None

    def is_plain(self, i, tensor):
        """True for a value that is no part of the history that the tensor has: `w.detach()`, when `w.t()` was saved."""
        return self.has_history(tensor) and not self.values[i].requires_grad

    @staticmethod
    def alike(a, b):
        return window(a) == window(b) and one_counter(a, b)

    # --- shared memory ---

    def has_no_history(self, i):
        return self.values[i].leaf and not self.values[i].requires_grad

    def rank(self, i):
        """Who stands for all that share a counter: no view if possible, and something with a history."""
        return self.values[i].view_of is not None, self.has_no_history(i), i

    def link_views(self):
        for i, tensor in enumerate(self.tensors):
            base = safe_getattr(tensor, "_base")
            if base is not None:
                self.values[i].view_of = self.by_id[id(base)]

    def link_rings(self):
        """A .grad whose history leads back to its leaf: leaf, .grad and graph hold each other."""
        for i, tensor in enumerate(self.tensors):
            known = self.by_id.get(id(grad_of(tensor)))
            if known is not None and self.values[known].node is not None and self.leads_to(self.values[known].node, i):
                self.values[known].grad_of = i

    def leads_to(self, node, leaf):
        """True when a way leads from a node to the AccumulateGrad of a leaf."""
        met = [node]
        for i in met:
            met += [to for _, to, _ in self.backs[i].edges if to is not None and to not in met]
        return any(self.backs[i].leaf == leaf for i in met if self.backs[i].accumulates)

    def memories(self):
        """Values on one memory, grouped by counter; and pairs with one memory but two counters."""
        memories, pairs = [], []
        for members in self.by_place.values():
            groups = []
            for i in members:
                for group in groups:
                    if one_counter(self.tensors[group[0]], self.tensors[i]):
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
