"""What a running PyTorch script did, recorded lightly: which line made each node, which line wrote to which memory.

One TorchFunctionMode sees every call from Python. A call leaves a few numbers behind: the sequence number of its
newest node, the memory of its operands and result, and where in the user's files it stands. Nothing holds a tensor,
and only the newest KEPT calls are kept. Not seen: other threads, calls made from C++, what a backward pass runs,
what torch.compile has compiled.
"""

import os
import sys
from bisect import bisect_left
from collections import deque
from dataclasses import dataclass

KEPT = 50_000  # calls, and writes, that are remembered
LIBRARY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # course_lib
OURS = LIBRARY + os.sep, os.path.join(os.path.dirname(LIBRARY), "backscope.py")  # how our files' names begin


@dataclass(frozen=True)
class Place:
    """A line of the user's files: the code object that ran, and how far it had come."""

    code: object
    instruction: int

    @property
    def file(self):
        return self.code.co_filename

    @property
    def line(self):
        positions = list(self.code.co_positions())
        at = self.instruction // 2
        return (positions[at][0] if at < len(positions) else None) or self.code.co_firstlineno

    @property
    def function(self):
        return self.code.co_qualname


@dataclass(frozen=True)
class Write:
    """A call that moved a version counter."""

    memory: int
    version: int  # after the write
    name: str
    place: Place
    after: int  # the newest node when it was written
    through_data: bool  # the tensor came from .data: its counter is not the one that is compared


class Recorder:
    """The record of one script. Used as a context manager around it, in the thread that runs it."""

    def __init__(self, torch):
        self.torch, self.tensor = torch, torch.Tensor
        self.newest = -1  # sequence number of the newest node
        self.numbers = deque(maxlen=KEPT)  # ascending: the newest node after each call that made nodes
        self.calls = deque(maxlen=KEPT)  # (name, place, memories) of these calls
        self.writes = deque(maxlen=KEPT)
        self.passes = deque(maxlen=4)  # (place, nodes it starts from) of the last passes that free what they used
        self.inside = False  # while a call of ours runs backward(), which calls torch.autograd.backward()
        self.aliases = torch.utils.weak.WeakTensorKeyDictionary()  # what .data has given
        self.folders = os.path.dirname(torch.__file__) + os.sep, *OURS
        self.failed = False  # after an error of ours nothing is looked at any more
        self.known = {}  # file name -> whether it is the user's
        self.watchers = []  # objects with before_pass, after_write: see doubts.py

    def __enter__(self):
        self.mode = mode_class(self.torch)(self)
        self.mode.__enter__()
        function = self.torch.autograd.Function
        self.apply = apply = function.__dict__["apply"]
        self.backward = backward = self.torch.autograd.backward
        self.on = on = [self]  # emptied at the end: PyTorch's compiler, if it is loaded meanwhile, keeps what it finds

        def recorded(cls, *args, **kwargs):
            if not on:
                return apply.__func__(cls, *args, **kwargs)
            recorder = on[0]
            before = recorder.guarded(recorder.versions, args)
            result = apply.__func__(cls, *args, **kwargs)
            recorder.guarded(recorder.after, cls.__name__, args, before, result, sys._getframe(1))
            return result

        def noted(tensors, *args, **kwargs):
            if on and not on[0].inside:
                on[0].guarded(on[0].before_pass, (tensors,), kwargs, sys._getframe(1))
            return backward(tensors, *args, **kwargs)

        function.apply = classmethod(recorded)
        self.torch.autograd.backward = noted
        return self

    def __exit__(self, *error):
        self.torch.autograd.Function.apply = self.apply
        self.torch.autograd.backward = self.backward
        self.mode.__exit__(*error)
        self.on.clear()

    # --- while the script runs: called a few hundred times a training step ---

    def guarded(self, look, *what):
        """Call a function of ours. An error in it is ours too: said once, and the script goes on without a recorder."""
        if self.failed:
            return None
        try:
            return look(*what)
        except Exception as error:
            self.failed = True
            line = f"{type(error).__name__}: {error}"
            said = f"course_lib.explain: the recorder failed and is off now ({line}); the script goes on."
            print(said, file=sys.stderr)
            return None

    def place(self, frame):
        """The nearest line of the user's own files, from this frame outwards."""
        known = self.known
        while frame is not None:
            file = frame.f_code.co_filename
            own = known.get(file)
            if own is None:
                own = known[file] = not file.startswith(self.folders) and not file.startswith("<frozen")
            if own:
                return Place(frame.f_code, frame.f_lasti)
            frame = frame.f_back
        return None

    def versions(self, args):
        """(tensor, its version) for each tensor among the arguments; lists are looked into."""
        found, tensor = [], self.tensor
        for one in args:
            if isinstance(one, tensor):
                if not one.is_inference():
                    found.append((one, one._version))
            elif type(one) in (list, tuple):
                found += [(x, x._version) for x in one if isinstance(x, tensor) and not x.is_inference()]
        return found

    def after(self, name, args, before, result, frame):
        """A call has returned: did it make nodes, did it write?"""
        place = None
        one = result
        if before is None:  # the recorder failed in between
            return
        if type(one) in (tuple, list) and one:
            one = one[0]
        node = one.grad_fn if isinstance(one, self.tensor) else None
        if node is not None and (number := node._sequence_nr()) > self.newest:
            place = self.place(frame)
            memories = tuple(self.memory(t) for t, _ in before) + (self.memory(one),)
            self.newest = number
            self.numbers.append(number)
            self.calls.append((name, place, memories))
        for tensor, version in before:
            if tensor._version != version:
                place = place or self.place(frame)
                hidden = len(self.aliases) > 0 and tensor in self.aliases
                write = Write(self.memory(tensor), tensor._version, name, place, self.newest, hidden)
                self.writes.append(write)
                for each in self.watchers:
                    each.after_write(write, tensor)

    def before_pass(self, given, kwargs, frame):
        """backward() or grad() is about to run."""
        place = self.place(frame)
        for each in self.watchers:
            each.before_pass(given, kwargs, place)
        if not kwargs.get("retain_graph") and not kwargs.get("create_graph"):
            # Nodes, which hold no tensor any more when the pass is over.
            roots = [tensor.grad_fn for tensor, _ in self.versions(given) if tensor.grad_fn is not None]
            self.passes.append((place, roots))

    def memory(self, tensor):
        """A number for the memory of a tensor; views of one memory have the same."""
        try:
            return tensor.untyped_storage()._cdata
        except (RuntimeError, NotImplementedError):  # sparse and other tensors without one memory
            return id(tensor)

    # --- afterwards ---

    def call_of(self, number):
        """(name, place, memories) of the call that made the node with this sequence number; None if unknown."""
        at = bisect_left(self.numbers, number)
        return self.calls[at] if at < len(self.numbers) and number >= self.numbers[0] else None

    def writes_to(self, memories, first, last):
        """The writes to one of these memories that brought its version to first … last, oldest first."""
        found, wanted = [], last
        for write in reversed(self.writes):
            if write.memory in memories and write.version == wanted:
                found.append(write)
                wanted -= 1
                if wanted < first:
                    break
        return found[::-1]


_mode = []


def mode_class(torch):
    """A TorchFunctionMode, made when PyTorch is first met: this module must load without it."""
    if not _mode:

        class Calls(torch.overrides.TorchFunctionMode):
            """Passes every call on, and has the recorder look at what came of it."""

            def __init__(self, recorder):
                super().__init__()
                self.recorder = recorder

            def __torch_function__(self, function, types, args=(), kwargs=None):
                recorder, kwargs = self.recorder, kwargs or {}
                name = getattr(function, "__name__", "")
                if name == "__get__":
                    result = function(*args, **kwargs)
                    if getattr(function, "__self__", None) is DATA and isinstance(result, recorder.tensor):
                        recorder.aliases[result] = True
                    return result
                given = (*args, *kwargs.values()) if kwargs else args
                before = recorder.guarded(recorder.versions, given)
                if name in ("backward", "grad"):
                    recorder.guarded(recorder.before_pass, given, kwargs, sys._getframe(1))
                    recorder.inside = True
                    try:
                        result = function(*args, **kwargs)
                    finally:
                        recorder.inside = False
                else:
                    result = function(*args, **kwargs)
                recorder.guarded(recorder.after, name, given, before, result, sys._getframe(1))
                if name == "requires_grad_" or name == "__set__":
                    for each in recorder.watchers:
                        recorder.guarded(each.after_setting, function, args, recorder.place(sys._getframe(1)))
                return result

        DATA = torch.Tensor.data
        _mode.append(Calls)
    return _mode[0]
