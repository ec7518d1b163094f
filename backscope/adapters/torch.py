"""Read what only real PyTorch tells, by public means: saved-tensor hooks and a TorchFunctionMode.

What a hook packs is an object of ours: its death tells that the slot let go. After each call from Python the new
nodes are looked through for the slots that hold those objects. A write is noticed when the call that made it
returns, by comparing versions.

PyTorch makes no version check for what hooks have packed, so the check is made here, with PyTorch's own message.
Not seen: what another pair of hooks inside the block packs (checkpoint, save_on_cpu), calls made from C++, threads.
"""

import os
import sys
import weakref
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import Any

import torch
from torch.optim.optimizer import (  # noqa: F401  (for script/)
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from backscope.events.recording import (
    REFUSED,
    SAVED,
    UNPACKED,
    VERSION,
    Event,
    Kept,
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
from backscope.graph.node_facts import sequence_nr
from backscope.graph.tensor_facts import one_counter, safe_getattr
from backscope.pictures.draw import names_in

Tensor = torch.Tensor
FILES = (os.path.dirname(os.path.abspath(torch.__file__)) + os.sep,)
ANOMALY_HINT = (
    " Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable in "
    "question was changed in there or anywhere later. Good luck!"
)

NO_ANOMALY_HINT = (
    " Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
    "torch.autograd.set_detect_anomaly(True, check_nan=False)."
)


def spot_of(tensor: Tensor) -> tuple:
    """Return (memory, first element, shape, strides): equal for two tensors that look at the same elements."""
    try:
        return tensor.untyped_storage().data_ptr(), tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride())
    except (RuntimeError, NotImplementedError):
        return id(tensor), 0, (), ()


def memory_size(tensor: Tensor) -> int:
    """Return the bytes of the whole memory that a tensor keeps alive: a view keeps all of its base."""
    try:
        return tensor.untyped_storage().nbytes()
    except (RuntimeError, NotImplementedError):
        return 0


def share_counter(a: Tensor, b: Tensor) -> bool:
    """Tell whether two tensors on one memory have one version counter: a step of one is seen by the other.

    Until somebody writes no attribute tells them apart, so the counter is raised and set back.
    """
    try:
        from torch._C._autograd import _unsafe_set_version_counter as set_version
    except ImportError:
        return True  # cannot be told; sharing is the usual case
    version = a._version
    try:
        set_version((a,), (version + 1,))
        return b._version == version + 1
    finally:
        set_version((a,), (version,))


def node_running_in(frame: FrameType) -> None:
    """Return None: the nodes run in C++, where no frame shows them."""


def forward_name(node: Any) -> str:
    """Return the operation as PyTorch's messages write it: 'Mul' for MulBackward0, 'Pow1' for PowBackward1, 'MyExp'."""
    name = node.name()
    if "::" in name:
        return name
    head, _, number = name.rpartition("Backward")
    return head + number.removeprefix("0") if head and not number.strip("0123456789") else name


def modified_in_place(kind: str, shape: tuple, output_of: str, now: int, wanted: int, hint: str) -> RuntimeError:
    """Return PyTorch's version error. `output_of` is ", which is output 0 of Mul," or ""."""
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{kind} [{', '.join(map(str, shape))}]]{output_of} is at version {now}; "
        f"expected version {wanted} instead.{hint}"
    )


class Packed:
    """The content of a slot while a recording is open: the tensor, its version, and the record of it."""

    __slots__ = ("tensor", "version", "kept", "user", "__weakref__")

    def __del__(self):
        kept = getattr(self, "kept", None)
        if kept is not None:
            kept.let_go()


def attach() -> "TorchObserver":
    """Look at what PyTorch does in this thread until `detach()` of what this returns."""
    return TorchObserver()


class TorchObserver:
    """The hooks and the mode in PyTorch while a recording is open in this thread."""

    def __init__(self):
        self.pending = []  # weak references to Packed whose node is not known yet
        self.seen = set()  # sequence numbers of nodes looked at
        self.names = {}  # node type -> its slots' names
        self.watched = {}  # address of memory -> [Watched]
        self.call = "", None  # the call from Python that runs now: its name, and the line in words
        top = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", None)
        self.user = top(True) if top is not None else None  # the pair of hooks that was there before ours
        self.hooks = torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack)
        try:
            self.hooks.__enter__()
        except RuntimeError as error:
            raise RuntimeError(
                f"ledger() and watch() see PyTorch through saved-tensor hooks, and these are disabled here: {error}"
            ) from None
        self.mode = CallsSeen(self)
        self.mode.__enter__()

    def detach(self) -> None:
        self.mode.__exit__(None, None, None)
        self.hooks.__exit__(None, None, None)
        self.watched.clear()

    def running(self) -> tuple:
        """Return (name, line) of the call from Python that runs now, as far as it is known."""
        name, frame = self.call
        if frame is None:
            return "", ""
        inner, outer = inner_frames(frame)
        return writer_name([name]) + caller_of(inner), place_of(outer)

    # --- saved, used ---

    def pack(self, tensor) -> Packed:
        """Keep a tensor for a node: PyTorch calls this with every tensor that a node is about to keep."""
        recordings = tuple(here.open)
        packed = Packed()
        packed.user, packed.version = self.user, tensor._version
        # Without its history: a result that was kept with it would be a cycle, node -> tensor -> node.
        packed.tensor = tensor.detach() if self.user is None else self.user[0](tensor)
        if not recordings:
            return packed
        self.check_versions([tensor], *self.running())
        held = packed.tensor if isinstance(packed.tensor, Tensor) else None
        where = user_place()
        nbytes = 0 if held is None else memory_size(held)
        origin, base = safe_getattr(tensor, "grad_fn"), safe_getattr(tensor, "_base")
        maker = None if origin is None else maker_of("torch", origin, sequence_nr(origin))
        leaf = (origin if base is None else safe_getattr(base, "grad_fn")) is None
        spot = (id(packed), 0, (), ()) if held is None else None
        thing = TrackedTensor(held, tensor if self.user is None else None, maker, leaf, spot)
        packed.kept = kept = Kept(thing, packed.version, nbytes, where, recordings)
        kept.packed = self.user is not None
        self.pending.append(weakref.ref(packed))
        for recording in recordings:
            recording.meet(thing)
            recording.note(Event(SAVED, kept, version=packed.version, where=where))
        return packed

    def unpack(self, packed) -> torch.Tensor:
        """Give a node its tensor. RuntimeError when its memory was written to since."""
        kept = getattr(packed, "kept", None)
        watching = [] if kept is None else [r for r in kept.recordings if r.unpacks and r.open]
        in_use = torch._C._current_graph_task_id() != -1
        if kept is not None and kept.maker is None and in_use:
            node = torch._C._current_autograd_node()
            if node is not None:
                kept.maker = maker_of("torch", node, sequence_nr(node))
        if packed.user is not None:
            if in_use:
                tell_use(kept, watching, UNPACKED, packed.version)
            return packed.user[1](packed.tensor)
        self.check_versions([packed.tensor])
        now = packed.tensor._version
        if now != packed.version:
            if in_use:
                tell_use(kept, watching, REFUSED, now)
            raise self.changed(packed, now)
        if in_use:
            tell_use(kept, watching, UNPACKED, packed.version)
        return packed.tensor

    def changed(self, packed, now) -> RuntimeError:
        """Make PyTorch's error for a saved tensor that was written to."""
        tensor, kept, output_of = packed.tensor, packed.kept, ""
        original = None if kept is None or kept.thing.ref is None else kept.thing.ref()
        maker = None if original is None else safe_getattr(original, "grad_fn")
        if kept is not None and kept.is_result:
            maker = torch._C._current_autograd_node() or maker
        if maker is not None:
            output_of = f", which is output {safe_getattr(original, 'output_nr', 0)} of {forward_name(maker)},"
        kind = tensor.type() if tensor.dtype != torch.bool else "CPUBoolType"
        hint = ANOMALY_HINT if torch.is_anomaly_enabled() else NO_ANOMALY_HINT
        return modified_in_place(kind, tensor.shape, output_of, now, packed.version, hint)

    # --- which node ---

    def after_call(self, result, arguments) -> None:
        """Find, after a call from Python has returned, the nodes it made, and notice what it wrote."""
        given = list(tensors_in(arguments, Tensor, 3))
        known = list(tensors_in(result, Tensor)) + given
        if self.watched:
            self.check_versions(given, *self.running())
        for recording in here.open:
            if recording.unpacks:
                for tensor in known:
                    if tensor.requires_grad:
                        watch_leaf(tensor, recording)
        if self.pending:
            self.find_slots(known)
        for recording in here.open:
            if recording.unpacks:
                for tensor in known:
                    if tensor.requires_grad:
                        self.watch_version(tensor, recording)

    def settle(self, recording) -> None:
        """Look through the graphs behind named tensors for nodes of calls that no mode sees: Function.apply."""
        if self.pending:
            self.find_slots([tensor for tensor in names_in(recording.frame)[1] if isinstance(tensor, Tensor)])
        self.check_versions(None)

    def find_slots(self, known) -> None:
        """Match what was packed with the slots of the nodes behind these tensors that were not seen before."""
        waiting = {id(packed): packed for ref in self.pending if (packed := ref()) is not None}
        found = []
        for node in self.new_nodes(known):
            for name, index, raw in self.slots(node):
                data = raw.data if raw.unpack_hook is not None else None
                if type(data) is Packed and waiting.pop(id(data), None) is not None:
                    kept, maker = data.kept, maker_of("torch", node, sequence_nr(node))
                    kept.put_in(maker, name, index, kept.thing.maker is maker)
                    found.append(kept)
                    original = None if kept.is_result or kept.thing.ref is None else kept.thing.ref()
                    if original is not None:
                        data.tensor = original  # as PyTorch does: an error can then name its present history
        self.pending = [weakref.ref(packed) for packed in waiting.values()]
        for recording in here.open:
            put_in_order(recording.events, found)

    def new_nodes(self, tensors) -> list:
        """Return the nodes behind these tensors that were not looked at yet, oldest first."""
        stack = [fn for t in tensors if (fn := safe_getattr(t, "grad_fn")) is not None]
        nodes = []
        while stack:
            node = stack.pop()
            number = sequence_nr(node)
            if number in self.seen or hasattr(node, "variable"):
                continue
            self.seen.add(number)
            nodes.append(node)
            stack.extend(following for following, _ in node.next_functions if following is not None)
        return sorted(nodes, key=sequence_nr)

    def slots(self, node) -> Iterator:
        """Yield (name, index or None, slot) for each slot of a node."""
        kind = type(node)
        if kind not in self.names:
            self.names[kind] = sorted(name for name in dir(kind) if name.startswith("_raw_saved_"))
        for name in self.names[kind]:
            try:
                raw = getattr(node, name)
            except RuntimeError:
                continue  # a custom Function that has let go
            if isinstance(raw, (tuple, list)):
                yield from ((name[11:], i, one) for i, one in enumerate(raw) if one is not None)
            elif raw is not None:
                yield name[11:], None, raw

    # --- writes ---

    def watch_version(self, tensor, recording) -> None:
        if tensor.is_inference():
            return
        place = spot_of(tensor)[0]
        entries = self.watched.setdefault(place, [])
        entries[:] = [entry for entry in entries if entry.ref() is not None]
        for entry in entries:
            if entry.ref() is tensor:
                if recording not in entry.recordings:
                    entry.recordings.append(recording)
                    recording.meet(entry.thing)
                return
        for entry in entries:
            if one_counter(entry.ref(), tensor):  # one counter is one thing to speak of
                thing, recordings = entry.thing, entry.recordings
                break
        else:
            origin = safe_getattr(tensor, "grad_fn")
            maker = None if origin is None else maker_of("torch", origin, sequence_nr(origin))
            thing, recordings = TrackedTensor(tensor, tensor, maker), [recording]
            recording.meet(thing)
        entries.append(Watched(tensor, thing, recordings))

    def check_versions(self, tensors, by="", where="") -> None:
        """Say which versions have moved: of all that is watched, or of the memory of these tensors."""
        if not self.watched:
            return
        places = list(self.watched) if tensors is None else {spot_of(t)[0] for t in tensors}
        for place in places:
            told = set()
            for entry in self.watched.get(place, ()):
                tensor = entry.ref()
                now = None if tensor is None else tensor._version
                if now is None or now == entry.version:
                    continue
                entry.version = now
                if (entry.thing, now) in told:
                    continue
                told.add((entry.thing, now))
                for recording in entry.recordings:
                    recording.look()
                    recording.note(Event(VERSION, thing=entry.thing, version=now, by=by, where=where))


class Watched:
    """A tensor whose version is compared after each call, held weakly."""

    __slots__ = ("ref", "thing", "version", "recordings")

    def __init__(self, tensor, thing, recordings):
        self.ref, self.thing, self.recordings = weakref.ref(tensor), thing, recordings
        self.version = tensor._version


def put_in_order(events, found) -> None:
    """Sort the slots of one call: by node, then inputs before results, then by name, as our engine tells them."""
    found, end = set(found), len(events)
    while found and end > 0:
        start = end
        while start > 0 and events[start - 1].kind == SAVED and events[start - 1].kept in found:
            start -= 1
            found.discard(events[start].kept)
        if start < end:
            events[start:end] = sorted(events[start:end], key=lambda e: (e.kept.maker.order, e.kept.order))
        end = min(start, end - 1)


def tensors_in(thing, kind, depth=2) -> Iterator:
    """Yield the tensors in an argument or a result: itself, or what lists, tuples and dictionaries hold."""
    if isinstance(thing, kind):
        yield thing
    elif depth and isinstance(thing, (list, tuple)):
        for one in thing:
            yield from tensors_in(one, kind, depth - 1)
    elif depth and isinstance(thing, dict):
        yield from tensors_in(list(thing.values()), kind, depth - 1)


class CallsSeen(torch.overrides.TorchFunctionMode):
    """Passes every call on, and tells the source when it has returned."""

    def __init__(self, source):
        super().__init__()
        self.source = source

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        if name == "__get__":
            return function(*args, **(kwargs or {}))
        if (kwargs or {}).get("out") is not None:
            name += " with out="
        source, result, outer = self.source, None, self.source.call
        source.call = name, sys._getframe(1)
        try:
            result = function(*args, **(kwargs or {}))
            return result
        finally:
            source.after_call(result, (args, kwargs))
            source.call = outer


def load_compiler() -> ModuleType:
    """Load what the first optimizer loads: a few seconds, which every fork of this process then has behind it."""
    import torch._dynamo

    return torch._dynamo


def not_compiled(function: Callable) -> None:
    """Have torch.compile pass a function by, as it does its own."""
    load_compiler().eval_frame.skip_code(function.__code__)


def is_transformed() -> bool:
    """Decide whether a transform of torch.func is running."""
    peek = getattr(torch._C._functorch, "peek_interpreter_stack", None)
    return peek is not None and peek() is not None
