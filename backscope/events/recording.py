"""Recordings for `ledger()` and `watch()`: events in words, and the names of the tensors in them.

A recording holds words and numbers only, and weak references while names are still being looked for: it keeps no
tensor and no graph alive. What happens is told to it by the adapters of both libraries.
"""

import inspect
import os
import sys
import threading
import weakref

from backscope.adapters import OWN_FILES, adapter_of, library_files, loaded
from backscope.graph.node_facts import node_name
from backscope.graph.reader import RESULT
from backscope.graph.tensor_facts import dtype_of, is_module, is_tensor, safe_getattr, shape_of
from backscope.pictures.draw import HIDDEN, named_by, names_in

SAVED, VERSION, UNPACKED, REFUSED, FREED, ACCUMULATED = (
    "saved", "version", "unpacked", "refused", "freed", "accumulated",
)  # fmt: skip

_makers = weakref.WeakValueDictionary()  # (library, sequence number) -> Maker


class _ThreadState(threading.local):
    """The recordings that are open in this thread."""

    def __init__(self):
        self.open = []
        self.observers = {}  # library -> what its adapter has attached, while any recording is open


here = _ThreadState()


# --- facts -------------------------------------------------------------------------------------------------


class Maker:
    """A backward node in words. Its name is read late: an operation may rename its node after recording it."""

    __slots__ = ("order", "known_as", "inside", "node", "__weakref__")

    def __init__(self, order, known_as, node=None):
        self.order, self.known_as, self.inside = order, known_as, ""
        self.node = None if node is None else weakref.ref(node)

    @property
    def name(self) -> str:
        node = None if self.node is None else self.node()
        if node is not None:
            self.known_as = node_name(node)
        return self.known_as + self.inside


def maker_of(library, node, number, renamed=False) -> Maker:
    """Return the Maker of a node, one for each. `renamed`: it may get another name, and takes weak references."""
    maker = _makers.get((library, number))
    if maker is None:
        maker = _makers[library, number] = Maker(number, node_name(node), node if renamed else None)
    return maker


class TrackedTensor:
    """A tensor as the recordings speak of it: where its elements are and what it is, never the tensor itself."""

    __slots__ = ("ref", "spot", "shape", "dtype", "maker", "leaf", "gone", "__weakref__")

    def __init__(self, tensor, known=None, maker=None, leaf=False, spot=None):
        self.ref = None if known is None else weakref.ref(known)
        self.spot = spot_of(tensor) if spot is None else spot
        self.shape, self.dtype = ("", "") if tensor is None else (shape_of(tensor), dtype_of(tensor))
        self.maker, self.leaf, self.gone = maker, leaf, False

    def is_alive(self) -> bool:
        """Tell whether its place in memory cannot have become another tensor's."""
        return not self.gone or (self.ref is not None and self.ref() is not None)


class Kept:
    """One saved tensor: the slot of a node that holds it, and how much memory it keeps alive."""

    __slots__ = (
        "maker", "slot", "order", "thing", "version", "nbytes", "is_result", "packed", "where", "recordings", "history",
        "freed", "__weakref__",
    )  # fmt: skip

    def __init__(self, thing, version, nbytes, where, recordings):
        self.thing, self.version, self.nbytes, self.where = thing, version, nbytes, where
        self.recordings = recordings
        self.maker, self.slot, self.order = None, "", (0, "", 0)
        self.is_result = self.packed = self.freed = False
        self.history = None  # on our engine: what the slot's own field says, while that makes it safe_getattr

    def put_in(self, maker, name, index, is_result) -> None:
        """Say which slot of which node this is."""
        self.maker, self.is_result = maker, is_result or RESULT.match(name) is not None
        if self.is_result:
            self.thing.maker, self.thing.leaf = maker, False
        self.slot = name if index is None else f"{name}[{index}]"
        self.order = self.is_result, name, index or 0

    def let_go(self) -> None:
        """Note that the slot has died: the node released it, or the graph itself is gone."""
        if not self.freed:
            self.freed = True
            for recording in self.recordings:
                recording.look()  # while the place in memory is still this tensor's
            self.thing.gone, self.history = True, None
            for recording in self.recordings:
                recording.note(Event(FREED, self))


class Event:
    """One thing that happened."""

    __slots__ = ("kind", "kept", "thing", "version", "by", "where")

    def __init__(self, kind, kept=None, thing=None, version=None, by="", where=""):
        self.kind, self.kept, self.version, self.by, self.where = kind, kept, version, by, where
        self.thing = kept.thing if thing is None else thing


def spot_of(tensor) -> tuple:
    """Return (memory, first element, shape, strides): equal for two tensors that look at the same elements."""
    adapter = adapter_of(tensor)
    return (id(tensor), 0, (), ()) if adapter is None else adapter.spot_of(tensor)


# --- where in the program ----------------------------------------------------------------------------------


def inner_frames(frame) -> tuple:
    """Return (frames of libraries and instruments from `frame` outwards, the first of the program or None)."""
    ours, inner = (OWN_FILES, *library_files()), []
    while frame is not None and frame.f_code.co_filename.startswith(ours):
        inner.append(frame)
        frame = frame.f_back
    return inner, frame


def place_of(frame) -> str:
    """Write a frame's line: 'cell [5] line 2', or 'file.py line 12'; "" without a frame."""
    return "" if frame is None else place_words(frame.f_code.co_filename, frame.f_lineno)


def place_words(file: str, number: int) -> str:
    """Write a line of the program: "cell [5] line 2" in a notebook, otherwise "file.py line 12"."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    found = None if shell is None else shell.compile.format_code_name(file)
    where = os.path.basename(file) if found is None else "cell " + found[1].removeprefix("In")
    return f"{where} line {number}"


def user_place() -> str:
    """Write the line of the learner's program that is running now."""
    return place_of(inner_frames(sys._getframe(1))[1])


CALLERS = ("step", "load_state_dict", "zero_grad", "reset_parameters")


def caller_of(inner) -> str:
    """Return ' in SGD.step' when a method of a library object did the writing, otherwise ''."""
    for frame in inner:
        if frame.f_code.co_name in CALLERS:
            owner = frame.f_locals.get("self")
            return f" in {type(owner).__name__}.{frame.f_code.co_name}" if owner is not None else ""
    return ""


def writer_name(names: list[str]) -> str:
    """Name the operation that wrote, from the names of the functions that were running, innermost first."""
    names = [name for name in names if name != "_call"]  # what stands before each function: surface/parsing.py
    if "__setitem__" in names or "setitem" in names:
        return "item assignment"
    if "store" in names:
        return f"{names[-1]} with out="
    classes = [each.Tensor for each in loaded()]
    called = [n for n in names if n.endswith("_") and not n.startswith("_") and any(hasattr(c, n) for c in classes)]
    if called:
        return called[-1]  # what the program called; the others are how the engine does it
    for name in names:
        if name.startswith("__i") and name.endswith("__"):
            return name[3:-2] + "_"
    if "check_dirty" in names or "finish_dirty" in names or "finish_output" in names:
        return "mark_dirty"
    public = [name for name in names if not name.startswith(("_", "<")) and name != "write"]
    return public[-1] if public else "a write"


# --- a recording -------------------------------------------------------------------------------------------


class Recording:
    """The events that one `with` block saw, and the names it found for the tensors in them."""

    def __init__(self, frame, names, unpacks, follows):
        self.events = []
        self.names = {}  # TrackedTensor -> name
        self.nameless = []
        self.unpacks = unpacks  # also wants to know what is used and written: watch()
        self.follows = follows  # goes on noticing what is freed after the block: ledger()
        self.open, self.to_look = True, False
        self.frame = frame
        self.variables = {}  # id -> (weak reference, name): known when the block began
        self.given = set()
        for name, tensor in names:
            self.variables[id(tensor)] = weakref.ref(tensor), name
            self.given.add(id(tensor))
        known, around = names_in(frame)
        for tensor in around:
            self.variables.setdefault(id(tensor), (weakref.ref(tensor), known[id(tensor)][0]))
        self.leaves = {}  # id -> (weak reference, hook handle): leaves whose accumulation is noticed
        self.stops = []  # functions that end what was begun for this recording
        self.makers = None

    def note(self, event) -> None:
        """Add an event, at the end."""
        if self.open or (self.follows and event.kind == FREED):
            self.events.append(event)

    # --- names ---

    def meet(self, thing) -> None:
        """Look for a new thing's name: among the names known at the beginning, and in the caller's variables."""
        tensor = None if thing.ref is None else thing.ref()
        if tensor is not None:
            name = self.name_of(tensor)
            if name is not None:
                self.names[thing] = name
                return
        self.nameless.append(thing)
        self.to_look = True

    def name_of(self, tensor) -> str | None:
        known = self.variables.get(id(tensor))
        if known is not None and known[0]() is tensor:
            return known[1]
        return None if self.frame is None else name_in(self.frame, tensor)

    def look(self) -> None:
        """Look once more for the names of things: a result gets its name after the operation has returned."""
        if not self.to_look or self.frame is None:
            return
        self.to_look = False
        waiting = [thing for thing in self.nameless if thing not in self.names and thing.is_alive()]
        if waiting:
            known, around = names_in(self.frame)
            around = [t for t in around if not known[id(t)][0].endswith(".grad")]
            by_id = {id(t): known[id(t)][0] for t in around}
            by_spot, by_memory = {}, {}
            for t in sorted(around, key=lambda t: safe_getattr(t, "grad_fn") is None):
                spot, name = spot_of(t), known[id(t)][0]
                by_spot.setdefault(spot, name)
                if safe_getattr(t, "_base") is None:
                    by_memory.setdefault(spot[0], name)
            for thing in waiting:
                tensor = None if thing.ref is None else thing.ref()
                name = by_id.get(id(tensor)) if tensor is not None else None
                if name is None and not thing.gone:
                    name = by_spot.get(thing.spot)
                    if name is None and thing.spot[0] in by_memory:
                        name = f"a view of {by_memory[thing.spot[0]]}"
                if name is not None:
                    self.names[thing] = name
        self.nameless = [thing for thing in waiting if thing not in self.names]

    # --- words ---

    def title(self, maker) -> str | None:
        """Return a node's name; numbered when several nodes in this recording have it."""
        if maker is None:
            return "a node that was not seen"
        if self.makers is None or self.makers[0] != len(self.events):
            named, seen = {}, set()
            for event in self.events:
                for m in (event.thing.maker, event.kept.maker if event.kept is not None else None):
                    if m is not None and m not in seen:
                        seen.add(m)
                        named.setdefault(m.name, []).append(m)
            titles = {}
            for name, makers in named.items():
                makers.sort(key=lambda m: m.order)
                for i, m in enumerate(makers):
                    titles[m] = f"{name} ({i + 1})" if len(makers) > 1 else name
            self.makers = len(self.events), titles
        return self.makers[1].get(maker, maker.name)

    def words(self, thing) -> str:
        """Call a tensor by its name, or by where it comes from."""
        if thing in self.names:
            return self.names[thing]
        if thing.maker is not None:
            return f"the result of {self.title(thing.maker)}"
        return f"an unnamed tensor {thing.shape}"

    def close(self) -> None:
        """End the block: nothing new is recorded."""
        self.look()
        self.open = False
        self.frame = None
        self.variables.clear()
        self.nameless.clear()
        for _, handle in self.leaves.values():
            handle.remove()
        self.leaves.clear()
        for stop in self.stops:
            stop()
        self.stops.clear()


def in_reading_order(events) -> list:
    """Sort events of one node that follow one another by slot: libraries unpack and free in their own order."""
    events, ordered, i = list(events), [], 0
    while i < len(events):
        j = i + 1
        if events[i].kind in (UNPACKED, FREED) and events[i].kept.maker is not None:
            same = events[i].kind, events[i].kept.maker
            while j < len(events) and events[j].kept is not None and (events[j].kind, events[j].kept.maker) == same:
                j += 1
        ordered += sorted(events[i:j], key=lambda e: e.kept.order) if j > i + 1 else events[i:j]
        i = j
    return ordered


def name_in(frame, tensor) -> str | None:
    """Return the name of the caller's variable that is this very tensor, or None."""
    seen = frame.f_locals
    try:
        for scope in (seen, frame.f_globals):
            for name, value in list(scope.items()):
                if value is tensor and not name.startswith("_") and name not in HIDDEN:
                    return name
        return None
    finally:
        if type(seen) is dict and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            seen.clear()  # up to Python 3.12 a copy that stays with the frame, and would keep the tensors alive


def pairs_of(names, what) -> list:
    """Return [(name, tensor)] from `names=`, a dictionary or a module. TypeError or ValueError for anything else."""
    if names is None:
        return []
    if is_module(names):
        return named_by([names])
    if not isinstance(names, dict):
        raise TypeError(
            f'{what}(names=…) takes a module, or a dictionary such as {{"h": h}}, not {type(names).__name__}.'
        )
    pairs = [(k, v) if isinstance(k, str) else (v, k) for k, v in names.items()]
    for name, tensor in pairs:
        if not isinstance(name, str) or not is_tensor(tensor):
            raise TypeError(f'{what}(names=…) must pair text with tensors, as in {{"h": h}}.')
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError(f"{what}(names=…) gives the same name twice: every tensor needs one of its own.")
    return pairs


# --- what both libraries tell in the same way --------------------------------------------------------------


def tell_use(kept, recordings, kind, version) -> None:
    """Note that a saved tensor was used, or refused, in a backward pass."""
    for recording in recordings:
        recording.look()
        recording.note(Event(kind, kept, version=version))


def watch_leaf(leaf, recording) -> None:
    """Notice from now on when a gradient is added to the leaf's `.grad`."""
    known = recording.leaves.get(id(leaf))
    if known is not None and known[0]() is leaf:
        return
    if not (safe_getattr(leaf, "requires_grad") and safe_getattr(leaf, "is_leaf")):
        return
    thing = TrackedTensor(leaf, leaf, leaf=True)
    recording.meet(thing)

    def noticed(_):
        recording.look()
        recording.note(Event(ACCUMULATED, thing=thing))

    handle = leaf.register_post_accumulate_grad_hook(noticed)
    recording.leaves[id(leaf)] = weakref.ref(leaf), handle
