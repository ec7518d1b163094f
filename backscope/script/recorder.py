"""Record lightly what a running PyTorch script does: which line made each node, which line wrote to which memory.

One TorchFunctionMode sees every call from Python. A call leaves a few numbers behind: the sequence number of its
newest node, the memory of its operands and result, and where in the user's files it stands. Nothing holds a tensor,
and only the newest KEPT calls are kept. Threads that Python starts are recorded, each with a mode of its own, since
each numbers its nodes by itself. After PASSES backward passes it rests where recording takes more than SHARE of the
processor's time. While compiled code runs nothing of ours is in PyTorch: torch.compile would compile it, too.

Not seen: other processes, calls made from C++, what a backward pass runs, what happens inside of compiled code.
"""

import contextlib
import functools
import os
import sys
import threading
import time
import warnings
import weakref
from bisect import bisect_left
from collections import deque
from dataclasses import dataclass

from backscope.adapters import OWN_FILES, adapter, library_files
from backscope.script.places import CHOSEN, END, OWN, Place, iter_frames, rank_of

KEPT = 50_000  # calls, and writes, that are remembered
PASSES = 50  # that are recorded whole, whatever it costs
CALL, SHARE = 6e-6, 0.08  # seconds that recording a call takes; the share of the script's time that it may take later
MAKERS = {"tensor", "as_tensor", "asarray", "scalar_tensor"}  # tensors out of numbers
NOT_ASKED = object()  # "was not looked into", where None says "there was none"
NUMBERS = {"item", "tolist", "numpy", "__array__", "__float__", "__int__", "__format__"}  # tensors in, no tensors out


@dataclass(slots=True, eq=False)  # frozen ones take long to make
class Write:
    """A call that moved a version counter."""

    memory: int
    version: int  # after the write
    name: str
    place: Place
    after: int  # the newest node when it was written
    optimizer: bool  # in an optimizer of PyTorch's
    leaf: bool  # to a leaf that requires grad: a parameter
    through_data: bool  # the tensor came from .data: its counter is not the one that is compared
    module: object = None  # a weak reference to the PyTorch module whose forward wrote, such as nn.ReLU


@dataclass(frozen=True)
class Cut:
    """A call whose result has no history, although one of its operands had one."""

    name: str
    place: Place
    recorded: bool  # whether grad mode was on
    whole: bool  # the result is of integers or bools
    function: bool = False  # a custom Function, and what has a history was used inside of it, and is no argument
    numbers: tuple = ()  # of a tensor made of numbers: the cuts by item() and the like that came before


class Strand:
    """The record of one thread. Each thread numbers its nodes from 0."""

    def __init__(self, torch):
        with torch.inference_mode(False), torch.enable_grad():  # the newest node before the record
            self.begin = torch.zeros(1, requires_grad=True).clone().grad_fn._sequence_nr()
        self.newest = -1  # sequence number of the newest node
        self.numbers = deque(maxlen=KEPT)  # ascending: the newest node after each call that made nodes
        self.calls = deque(maxlen=KEPT)  # (name, place, memories, name of the newest node) of these calls
        self.aside = False  # while compiled code runs
        self.inside = False  # while a call of ours runs backward(), which calls torch.autograd.backward()


class Recorder:
    """The record of one script. Used as a context manager around it, in the thread that runs it."""

    def __init__(self, torch, everything=False):
        self.torch, self.tensor = torch, torch.Tensor
        self.everything = everything  # whether it records on where that costs more than SHARE
        self.compiles = []  # where torch.compile was called
        self.aside, self.lock = 0, threading.Lock()  # how many threads run compiled code
        self.rests = ""  # why calls are not recorded any more, in words
        self.walked = self.met = 0  # backward passes; calls that the mode saw since the second one
        self.since = 0.0  # processor time at the second pass: the first one loads much
        self.strands = {}  # number of a living thread, or of one that was -> its Strand
        self.all_strands = deque(maxlen=64)  # numbers of threads are used again
        self.writes = deque(maxlen=KEPT)
        self.cuts = {}  # id of a living tensor -> (weak reference to it, the Cut that it comes from)
        self.numbers_out = deque(maxlen=3)  # Cuts since the last pass whose result is no tensor: item(), numpy()
        self.numbers_before = ()  # the same, when the newest pass began
        self.passes = deque(maxlen=12)  # (place, nodes it starts from): of each place the last two that free memory
        self.first_step = None  # the newest node when an optimizer stepped for the first time
        self.flagged = {}  # id of a living tensor -> (weak reference to it, where it was told to require grad)
        self.built = {}  # id of a living module -> (weak reference to it, where it was made)
        self.aliases = torch.utils.weak.WeakTensorKeyDictionary()  # what .data has given
        self.folders = os.path.dirname(torch.__file__) + os.sep, OWN_FILES
        self.optimizers = self.folders[0] + "optim" + os.sep
        self.failed = False  # after an error of ours nothing is looked at any more
        self.known = {}  # file name -> its rank
        profiler = getattr(torch._C, "_profiler", None)
        gather = getattr(profiler, "gather_traceback", None)
        self.stack = functools.partial(gather, True, False, False) if gather else lambda: None
        self.call_impl = getattr(torch.nn.Module, "_call_impl", None) and torch.nn.Module._call_impl.__code__
        self.step_place = None  # while an optimizer steps: the user's line
        self.close = []  # those of the watchers that are told of each call, and of each .grad and .data
        self.watchers = []  # objects with before_pass, after_write and others: see doubts.py

    def __enter__(self):
        self.mode = self.in_this_thread()
        self.mode.__enter__()
        function = self.torch.autograd.Function
        apply, backward = function.__dict__["apply"], self.torch.autograd.backward
        self.on = on = [self]  # emptied at the end: PyTorch's compiler, if it is loaded meanwhile, keeps what it finds
        self.compile = compiler = getattr(self.torch, "compile", None)

        def recorded(cls, *args, **kwargs):
            if not on or on[0].rests:
                return apply.__func__(cls, *args, **kwargs)
            recorder = on[0]
            before, last = recorder.guarded(recorder.versions, args), recorder.last_write()
            result = apply.__func__(cls, *args, **kwargs)
            recorder.guarded(recorder.after, cls.__name__, args, before, result, sys._getframe(1), last)
            recorder.guarded(recorder.after_function, cls.__name__, before, result, sys._getframe(1))
            for each in recorder.watchers:
                recorder.guarded(each.after_function, cls, result, sys._getframe(1))
            return result

        def noted(tensors, *args, **kwargs):
            if not on or on[0].strand.inside:
                return backward(tensors, *args, **kwargs)
            recorder = on[0]
            recorder.guarded(recorder.before_pass, (tensors,), kwargs, sys._getframe(1))
            with recorder.out_of_the_way():
                result = backward(tensors, *args, **kwargs)
            recorder.guarded(recorder.after_pass, (tensors,))
            return result

        def compiled(*args, **kwargs):
            if on and on[0].watchers:  # they listen at more places than can be left for a while
                place = on[0].place(sys._getframe(1))
                on[0].end(f"torch.compile was called{place and f' in line {place.line}' or ''}")
            result = compiler(*args, **kwargs)
            model = args[0] if args else kwargs.get("model")
            if not on or model is None:  # used as a decorator, it calls torch.compile once more
                return result
            on[0].compiles.append(on[0].place(sys._getframe(1)))
            if not isinstance(result, self.torch.nn.Module):
                return watched(result)
            kind = type(result)  # a deep copy of it is compiled, too
            if not any(one[0] is kind for one in on[0].put_in):
                on[0].put_in.append((kind, "__call__", watched(kind.__call__), kind.__call__))
                kind.__call__ = on[0].put_in[-1][2]
            if "forward" in vars(result):
                result.forward = watched(result.forward)
            return result

        def watched(run):
            """A compiled function that is recorded as one call, with nothing of ours in PyTorch while it runs."""
            name = getattr(run, "__name__", "a compiled function")

            @functools.wraps(run)
            def call(*args, **kwargs):
                if not on or on[0].rests or on[0].strand.aside:
                    return run(*args, **kwargs)
                recorder, given = on[0], (*args, *kwargs.values())
                before = recorder.guarded(recorder.versions, given)
                with recorder.out_of_the_way():
                    result = run(*args, **kwargs)
                recorder.guarded(recorder.after, name, given, before, result, sys._getframe(1))
                return result

            adapter("torch").not_compiled(call)  # where compiled code calls it, it calls on
            return call

        self.show = show = warnings.showwarning

        def shown(message, category, filename, lineno, file=None, line=None):
            if filename == __file__:  # C++ takes us for the caller; the caller is the one below us
                frames = iter_frames(sys._getframe(1))
                below = next((one for one in frames if one.f_code.co_filename == __file__), None)
                caller = next((one for one in frames if one.f_code.co_filename != __file__), below)
                if caller is not None:
                    filename, lineno = caller.f_code.co_filename, caller.f_lineno
            show(message, category, filename, lineno, file, line)

        self.shown = warnings.showwarning = shown
        self.put_in = [  # (owner, name, ours, PyTorch's)
            (function, "apply", classmethod(recorded), apply), (self.torch.autograd, "backward", noted, backward),
        ]  # fmt: skip
        if compiler is not None:
            self.torch.compile = functools.wraps(compiler)(compiled)
        if hasattr(os, "register_at_fork"):  # a worker's traceback comes back as text: without lines of ours
            os.register_at_fork(after_in_child=lambda: on and on[0].end("it is another process"))
        self.watch_threads()
        self.watch_modules()
        self.hooks = ()
        self.put()
        return self

    def put(self):
        """Put into PyTorch what tells us of calls."""
        for owner, name, ours, _ in self.put_in:
            setattr(owner, name, ours)
        hooks = adapter("torch")
        self.hooks = (
            hooks.register_optimizer_step_pre_hook(self.step_begins),
            hooks.register_optimizer_step_post_hook(self.step_ends),
        )

    def take(self):
        """Leave PyTorch's own functions in their places."""
        for owner, name, _, own in self.put_in:
            setattr(owner, name, own)
        for hook in self.hooks:
            hook.remove()

    @contextlib.contextmanager
    def out_of_the_way(self):
        """Run compiled code, or its backward pass, as if we were not there."""
        strand = self.strand
        if not self.compiles or not self.on or self.rests or strand.aside:
            yield
            return
        calls, ours = self.torch._C, mode_class(self.torch)
        above = [calls._pop_torch_function_stack() for _ in range(calls._len_torch_function_stack())][::-1]
        for one in above:
            if not isinstance(one, ours):
                calls._push_on_torch_function_stack(one)
        with self.lock:
            strand.aside, self.aside = True, self.aside + 1
            if self.aside == 1:
                self.take()
        try:
            yield
        finally:
            with self.lock:
                strand.aside, self.aside = False, self.aside - 1
                if self.on and not self.aside:
                    self.put()
            for _ in range(calls._len_torch_function_stack()):
                calls._pop_torch_function_stack()
            for one in above:
                if self.on or not isinstance(one, ours):
                    calls._push_on_torch_function_stack(one)

    @property
    def strand(self):
        """The record of the thread that asks."""
        return self.strands.get(threading.get_ident()) or self.main

    @property
    def newest(self):
        """The sequence number of the newest node, in the thread that asks."""
        return self.strand.newest

    def in_this_thread(self):
        """A mode that records the calls of the thread that enters it."""
        strand = self.strands[threading.get_ident()] = Strand(self.torch)
        self.all_strands.append(strand)
        if len(self.all_strands) == 1:
            self.main = strand
        return mode_class(self.torch)(self)

    def watch_threads(self):
        """Have each thread that is started from now on enter a mode of its own: modes belong to one thread."""
        self.begin_thread = begin = getattr(threading.Thread, "_bootstrap_inner", None)
        on = self.on
        if begin is None:  # another Python: threads are not recorded, and a finding says so
            return

        def recorded(thread):
            mode = on[0].guarded(on[0].in_this_thread) if on and not on[0].rests else None
            if mode is None:
                return begin(thread)
            with mode:
                return begin(thread)

        threading.Thread._bootstrap_inner = recorded

    def watch_modules(self):
        """Note the line that makes each module."""
        module, on = self.torch.nn.Module, self.on
        init = module.__init__

        @functools.wraps(init)
        def noted(one, *args, **kwargs):
            init(one, *args, **kwargs)
            if on and not on[0].rests:
                on[0].guarded(on[0].after_init, one, sys._getframe(1))

        self.put_in.append((module, "__init__", noted, init))

    def after_init(self, module, frame):
        """A module was made: by the line that calls its class, not by one of its own __init__."""
        while frame.f_code.co_name == "__init__" and frame.f_code.co_varnames and frame.f_back is not None:
            held = frame.f_locals
            if held.get(frame.f_code.co_varnames[0]) is not module:
                break
            forget(held)
            frame = frame.f_back
        self.built[id(module)] = weakref.ref(module), self.place(frame)

    def __exit__(self, *error):
        if self.on:
            self.end(self.rests)

    def end(self, why):
        """Leave nothing of ours in PyTorch: the script is over, or compiles, and what is compiled must be its own."""
        self.on.clear()
        self.rests = why
        self.take_off()
        self.take()
        if self.begin_thread is not None:
            threading.Thread._bootstrap_inner = self.begin_thread
        if self.compile is not None:
            self.torch.compile = self.compile
        if warnings.showwarning is self.shown:
            warnings.showwarning = self.show
        for each in self.watchers:
            each.end()

    def step_begins(self, *step):
        """An optimizer is about to step: one line of the user's, and hundreds of writes."""
        if self.rests:
            self.take_off()
        elif not self.failed:
            self.step_place = self.guarded(self.place, sys._getframe(1))

    def step_ends(self, *step):
        self.step_place = None

    def take_off(self):
        """Take our mode off the stack of modes, also from below those that the script has put there since."""
        calls, above = self.torch._C, []
        depth = calls._len_torch_function_stack()
        if self.mode not in [calls._get_function_stack_at(at) for at in range(depth)]:
            return
        while (top := calls._pop_torch_function_stack()) is not self.mode:
            above.append(top)
        for one in reversed(above):
            calls._push_on_torch_function_stack(one)

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
            said = f"backscope: the recorder failed and is off now ({line}); the script goes on."
            print(said, file=sys.stderr)
            return None

    def place(self, frame):
        """The nearest line of the user's own files, from this frame outwards, with the stack as it is."""
        known, chosen = self.known, None
        while frame is not None:
            code = frame.f_code
            kind = known.get(code.co_filename)
            if kind is None:
                kind = self.rank(code.co_filename)
            if kind == OWN:
                return Place(code, frame.f_lasti, self.stack())
            if kind == CHOSEN and chosen is None:
                chosen = Place(code, frame.f_lasti)
            elif kind == END:
                break
            frame = frame.f_back
        return chosen

    def rank(self, file):
        """Tell whose a file is; see places.py."""
        kind = self.known.get(file)
        if kind is None:
            kind = self.known[file] = rank_of(file, (*self.folders, *library_files()))
        return kind

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

    def number_of(self, one):
        """The sequence number of the node behind a result; -1 where there is none."""
        node = node_of(one) if isinstance(one, self.tensor) else None
        return -1 if node is None else node._sequence_nr()

    def last_write(self):
        return self.writes[-1] if self.writes else None

    def after(self, name, args, before, result, frame, last=NOT_ASKED):
        """A call has returned: did it make nodes, did it write?

        last: the last write before the call, None where there was none. Given it, what was written inside of the call
        is known already, and is not noted twice.
        """
        place = None
        one = result
        if before is None:  # the recorder failed in between
            return
        if type(one) in (tuple, list) and one:
            one = max(one, key=self.number_of)
        node = node_of(one) if isinstance(one, self.tensor) else None
        strand = self.strand
        if node is not None and (number := node._sequence_nr()) > strand.newest:
            place = self.place(frame)
            memories = tuple(self.memory(t) for t, _ in before) + (self.memory(one),)
            strand.newest = number
            strand.numbers.append(number)
            strand.calls.append((name, place, memories, node.name()))
        if node is None:
            self.follow(name, before, result, frame)
        inside = set() if last is NOT_ASKED else self.written_since(last)
        for tensor, version in before:
            if tensor._version != version and (self.memory(tensor), tensor._version) not in inside:
                stepping, base = frame.f_code.co_filename.startswith(self.optimizers), tensor._base
                place = place or (stepping and self.step_place) or self.place(frame)
                base = tensor if base is None else base
                hidden = len(self.aliases) > 0 and (tensor in self.aliases or base in self.aliases)
                leaf = base.requires_grad and (stepping or node_of(base) is None)
                if stepping and self.first_step is None:
                    self.first_step = strand.newest
                module = None if stepping else self.module_of(frame)
                memory = self.memory(tensor)
                write = Write(memory, tensor._version, name, place, strand.newest, stepping, leaf, hidden, module)
                self.writes.append(write)
                if not stepping or hidden or "zero" in name:  # what a step writes is its business
                    for each in self.watchers:
                        each.after_write(write, tensor)
        for each in self.close:
            each.after_call(name, args, before, result, node, frame)

    def module_of(self, frame):
        """A weak reference to the module of PyTorch's whose forward is running, inside of the user's nearest line."""
        while frame is not None and self.rank(frame.f_code.co_filename) != OWN:
            if frame.f_code is self.call_impl:
                held = frame.f_locals
                module = weakref.ref(held["self"])
                forget(held)
                return module
            frame = frame.f_back
        return None

    def after_flag(self, tensor, frame):
        """`x.requires_grad_()`, `x.requires_grad = True`."""
        key, flagged = id(tensor), self.flagged
        if tensor.requires_grad and node_of(tensor) is None:
            flagged[key] = weakref.ref(tensor, lambda _: flagged.pop(key, None)), self.place(frame)

    def after_norm(self, args, frame):
        """F.batch_norm(x, mean, variance, weight, bias, training, …) has returned."""
        statistics = [one for one in args[1:3] if isinstance(one, self.tensor)]
        if len(args) > 5 and args[5] is True and statistics:
            for each in self.watchers:
                each.after_norm(statistics, self.place(frame))

    def written_since(self, last):
        """{(memory, version)} of the writes after this one; of all of them for None."""
        found = set()
        for write in reversed(self.writes):
            if write is last:
                break
            found.add((write.memory, write.version))
        return found

    def follow(self, name, before, result, frame):
        """Note where a history ends: an operand has one, or had one; the result has none."""
        is_tensor, out = isinstance(result, self.tensor), name in NUMBERS
        if (is_tensor and result.requires_grad) or not (is_tensor or out or type(result) in (tuple, list)):
            return
        cut = None
        if self.numbers_out and is_tensor and name in MAKERS:
            self.cut_at(result, Cut(name, self.place(frame), True, True, False, tuple(self.numbers_out)))
        for tensor, _ in before:
            if tensor.requires_grad:
                cut = name
                break
            if (known := self.cuts.get(id(tensor))) is not None:
                cut = known[1]
                if not cut.whole:
                    break
        if cut is None or name.endswith("_like") or name.startswith("new_"):  # these take a shape, and no values
            return
        results = [result] if is_tensor else [] if out else [one for one in result if isinstance(one, self.tensor)]
        if cut is name or out:
            floats = not results or results[0].is_floating_point() or results[0].is_complex()
            whole = not floats or cut is not name and cut.whole
            cut = Cut(name, self.place(frame), self.torch.is_grad_enabled(), whole)
        if out:
            self.numbers_out.append(cut)
        for one in results:
            if not one.requires_grad:
                self.cut_at(one, cut)

    def after_function(self, name, before, result, frame):
        """apply() has returned. Where the only history was inside of it, the line of apply() is the one that cuts."""
        known = isinstance(result, self.tensor) and self.cuts.get(id(result))
        if known and not known[1].recorded and not any(tensor.requires_grad for tensor, _ in before):
            self.cut_at(result, Cut(name, self.place(frame), True, False, True))

    def cut_at(self, tensor, cut):
        """Remember that this tensor has no history, and where it was lost, for as long as the tensor lives."""
        key, cuts = id(tensor), self.cuts
        cuts[key] = weakref.ref(tensor, lambda _: cuts.pop(key, None)), cut

    def before_pass(self, given, kwargs, frame):
        """backward() or grad() is about to run."""
        place = self.place(frame)
        self.look_at_costs()
        self.numbers_before = tuple(self.numbers_out)
        self.numbers_out.clear()
        for each in self.watchers:
            each.before_pass(given, kwargs, place, frame)
        if not kwargs.get("retain_graph") and not kwargs.get("create_graph"):
            # Nodes, which hold no tensor any more when the pass is over.
            nodes = [node_of(tensor) for tensor, _ in self.versions(given)]
            roots = [node for node in nodes if node is not None]
            same = [one for one in self.passes if one[0] == place]
            if len(same) > 1:  # those of an inner loop do not push out the others
                self.passes.remove(same[0])
            self.passes.append((place, roots))

    def look_at_costs(self):
        """Rest where recording costs too much: errors of autograd come in the first passes, costs in all."""
        self.walked += not adapter("torch").is_transformed()
        now = time.process_time()
        if self.walked == 2:
            self.since, self.met = now, 0
        elif self.everything or self.rests or self.walked <= PASSES:
            return
        elif self.met * CALL > SHARE * (now - self.since):
            self.rests = f"{PASSES} backward passes were recorded, and no more (with --all, all are)"

    def after_pass(self, given):
        for each in self.watchers:
            each.after_pass(given)

    def memory(self, tensor):
        """A number for the memory of a tensor; views of one memory have the same."""
        try:
            return tensor.untyped_storage()._cdata
        except (RuntimeError, NotImplementedError):  # sparse and other tensors without one memory
            return id(tensor)

    # --- afterwards ---

    def calls_of(self, node):
        """[(name, place, memories, name of its newest node)] of the calls that may have made this node.

        Each thread counts its nodes by itself. A node of another thread is told apart where the names differ.
        """
        number, found = node._sequence_nr(), []
        for strand in {id(one): one for one in (self.main, *self.all_strands)}.values():
            at = bisect_left(strand.numbers, number)
            first = strand.begin + 1 if len(strand.numbers) < KEPT else strand.numbers[0]
            if at < len(strand.numbers) and number >= first:
                call, exact = strand.calls[at], number == strand.numbers[at]
                if not exact or node.name() == call[3]:
                    found.append((not exact, call))
        found.sort(key=lambda one: one[0])  # where one is exact, the others are another thread's
        return [call for inexact, call in found if inexact == found[0][0]]

    def call_of(self, node):
        """The one of calls_of() where there is one; None if it is unknown."""
        return next(iter(self.calls_of(node)), None)

    def writes_to(self, memories, first, last):
        """The writes to one of these memories that brought its version to first … last, oldest first."""
        found, wanted = [], last
        for write in reversed(list(self.writes)):  # other threads may go on writing
            if write.memory in memories and write.version == wanted:
                found.append(write)
                wanted -= 1
                if wanted < first:
                    break
        return found[::-1]


def forget(held):
    """Empty what f_locals gave: up to Python 3.12 a copy that stays with the frame, and would keep tensors alive."""
    if type(held) is dict:
        held.clear()


def node_of(tensor):
    """Its grad_fn; None also for a view made under no_grad whose base was written to: PyTorch refuses to say."""
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


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
                if recorder.rests:
                    return function(*args, **kwargs)
                recorder.met += 1
                name = getattr(function, "__name__", "")
                if name == "__get__":
                    result = function(*args, **kwargs)
                    if isinstance(result, recorder.tensor):
                        if getattr(function, "__self__", None) is DATA:
                            recorder.aliases[result] = True
                            recorder.guarded(recorder.follow, "data", [(args[0], 0)], result, sys._getframe(1))
                        elif id(args[0]) in recorder.cuts and result is not args[0].grad:
                            recorder.guarded(recorder.follow, "T", [(args[0], 0)], result, sys._getframe(1))
                        for each in recorder.close:
                            recorder.guarded(each.after_get, function, args[0], result, sys._getframe(1))
                    return result
                given = (*args, *kwargs.values()) if kwargs else args
                before = recorder.guarded(recorder.versions, given)
                if name in ("backward", "grad"):
                    recorder.guarded(recorder.before_pass, given, kwargs, sys._getframe(1))
                    strand = recorder.strand
                    strand.inside = True
                    try:
                        with recorder.out_of_the_way():
                            result = function(*args, **kwargs)
                    finally:
                        strand.inside = False
                    if name == "backward":
                        recorder.guarded(recorder.after_pass, given)
                else:
                    result = function(*args, **kwargs)
                recorder.guarded(recorder.after, name, given, before, result, sys._getframe(1))
                if name == "batch_norm":
                    recorder.guarded(recorder.after_norm, given, sys._getframe(1))
                if name == "requires_grad_" or name == "__set__":
                    recorder.guarded(recorder.after_flag, args[0], sys._getframe(1))
                    place = recorder.watchers and recorder.guarded(recorder.place, sys._getframe(1))
                    for each in recorder.watchers:
                        recorder.guarded(each.after_setting, function, args, place)
                return result

        DATA = torch.Tensor.data
        _mode.append(Calls)
    return _mode[0]
