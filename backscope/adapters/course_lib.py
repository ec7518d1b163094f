"""Read what only our engine tells: where its files and memory are; what is saved, used, let go; which counters move.

The engine calls `note_node` for every node while a recording is open; a slot that is being followed keeps all its
fields and changes its class to one that says when it is used and when it dies. A version counter that is watched
changes its class, too. With no recording open nothing of this is attached anywhere.
"""

import os
import sys
import threading
from contextlib import suppress
from functools import partial
from types import FrameType

import numpy as np

import course_lib
from backscope.events.recording import (
    REFUSED,
    SAVED,
    UNPACKED,
    VERSION,
    Event,
    Kept,
    Maker,
    TrackedTensor,
    caller_of,
    here,
    inner_frames,
    maker_of,
    place_of,
    tell_use,
    user_place,
    watch_leaf,
    writer_name,
)
from backscope.graph.tensor_facts import is_tensor, safe_getattr
from course_lib.engine import backward as engine
from course_lib.engine import grad_mode, ops, saved
from course_lib.engine.graph import Node
from course_lib.engine.tensor import Tensor, counter_of
from course_lib.engine.version import VersionCounter

FILES = "<course_lib", os.path.dirname(os.path.abspath(course_lib.__file__)) + os.sep
state = grad_mode.state
_switching = threading.Lock()
_users = [0]  # threads that have recordings open


def base_array(array: np.ndarray) -> np.ndarray:
    """Return the NumPy array that owns the memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def spot_of(tensor: Tensor) -> tuple:
    """Return (memory, first element, shape, strides): equal for two tensors that look at the same elements."""
    array = tensor.array
    if type(array) is not np.ndarray:
        return id(array), 0, (), ()  # a NumPy scalar: nobody shares it, and looking must not change that
    return id(base_array(array)), array.__array_interface__["data"][0], array.shape, array.strides


def memory_size(tensor: Tensor) -> int:
    """Return the bytes of the whole memory that a tensor keeps alive: a view keeps all of its base."""
    array = tensor.array
    return array.itemsize if type(array) is not np.ndarray else base_array(array).nbytes


def share_counter(a: Tensor, b: Tensor) -> bool:
    """Tell whether two tensors on one memory have one version counter: each holds its counter."""
    return a.version is not None and a.version is b.version


def engine_maker(node) -> Maker:
    """Return the Maker of one of the engine's nodes, which may be renamed as long as it lives."""
    return maker_of("course_lib", node, node.sequence_nr, renamed=True)


def node_running_in(frame: FrameType) -> Node | None:
    """Return the node that one of the engine's frames runs, or None."""
    code = frame.f_code  # looking at a learner's frame would keep alive what it holds
    known = "node" in code.co_varnames and code.co_filename.startswith(FILES)
    return frame.f_locals.get("node") if known else None


def attach() -> "EngineObserver":
    """Have the engine call `note_node` in this thread until `detach()` of what this returns."""
    return EngineObserver()


class EngineObserver:
    """The observer that our engine calls while a recording is open in this thread."""

    def __init__(self):
        state.recorders += 1
        state.update()
        with _switching:
            if note_node not in ops.INSTRUMENTS:
                ops.INSTRUMENTS.append(note_node)
            _users[0] += 1

    def detach(self) -> None:
        """Have the engine call nobody any more, unless another thread still records."""
        state.recorders -= 1
        state.update()
        with _switching:
            _users[0] -= 1
            if not _users[0]:
                ops.INSTRUMENTS.remove(note_node)

    def settle(self, recording) -> None:
        """Do nothing: the engine tells of each event when it happens."""

    def watch_version(self, tensor, recording) -> None:
        """Notice from now on when the tensor's memory is written to."""
        watch_version(tensor, recording)


# --- what is saved -----------------------------------------------------------------------------

_followed = {}  # id of a slot object -> Kept
_classes = {}
_ANOTHER = object()  # no tensor's node: makes generated code ask unpack(), as a changed history would


class Followed:
    """Mixed into the class of a slot that a recording follows: the slot then says when it is used and when it dies."""

    __slots__ = ()

    def unpack(self, node) -> Tensor | None:
        return looked_at(self, super().unpack, node, sys._getframe(1))

    def read(self, node, *form) -> Tensor | None:
        look = super().read
        return looked_at(self, (lambda node: look(node, *form)) if form else look, node, sys._getframe(1))

    def __del__(self):
        kept = _followed.pop(id(self), None)
        if kept is not None:
            kept.let_go()


def looked_at(slot, look, node, frame) -> Tensor | None:
    """Let a slot answer as it would when it is asked for its tensor, and tell who watches."""
    kept = _followed.get(id(slot))
    if kept is None or slot.history is not _ANOTHER:
        return look(node)
    watching = [r for r in kept.recordings if r.unpacks and r.open]
    slot.history = kept.history
    try:
        tensor = look(node)
    except RuntimeError:
        if is_use(frame):
            tell_use(kept, watching, REFUSED, version_now(slot))
        raise
    finally:
        if watching:
            slot.history = _ANOTHER
    if is_use(frame):
        tell_use(kept, watching, UNPACKED, kept.version)
    return tensor


def is_use(frame) -> bool:
    """Tell a backward pass from somebody who looks at `node._saved_x`."""
    if state.task is None:
        return False
    return frame.f_code.co_filename != saved.__file__ or frame.f_back.f_code.co_filename == engine.__file__


def version_now(slot) -> int | None:
    tensor = slot.tensor
    return None if tensor is None else 0 if tensor.version is None else tensor.version.value


def followed_class(cls) -> type:
    """Return the same class with `Followed` mixed in; it adds no field, so that a slot can change over to it."""
    if cls not in _classes:
        _classes[cls] = type(cls.__name__, (Followed, cls), {"__slots__": ()})
    return _classes[cls]


SHOWN = {"slots": "tensors"}  # a custom Function's slots have no names of their own: ctx.saved_tensors[0]


def note_node(node, result) -> None:
    """Note a node that the engine has recorded: it calls this while a recording is open in this thread."""
    recordings = tuple(here.open)
    if not recordings:
        return
    maker = engine_maker(node)
    owner = getattr(result, "node", None)
    if owner is not None and owner is not node and is_tensor(result) and safe_getattr(result, "_base") is not None:
        maker.inside = " in CopySlices"  # a write to a view: the base's new history holds this node
    where = user_place()
    found = []
    for name in node.saved_tensor_names:
        slot = getattr(node, "saved_" + name, None)
        several = type(slot) is list
        for index, one in enumerate(slot if several else [slot]):
            if one is not None and one is not saved.FREED and id(one) not in _followed:
                kept = follow(one, result, maker, where, recordings)
                if kept is not None:
                    kept.put_in(maker, SHOWN.get(name, name), index if several else None, one.is_output)
                    found.append(kept)
    for recording in recordings:
        at = before_own_write(recording, result)
        for kept in found:
            recording.meet(kept.thing)
            event = Event(SAVED, kept, version=kept.version, where=where)
            if at is not None and not kept.is_result:
                recording.events.insert(at, event)
                at += 1
            else:
                recording.note(event)
        if recording.unpacks:
            watch_inputs_and_results(node, result, maker, recording)


def follow(slot, result, maker, where, recordings) -> Kept | None:
    """Start to follow one slot. None for a Python number, which is not shown on PyTorch either."""
    tensor, packed = slot.tensor, False
    if tensor is None:
        tensor, packed = getattr(slot, "packed", None), True
    if isinstance(tensor, saved.WrappedNumber):
        return None
    if not isinstance(tensor, Tensor):
        thing, nbytes = TrackedTensor(None, spot=(id(slot), 0, (), ())), 0  # hooks made something else of it
    else:
        known = tensor
        if slot.is_output:
            known = result if isinstance(result, Tensor) and result.array is tensor.array else None
            origin = maker
        else:
            origin = None if tensor.node is None else engine_maker(tensor.node)
        thing = TrackedTensor(tensor, None if packed else known, origin, not slot.is_output and is_leaf_memory(tensor))
        nbytes = memory_size(tensor)
    kept = Kept(thing, slot.version, nbytes, where, recordings)
    kept.packed = packed
    _followed[id(slot)] = kept
    slot.__class__ = followed_class(type(slot))
    if any(recording.unpacks for recording in recordings):
        kept.history, slot.history = slot.history, _ANOTHER
    return kept


def is_leaf_memory(tensor) -> bool:
    """Tell memory that no recorded operation computed: a parameter's, or plain data's."""
    if tensor.node is None:
        return tensor.meta is None or tensor.meta.view is None or tensor.meta.view.base.node is None
    view = None if tensor.meta is None else tensor.meta.view
    return view is not None and view.base.node is None


def before_own_write(recording, result) -> int | None:
    """Return where an in-place operation's inputs belong: before the write that the same call has just made."""
    if not recording.events or not isinstance(result, Tensor) or type(result.version) is not WatchedCounter:
        return None
    last = recording.events[-1]
    wrote, frames = _last_write
    if last.kind != VERSION or wrote is not result.version or last.version != result.version.value:
        return None
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(FILES):
        if id(frame) in frames:
            return len(recording.events) - 1
        frame = frame.f_back
    return None


# --- writes and leaves -------------------------------------------------------------------------

_value = VersionCounter.value
_watched = {}  # id of a counter -> (counter, TrackedTensor, recordings)
_last_write = (None, ())


class WatchedCounter(VersionCounter):
    """A version counter that says when it moves."""

    __slots__ = ()

    @property
    def value(self) -> int:
        return _value.__get__(self)

    @value.setter
    def value(self, number) -> None:
        global _last_write
        moved = number != _value.__get__(self)
        _value.__set__(self, number)
        watched = _watched.get(id(self))
        if not moved or watched is None:
            return
        inner, outer = inner_frames(sys._getframe(1))
        by = writer_name([frame.f_code.co_name for frame in inner]) + caller_of(inner)
        _last_write = self, {id(frame) for frame in inner}
        where = place_of(outer)
        for recording in watched[2]:
            recording.look()
            recording.note(Event(VERSION, thing=watched[1], version=number, by=by, where=where))


def watch_version(tensor, recording) -> None:
    """Notice from now on when the tensor's memory is written to."""
    if tensor.is_inference() or isinstance(tensor, saved.WrappedNumber):
        return
    counter = counter_of(tensor)
    if type(counter) is VersionCounter:
        base = tensor.meta.view.base if tensor.meta is not None and tensor.meta.view is not None else tensor
        node = base.node
        maker = None if node is None else engine_maker(node)
        _watched[id(counter)] = counter, TrackedTensor(base, base, maker), []
        counter.__class__ = WatchedCounter
    if type(counter) is WatchedCounter and recording not in _watched[id(counter)][2]:
        _watched[id(counter)][2].append(recording)
        recording.stops.append(partial(stop_watching, counter, recording))
        recording.meet(_watched[id(counter)][1])


def stop_watching(counter, recording) -> None:
    """End a recording's watch; a counter that nobody watches is an ordinary one again."""
    watched = _watched.get(id(counter))
    if watched is not None:
        with suppress(ValueError):
            watched[2].remove(recording)
        if not watched[2]:
            counter.__class__ = VersionCounter
            del _watched[id(counter)]


def watch_inputs_and_results(node, result, maker, recording) -> None:
    """Notice what happens to the memory a new node has to do with, and to the leaves it leads to.

    Results come first: a slot holds its node's own result as a second tensor, which could not say what made it.
    """
    for one in result if isinstance(result, (list, tuple)) else [result]:
        if isinstance(one, Tensor):
            watch_version(one, recording)
    for name in node.saved_tensor_names:
        slot = getattr(node, "saved_" + name, None)
        for one in slot if type(slot) is list else [slot]:
            if one is not None and isinstance(one.tensor, Tensor):
                watch_version(one.tensor, recording)
    for following, _ in node.next_functions:
        leaf = getattr(following, "variable", None)
        if leaf is not None:
            watch_leaf(leaf, recording)
