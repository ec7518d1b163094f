"""What a picture shows, read off tensors into plain data: values, nodes, saved tensors, shared memory.

Only attributes that PyTorch itself offers are read, so the same code reads real PyTorch tensors. Nothing here
keeps a tensor alive: a `Graph` holds words and numbers, taken at the moment of drawing.
"""

import re
import weakref
from collections import deque
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count

STALE, FREED, PACKED, DETACHED, OK = "STALE", "FREED", "packed by hooks", "DETACHED", "ok"
UNWATCHED = "unwatched"  # a tensor that a custom Function put on ctx by itself: nobody checks its version
ACCUMULATE = "AccumulateGrad"
VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")
RESULT = re.compile(r"result\d*$")  # the names under which nodes keep what they computed themselves
PREVIEW = 4  # a tensor with more elements is described by its shape
ASKED_FOR_HOOKS = 100  # in a graph of more nodes than this, nodes are not asked for their hooks
# What our engine and PyTorch keep themselves on the node of a custom Function; all else was put there by forward.
OWN = {"kept_tensors", "materialize_grads", "needs_input_grad", "output_count", "several_outputs", "saved_tensors"}
OWN |= {"to_save", "saved_for_forward", "non_differentiable", "dirty_tensors"}


@dataclass
class Value:
    """A tensor that is alive: one the learner named, a leaf, or one that only the graph still holds."""

    name: str
    named: bool
    preview: str
    dtype: str
    shape: str
    version: int | None  # None for an inference tensor, which has no counter
    leaf: bool
    requires_grad: bool
    node: int | None  # index in Graph.nodes of the node that computed its present value
    output_nr: int = 0
    outside: str = ""  # its grad_fn, when that is not part of this graph
    grad: str | None = None  # for leaves that require grad and for tensors that retain theirs
    retains_grad: bool = False
    also: list = field(default_factory=list)  # its other names
    view_of: int | None = None  # index in Graph.values
    hooks: int = 0
    post_hooks: int = 0
    problem: str = ""  # why PyTorch refuses to say more about it
    asked: bool = False  # it was given to draw()
    memory: int | None = None  # index in Graph.memories, when it shares memory with another value
    inputs: list = field(default_factory=list)  # indexes of the values it was computed from
    token: int = 0  # the same number for the same tensor, in every picture


@dataclass
class Slot:
    """One place in which a backward node keeps a tensor."""

    name: str
    state: str
    value: int | None = None  # the value that it holds, when that has a box of its own
    content: str = ""  # what it holds, when nothing else shows it
    saved: int | None = None  # the version when it was saved
    now: int | None = None  # the version now


@dataclass
class Back:
    """A node of the backward graph; or, when `folded` is set, a box that stands for several."""

    name: str
    number: int | None = None  # 1, 2, 3 … in the order in which they were made; None for AccumulateGrad
    edges: list = field(default_factory=list)  # (input number, index of the next node or None, its output)
    slots: list = field(default_factory=list)
    kept: list = field(default_factory=list)  # (name, number) pairs such as ("exponent", "2")
    leaf: int | None = None  # AccumulateGrad only: index of the value that it adds to
    folded: int = 0  # how many nodes this box stands for
    folded_slots: dict = field(default_factory=dict)  # state -> how many of them
    lines: list = field(default_factory=list)  # a folded box's own words
    key: object = None  # the same for the same node, in every picture; None for AccumulateGrad
    hooks: int = 0  # on the node itself, after it
    prehooks: int = 0  # on the node itself, before it

    @property
    def accumulates(self):
        """True for the node that ends a path in a leaf."""
        return self.name == ACCUMULATE


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
    counts: tuple = (0, 0, 0)  # backward nodes, leaves that require grad and saved tensors, before folding

    def title(self, index):
        """A value's name."""
        return self.values[index].name

    def node_words(self, index):
        """A node in a sentence: 'MulBackward0 (node 1)'."""
        node = self.nodes[index]
        return f"{node.name} (node {node.number})"

    def node_title(self, index):
        """A node's number and name, 'AccumulateGrad of w', or a folded box's first words."""
        node = self.nodes[index]
        if node.folded:
            return node.lines[0]
        if node.accumulates:
            return f"{ACCUMULATE} of {self.title(node.leaf)}"
        return f"{node.number} {node.name}"


# --- looking at one tensor ---------------------------------------------------------------------------------


def is_tensor(thing):
    """True for our tensors and PyTorch's, judged by what they offer."""
    kind = type(thing)
    return hasattr(kind, "grad_fn") and hasattr(kind, "untyped_storage") and hasattr(kind, "requires_grad")


_tokens = {}  # id of a living tensor -> (weak reference, token)
_next_token = count(1).__next__


def token_of(tensor):
    """A number of the tensor's own: an id alone may come back with another tensor."""
    key = id(tensor)
    known = _tokens.get(key)
    if known is None:
        forget = weakref.ref(tensor, lambda _: _tokens.pop(key, None))  # before the id can come back
        _tokens[key] = known = forget, _next_token()
    return known[1]


def is_module(thing):
    """True for an object that can name its parameters."""
    return not isinstance(thing, type) and hasattr(type(thing), "named_parameters")


def ask(tensor, attribute, otherwise=None):
    """An attribute, or `otherwise` where the library refuses: stale views refuse even `is_leaf`."""
    try:
        return getattr(tensor, attribute)
    except (RuntimeError, AttributeError, NotImplementedError):
        return otherwise


def number(value):
    """One element as text, the same for both libraries: floats with up to four digits and a point."""
    if isinstance(value, bool) or not isinstance(value, float):
        return str(value)
    text = f"{value:.4g}"
    return text if any(mark in text for mark in ".en") else text + "."


def nested(items):
    """Nested lists of numbers as text."""
    return "[" + ", ".join(map(nested, items)) + "]" if isinstance(items, list) else number(items)


def shape_of(tensor):
    """The shape as text: (2, 3)."""
    return str(tuple(int(n) for n in tensor.shape))


def preview(tensor):
    """Up to four elements as they are, otherwise the shape."""
    try:
        if 0 < tensor.numel() <= PREVIEW:
            return nested(tensor.tolist())
    except (RuntimeError, NotImplementedError):
        pass  # a tensor without readable elements still has a shape
    return "shape " + shape_of(tensor)


def dtype_of(tensor):
    """The element type's name: float32."""
    return str(tensor.dtype).rpartition(".")[2]


def place(tensor):
    """The address of a tensor's memory; None when there is none to compare."""
    try:
        return tensor.untyped_storage().data_ptr() or None
    except (RuntimeError, NotImplementedError, AttributeError):
        return None


def window(tensor):
    """Which elements of its memory a tensor looks at."""
    return tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset(), dtype_of(tensor)


def one_counter(a, b):
    """True when two tensors on one memory share their version counter.

    `x.detach()` does and `x.data` does not, and until somebody writes no attribute tells them apart. Our
    engine's tensors hold their counter; for PyTorch's the question is put to the counter itself: raised on
    one tensor, looked at through the other, and set back.
    """
    first, second = ask(a, "_version"), ask(b, "_version")
    if a is b or first != second:
        return a is b
    if first is None:
        return True  # two inference tensors: no counter, hence none of their own
    base_a, base_b = ask(a, "_base"), ask(b, "_base")
    if base_a is b or base_b is a or (base_a is not None and base_a is base_b):
        return True
    if hasattr(type(a), "version"):
        return a.version is not None and a.version is b.version
    return moves_together(a, b, first)


def moves_together(a, b, version):
    """PyTorch only: whether a step of one tensor's counter is seen by the other. The counter is set back."""
    try:
        from torch._C._autograd import _unsafe_set_version_counter as set_version
    except ImportError:
        return True  # cannot be told; sharing is the usual case
    try:
        set_version((a,), (version + 1,))
        return b._version == version + 1
    finally:
        set_version((a,), (version,))


# --- looking at one node -----------------------------------------------------------------------------------


def node_name(node):
    """The node's name without PyTorch's namespace."""
    return node.name().rpartition("::")[2]


def sequence_nr(node):
    """When the node was made."""
    number = getattr(node, "_sequence_nr", None)
    return number() if number is not None else 0


class SlotNames:
    """The names of a node type's slots and kept numbers, looked up once per type."""

    def __init__(self):
        self.known = {}

    def of(self, node):
        kind = type(node)
        if kind not in self.known:
            every = dir(kind)
            tensors = sorted(name[11:] for name in every if name.startswith("_raw_saved_"))
            saved = sorted(name[7:] for name in every if name.startswith("_saved_"))
            self.known[kind] = tensors, [n for n in saved if n not in tensors and "_sym_" not in n]
        return self.known[kind]


def read_slots(node, names):
    """For each slot of a node: (label, state, tensor or None, saved version, version now)."""
    for name in names:
        try:
            raw = getattr(node, "_raw_saved_" + name)
        except RuntimeError:
            yield name, FREED, None, None, None  # a custom Function lets go of all its slots at once
            continue
        several = isinstance(raw, (tuple, list))
        for index, slot in enumerate(raw if several else [raw]):
            if slot is not None:
                found = read_slot(node, name, slot, several)
                if found is not None:
                    yield (f"{name}[{index}]" if several else name, *found)
    yield from read_unwatched(node)


def read_unwatched(node):
    """(label, UNWATCHED, tensor, None, version now) for tensors that a custom Function's forward put on ctx."""
    for name, thing in on_ctx(node):
        if is_tensor(thing):
            yield f"ctx.{name}", UNWATCHED, thing, None, ask(thing, "_version")
        elif type(thing) in (list, tuple):
            for k, item in enumerate(thing[:PREVIEW]):
                if is_tensor(item):
                    yield f"ctx.{name}[{k}]", UNWATCHED, item, None, ask(item, "_version")


def on_ctx(node):
    """(name, thing) for what a custom Function's forward put on ctx as attributes."""
    held = getattr(node, "__dict__", {}) if hasattr(type(node), "_raw_saved_tensors") else {}
    return [(name, thing) for name, thing in list(held.items()) if name not in OWN and not name.startswith("_")]


def read_hooks(node):
    """(number of hooks after a node, number before it)."""
    own = getattr(node, "hooks", None)
    if hasattr(own, "post") and hasattr(own, "pre"):
        return len(own.post), len(own.pre)
    return tuple(neighbours(getattr(node, name, None)) for name in ("register_hook", "register_prehook"))


def neighbours(register):
    """PyTorch only: how many hooks there are, found by registering one that does nothing, and removing it."""
    try:
        handle = register(lambda *grads: None)
        try:
            return len(handle.hooks_dict_ref()) - 1
        finally:
            handle.remove()
    except (TypeError, AttributeError, RuntimeError):
        return 0


def read_slot(node, name, slot, several):
    """(state, tensor, saved version, version now) of one slot, or None when nothing was ever put there."""
    tensor = slot.data if not is_packed(slot) else None
    if tensor is None and is_packed(slot):
        return PACKED, None, None, None
    message = refusal(node, name, slot, several)
    if message is None:
        if tensor is None:
            return None
        version = ask(tensor, "_version")
        return OK, tensor, version, version
    if tensor is None or "after they have already been freed" in message:
        return FREED, None, None, None
    versions = VERSIONS.search(message)
    if versions is None:
        return DETACHED, tensor, None, ask(tensor, "_version")
    return STALE, tensor, int(versions[2]), int(versions[1])


def is_packed(slot):
    """True when saved-tensor hooks packed this slot; looking must not run them."""
    if hasattr(slot, "unpack_hook"):
        return slot.unpack_hook is not None
    if slot.data is not None or slot.is_freed:
        return False
    try:
        return slot.saved_version is not None
    except AttributeError:
        return False


def refusal(node, name, slot, several):
    """The message with which the library refuses to give the slot's tensor; None when it gives it."""
    try:
        if not several:
            kept = getattr(node, "_saved_" + name)
            if kept is not None and hasattr(slot, "unpack") and kept.grad_fn is None:
                slot.unpack()  # PyTorch's attribute shows even a tensor that was detached in place
        elif hasattr(slot, "unpack"):
            try:
                slot.unpack()
            except RuntimeError as error:
                if "detached in-place" not in str(error):
                    raise
                read_all(node, name)  # a result does not know its node; only the node can give it
        else:
            read_all(node, name)
    except RuntimeError as error:
        return str(error)
    return None


def read_all(node, name):
    """Read a slot that holds several tensors; those of a custom Function are called saved_tensors."""
    return getattr(node, "_saved_" + name) if hasattr(node, "_saved_" + name) else node.saved_tensors


def read_kept(node, names):
    """The numbers a node keeps, as (name, text) pairs; those that were not needed are left out."""
    for name in names:
        value = ask(node, "_saved_" + name)
        if isinstance(value, (tuple, list)):
            value = tuple(map(signed, value))
        if value is not None and value != () and not is_tensor(value):
            yield name, str(signed(value))
    for name, thing in on_ctx(node):
        if thing is None or type(thing) in (bool, int, float, str):
            yield f"ctx.{name}", repr(thing)


def signed(value):
    """PyTorch shows a negative dim as a huge unsigned number; give it its sign back."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 2**63:
        return value - 2**64
    return value


# --- looking at the whole graph ----------------------------------------------------------------------------


def reach(starts):
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
        starts = [f for f in (ask(t, "grad_fn") for t in self.asked) if f is not None]
        self.reach(starts)
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
        put_in_order(graph)
        return graph

    def reach(self, starts):
        met = reach(starts)
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
            back = Back(node_name(node), number, edges, key=key)
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
        output_nr = ask(tensor, "output_nr", 0)
        leaf = bool(ask(tensor, "is_leaf", False))
        requires_grad = bool(ask(tensor, "requires_grad", False))
        retains = bool(ask(tensor, "retains_grad", False))
        grad = None
        if (leaf and requires_grad) or retains:
            grad = ask(tensor, "grad")
            grad = "None" if grad is None else preview(grad)
        return Value(
            name=names[0] if names else name or self.unnamed(node, output_nr),
            named=bool(names),
            preview=preview(tensor),
            dtype=dtype_of(tensor),
            shape=shape_of(tensor),
            version=ask(tensor, "_version"),
            leaf=leaf,
            requires_grad=requires_grad,
            node=node,
            output_nr=output_nr,
            outside=node_name(grad_fn) if grad_fn is not None and node is None else "",
            grad=grad,
            retains_grad=retains,
            also=names[1:],
            hooks=len(ask(tensor, "_backward_hooks") or ()),
            post_hooks=len(ask(tensor, "_post_accumulate_grad_hooks") or ()),
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
            grad_fn = ask(tensor, "grad_fn")
            if grad_fn is not None and id(grad_fn) in self.index:
                self.value(tensor)

    def read_neighbours(self):
        """Named tensors on the memory of a value that is shown; and the base of each view."""
        for tensor in self.around:
            if id(tensor) not in self.by_id and place(tensor) in self.by_place:
                self.value(tensor)
        for tensor in list(self.tensors):
            base = ask(tensor, "_base")
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
                slot = Slot(label, state, saved=saved, now=now)
                if tensor is not None:
                    self.place_saved(slot, tensor, i, id(tensor) in named_by_id)
                back.slots.append(slot)
            back.kept = list(read_kept(node, numbers))

    def place_saved(self, slot, tensor, node, named):
        """Say what a slot holds: a value that has its own box, or the content itself."""
        slot.value = self.by_id.get(id(tensor))
        if slot.value is None:
            slot.value = self.twin(tensor, node)
        if slot.value is None and (named or self.has_history(tensor)):
            slot.value = self.value(tensor)
        if slot.value is None and RESULT.match(slot.name.partition("[")[0]):
            slot.value = self.value(tensor, f"#{self.backs[node].number}")
            result = self.values[slot.value]  # the slot keeps it without its history
            result.node, result.leaf, result.requires_grad = node if slot.state == OK else None, False, True
        if slot.value is None:
            slot.content = preview(tensor)

    def has_history(self, tensor):
        return ask(tensor, "grad_fn") is not None or bool(ask(tensor, "requires_grad", False))

    def twin(self, tensor, node):
        """The value on the same elements and counter: a kept result is a second tensor."""
        where = place(tensor)
        same = [i for i in self.by_place.get(where, ()) if self.alike(self.tensors[i], tensor)]
        same.sort(key=lambda i: (self.values[i].node != node, self.values[i].node is None, self.is_plain(i, tensor), i))
        if same:
            return same[0]
        named = [t for t in self.named_at.get(where, ()) if self.alike(t, tensor)]
        named.sort(key=lambda t: ask(t, "grad_fn") is None)
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
            base = ask(tensor, "_base")
            if base is not None:
                self.values[i].view_of = self.by_id[id(base)]

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


def put_in_order(graph):
    """Sort the values by when the computation met them, and renumber everything that refers to them."""
    first = {}
    for back in graph.nodes:
        if back.accumulates:
            continue
        met = [graph.nodes[f].leaf for _, f, _ in back.edges if f is not None and graph.nodes[f].accumulates]
        met += [slot.value for slot in back.slots if slot.value is not None]
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
    order = sorted(range(len(graph.values)), key=lambda i: (first.get(i, (0, 0, 0)), i))
    new = {old: i for i, old in enumerate(order)}
    renumber(graph, order, new)


def renumber(graph, order, new):
    """Keep the values in `order` only, under their new indexes."""
    graph.values = [graph.values[i] for i in order]
    for value in graph.values:
        value.view_of = new.get(value.view_of)
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


def link_inputs(graph):
    """Find what each value was computed from: the nearest values that are still alive behind its node.

    A temporary that nobody keeps is passed through. Also inputs without grad, known because they were saved.
    """
    made = {}  # (node, output) -> value whose present content that node computed
    for i, value in enumerate(graph.values):
        if value.node is not None:
            made.setdefault((value.node, value.output_nr), i)
    behind = {}  # node -> values nearest behind it
    for n in topological(graph.nodes):
        node = graph.nodes[n]
        near = {}
        plain = plain_inputs(graph, node)
        fill = len(plain) == sum(following is None for _, following, _ in node.edges)
        for _, following, output in node.edges:
            if following is None:
                if fill:
                    near[plain.pop(0)] = None
            elif graph.nodes[following].accumulates:
                near[graph.nodes[following].leaf] = None
            elif (following, output) in made:
                near[made[following, output]] = None
            else:
                near.update(behind.get(following, {}))
        near.update(dict.fromkeys(plain))
        behind[n] = near
    for i, value in enumerate(graph.values):
        near = behind.get(value.node, {})
        value.inputs = [k for k in near if k != i and k is not None]


def plain_inputs(graph, node):
    """The values without grad that a node saved: its inputs that next_functions has no place for."""
    saved = dict.fromkeys(slot.value for slot in node.slots if slot.value is not None)
    return [i for i in saved if graph.values[i].leaf and not graph.values[i].requires_grad]


def topological(nodes):
    """Indexes of nodes, each after all that its edges lead to. No recursion."""
    waiting = [0] * len(nodes)
    users = [[] for _ in nodes]
    for i, node in enumerate(nodes):
        for following in {f for _, f, _ in node.edges if f is not None}:
            waiting[i] += 1
            users[following].append(i)
    ready = deque(i for i, count in enumerate(waiting) if count == 0)
    while ready:
        i = ready.popleft()
        yield i
        for user in users[i]:
            waiting[user] -= 1
            if waiting[user] == 0:
                ready.append(user)
