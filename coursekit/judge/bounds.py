"""Running a learner's code within bounds: time, printed output, recursion, and the state it may leave behind.

Time is what the processor has spent, so that a busy machine makes nobody's answer wrong.

Nothing here is about lessons. `run(work)` calls `work()` and always comes back, with what it returned or
what went wrong, what was printed, and every global setting as it was before.

What cannot be stopped from inside one Python process: a single call into C that never looks up, such as
`sum(range(10**15))`. Restarting the kernel ends it.
"""

import contextlib
import ctypes
import gc
import importlib
import random
import signal
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

from coursekit.rooms import COURSE_FILES

SLOWER = 3 if sys.platform == "emscripten" else 1  # how many times as long Python takes in a browser
SECONDS = 4.0 * SLOWER  # a check takes milliseconds; more than this is a loop without an end
AGAIN = 0.02  # seconds from one ring of the alarm to the next
PATIENCE = 2  # rings of the alarm after which the functions that still run are replaced
# Where Python's and its packages' files lie. In a browser the prefix is "/", and the learner's files are below it, too.
PYTHON = ("/lib/python",) if sys.prefix == "/" else (sys.prefix, sys.base_prefix)
PRINTED = 2000  # characters of a learner's output that are kept
SHALLOW = 300  # levels of recursion in a browser: some 350 calls through C fill its stack, and that ends the kernel
SEED = 20240607  # every check starts from the same random numbers, so that it prints the same text


class TimeUp(BaseException):
    """Raised inside code that ran too long. Not an Exception: `except Exception` must not swallow it."""


@dataclass
class Ran:
    """The end of a bounded run: a value, or an error; and what was printed on the way."""

    value: Any = None
    error: BaseException | None = None
    printed: str = ""
    busy: bool = False  # stopped before it had its time of the processor: the machine had much else to do


def run(work, engines=(), seconds=SECONDS) -> Ran:
    """Call `work()` within bounds and return a `Ran`. Raises nothing, whatever `work` does."""
    ran = Ran()
    sink = Sink()
    with protected_state(engines), contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
        spent = Spent(seconds)
        stopwatch = choose_stopwatch()(spent)
        try:
            with stopwatch:
                ran.value = inside(work)
        except BaseException as error:  # SystemExit and KeyboardInterrupt too: a check never raises
            ran.error, ran.busy = error, spent.busy
    ran.printed = sink.text()
    return ran


def inside(work) -> object:
    """Mark the stack: TimeUp is raised only while this frame is on it, never in the caller's own lines."""
    return work()


class Sink:
    """A text stream that keeps the first PRINTED characters and counts the rest."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, limit=PRINTED):
        self.limit, self.kept, self.dropped, self.parts = limit, 0, 0, []

    def write(self, text) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        part = text[: self.limit - self.kept]
        if part:
            self.parts.append(part)
        self.kept += len(part)
        self.dropped += len(text) - len(part)
        return len(text)

    def writelines(self, lines) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def text(self) -> str:
        tail = f"\n… and {self.dropped} more characters, not shown." if self.dropped else ""
        return "".join(self.parts).rstrip() + tail


# ---------------------------------------------------------------------------------------------- time


class Spent:
    """The time that code has had. It is up after `seconds` of the processor's, or of a sleep, which needs none.

    On a machine with much else to do this takes longer; after LONGEST seconds more it is up anyway.
    """

    LONGEST, ASLEEP = 12.0, 0.02  # ASLEEP: the share of the processor below which code is not running but waiting

    def __init__(self, seconds):
        self.seconds, self.busy = seconds, False
        self.began, self.used = time.monotonic(), time.process_time()

    def is_up(self) -> bool:
        """Tell whether the code has had its time; from then on it stays up."""
        gone = time.monotonic() - self.began
        if gone < self.seconds:
            return False
        used = time.process_time() - self.used
        short = self.ASLEEP * gone < used < self.seconds
        self.busy = self.busy or short and gone >= self.LONGEST + self.seconds
        return self.busy or not short


def choose_stopwatch() -> type:
    """Return the class that can stop code here: a timer signal, or a second thread, or Python's own turns and calls."""
    if AlarmClock.works_here():
        return AlarmClock
    return Turnstile if sys.platform == "emscripten" else Watchdog


class AlarmClock:
    """Stops code in the main thread on Linux and macOS: a timer signal, which also ends a sleep.

    Code that swallows the error (`while True: try: … except: pass`) is met again: the timer repeats, and
    from the second time on the next line anywhere, the `except` block included, raises. Code that catches
    everything and then calls itself again would still go on for ever, since each of a thousand calls begins
    anew: in the end its functions are replaced by one that only raises, until the check is over.
    """

    @staticmethod
    def works_here() -> bool:
        """Return True in the main thread of a system that has timer signals."""
        return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()

    def __init__(self, spent):
        self.spent, self.rings, self.answering, self.replaced = spent, 0, False, Replaced()

    def __enter__(self):
        self.tracing = sys.gettrace()
        self.handler = signal.signal(signal.SIGALRM, self.ring)
        self.started = time.monotonic()
        self.other_timer = signal.setitimer(signal.ITIMER_REAL, self.spent.seconds, AGAIN)

    def __exit__(self, *error):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if self.handler is None else self.handler)
        self.replaced.put_back()
        if self.rings > 1:
            sys.settrace(self.tracing)
        left, interval = self.other_timer  # somebody else's alarm (a test runner's) goes on where it was
        if left:
            gone = time.monotonic() - self.started
            signal.setitimer(signal.ITIMER_REAL, max(left - gone, 0.001), interval)

    def ring(self, signum, frame) -> None:
        """Answer one ring at a time: on a slow machine the next may come before this one is answered."""
        if self.answering or not self.spent.is_up():
            return
        limit = sys.getrecursionlimit()
        try:
            self.answering = True
            sys.setrecursionlimit(limit + 100)  # at the end of the stack, too, there is room for what follows
            self.stop(list(frames_inside(frame)))
        finally:
            self.answering = False
            with contextlib.suppress(RecursionError):
                sys.setrecursionlimit(limit)

    def stop(self, frames) -> None:
        if not frames:
            return
        self.rings += 1
        if self.rings > PATIENCE:
            if not self.replaced.functions:
                sys.settrace(self.tracing)
                self.replaced.replace(frames)
        elif self.rings > 1:
            for each in frames:
                each.f_trace = raise_at_next_line
            sys.settrace(raise_at_next_line)
        raise TimeUp


class Replaced:
    """Functions that run `time_is_up` from their next call on, until they are put back."""

    def __init__(self):
        self.functions = []  # pairs (function, its own code)

    def replace(self, frames) -> None:
        """Replace whatever runs in these frames and is neither the course's nor Python's nor a package's."""
        for code in {frame.f_code for frame in frames if is_somebody_elses(frame.f_code)}:
            for function in gc.get_referrers(code):
                if type(function) is types.FunctionType and function.__code__ is code:
                    self.functions.append((function, code))
                    function.__code__ = time_is_up(len(code.co_freevars))

    def put_back(self) -> None:
        while self.functions:
            function, code = self.functions.pop()
            function.__code__ = code


def is_somebody_elses(code) -> bool:
    """Return True for code that is neither the course's nor Python's nor an installed package's."""
    return not code.co_filename.startswith((*COURSE_FILES, *PYTHON, "<frozen"))


def time_is_up(variables) -> CodeType:
    """Code that raises TimeUp whatever it is called with. (A function keeps as many variables of outer functions.)"""
    names = [f"v{number}" for number in range(variables)]
    lines = ["def outer(TimeUp):", *(f"    {name} = 0" for name in names),
             "    def refuse(*args, **kwargs):", *(f"        {name}" for name in names),
             "        raise __import__('coursekit.judge.bounds', fromlist=['TimeUp']).TimeUp",
             "    return refuse"]  # fmt: skip
    space = {}
    exec("\n".join(lines), space)
    return space["outer"](None).__code__


def raise_at_next_line(frame, event, arg) -> Callable:
    """Return a trace function that stops the code at its next line; Python then switches tracing off by itself.

    It may outlive the code it is for by a few lines: those of the caller must not be hit.
    """
    if event == "line" and frames_inside(frame):
        raise TimeUp
    return raise_at_next_line


def frames_inside(frame) -> list:
    """Return the frames above the one of `inside`, innermost first; none when it is not on the stack."""
    found = []
    while frame is not None:
        if frame.f_code is inside.__code__:
            return found + [frame]
        found.append(frame)
        frame = frame.f_back
    return []


class Watchdog:
    """Stops code anywhere else (Windows, other threads): a second thread sends it TimeUp, again and again.

    Python delivers it between two steps of the running code, so a sleep is stopped only when it ends.
    """

    def __init__(self, spent):
        self.spent, self.thread_id = spent, threading.get_ident()
        self.lock, self.done, self.sent = threading.Lock(), threading.Event(), 0
        self.replaced = Replaced()

    def __enter__(self):
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def __exit__(self, *error):
        while not self.done.is_set():  # TimeUp may still arrive in these very lines: try again
            try:
                with self.lock:
                    self.done.set()
            except TimeUp:
                pass
        self.replaced.put_back()
        if self.sent:
            self.take_the_last_one()

    def take_the_last_one(self) -> None:
        """Catch a TimeUp that may still be on its way: send another, which takes its place, and wait for it.

        (Taking it back with NULL would do, but CPython 3.11 then checks for it at every step from there on,
        and never ends when a debugger or a coverage tool traces.)
        """
        try:
            send(self.thread_id, TimeUp)
            while True:
                pass
        except TimeUp:
            pass

    def watch(self) -> None:
        pause = self.spent.seconds
        while not self.done.wait(pause):
            pause = 0.05
            if not self.spent.is_up():
                continue
            with self.lock:
                frames = frames_of(self.thread_id)
                if not self.done.is_set() and frames:
                    self.sent += 1
                    if self.sent > PATIENCE and not self.replaced.functions:
                        self.replaced.replace(frames)
                    send(self.thread_id, TimeUp)


class Turnstile:
    """Stops code where there is neither a timer nor a second thread: Python in a browser.

    Python calls `ask` whenever a function begins or goes on and at each turn of a loop (sys.monitoring, from Python
    3.12 on). In the course's own code it is asked once and then left alone. A sleep is stopped only when it ends.
    """

    def __init__(self, spent):
        self.spent = spent

    def __enter__(self):
        watching = sys.monitoring
        self.tool = next(tool for tool in range(5, -1, -1) if watching.get_tool(tool) is None)  # one run in another
        watching.use_tool_id(self.tool, "the time limit of a check")
        events = watching.events.PY_START, watching.events.PY_RESUME, watching.events.JUMP
        for event in events:
            watching.register_callback(self.tool, event, self.ask)
        watching.set_events(self.tool, sum(events))

    def __exit__(self, *error):
        sys.monitoring.set_events(self.tool, 0)
        sys.monitoring.free_tool_id(self.tool)

    def ask(self, code, *_) -> object:
        """Raise TimeUp in code that is somebody else's, from the end of the time on, as often as it goes on."""
        if not is_somebody_elses(code):
            return sys.monitoring.DISABLE
        if self.spent.is_up():
            raise TimeUp


def frames_of(thread_id) -> list:
    """List the frames above the one of `inside` in another thread, which runs; none when it went on meanwhile.

    It is given no turn meanwhile, if that can be had: of a frame that has ended CPython 3.11 may show anything.
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1)
    try:
        frame = sys._current_frames().get(thread_id)
        return [] if frame is None else frames_inside(frame)
    except AttributeError:
        return []
    finally:
        sys.setswitchinterval(interval)


def send(thread_id, error) -> None:
    """Make Python raise `error` in the thread, soon."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread_id), ctypes.py_object(error))


# --------------------------------------------------------------------------------------------- state


@contextlib.contextmanager
def protected_state(engines) -> Iterator:
    """Give a fresh start inside, and everything as it was outside: grad mode, anomaly mode, hooks, random numbers.

    A learner's function may leave by an error, by TimeUp, or through a generator that never ends its `with`.
    """
    python = random.getstate()
    limit = sys.getrecursionlimit()
    saved = [(kind, kind.save(engine), engine) for engine in engines for kind in (kind_of(engine),)]
    random.seed(SEED)
    if sys.platform == "emscripten":
        sys.setrecursionlimit(min(limit, SHALLOW))
    with warnings.catch_warnings(), protected_numpy():
        warnings.filterwarnings("ignore", message=".*")  # no answer writes it so: the guard sees one that adds its own
        for kind, _, engine in saved:
            kind.start(engine)
        try:
            yield
        finally:
            for kind, state, engine in saved:
                kind.restore(engine, state)
            random.setstate(python)
            sys.setrecursionlimit(limit)


@contextlib.contextmanager
def protected_numpy() -> Iterator:
    import numpy as np

    state = np.random.get_state()
    np.random.seed(SEED)
    with np.errstate(), np.printoptions():
        try:
            yield
        finally:
            np.random.set_state(state)


def kind_of(engine) -> type:
    """Return who knows how this engine keeps its settings; an engine that is neither is left alone."""
    if engine.__name__ == "torch" and hasattr(engine, "_C"):
        return RealTorch
    if engine.__name__ == "course_lib" and hasattr(engine, "Tensor"):
        return CourseLib
    return Unknown


class Unknown:
    """Something else that is called torch; nothing is known about its settings."""

    save = start = staticmethod(lambda engine: None)
    restore = staticmethod(lambda engine, state: None)


class CourseLib:
    """Our engine: one object of settings per thread, one random generator, one default dtype."""

    @staticmethod
    def modules() -> list:
        names = ("engine.grad_mode", "surface.generator", "arrays.dtypes")
        return [importlib.import_module(f"course_lib.{name}") for name in names]

    @classmethod
    def save(cls, engine) -> tuple:
        grad_mode, generator, dtypes = cls.modules()
        numbers = generator.default_generator
        settings = {k: list(v) if isinstance(v, list) else v for k, v in vars(grad_mode.state).items()}
        anomaly = grad_mode.state.anomaly, grad_mode.state.anomaly_check_nan
        return settings, anomaly, (numbers._seed, numbers._twister, numbers._kept), dtypes.default

    @classmethod
    def start(cls, engine) -> None:
        state = cls.modules()[0].state
        state.grad_enabled, state.inference = True, False
        type(state).anomaly, type(state).anomaly_check_nan = False, True
        state.saved_tensor_hooks, state.saved_tensor_hooks_disabled = [], None
        state.update()
        engine.manual_seed(SEED)  # makes a new twister; the old one is not touched

    @classmethod
    def restore(cls, engine, saved) -> None:
        grad_mode, generator, dtypes = cls.modules()
        numbers = generator.default_generator
        settings, anomaly, (numbers._seed, numbers._twister, numbers._kept), dtypes.default = saved
        vars(grad_mode.state).update(settings)
        grad_mode.ThreadState.anomaly, grad_mode.ThreadState.anomaly_check_nan = anomaly
        grad_mode.state.update()


class RealTorch:
    """PyTorch keeps grad mode, anomaly mode, inference mode and a stack of saved-tensor hooks."""

    switches = []

    @staticmethod
    def save(torch) -> tuple:
        anomaly = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
        modes = torch.is_grad_enabled(), torch.is_inference_mode_enabled(), anomaly
        return modes, RealTorch.take_hooks(torch), torch.get_rng_state(), torch.get_default_dtype()

    @staticmethod
    def start(torch) -> None:
        RealTorch.set_modes(torch, True, False, (False, True))
        torch.default_generator.manual_seed(SEED)  # torch.manual_seed also asks for the whole stack, for CUDA

    @staticmethod
    def restore(torch, saved) -> None:
        modes, hooks, numbers, dtype = saved
        RealTorch.take_hooks(torch)
        for pack, unpack in hooks:
            torch._C._autograd._push_saved_tensors_default_hooks(pack, unpack)
        RealTorch.set_modes(torch, *modes)
        torch.set_rng_state(numbers)
        torch.set_default_dtype(dtype)

    @staticmethod
    def set_modes(torch, grad, inference, anomaly) -> None:
        if torch.is_inference_mode_enabled() != inference:
            switch = torch.inference_mode(inference)
            switch.__enter__()
            RealTorch.switches.append(switch)  # PyTorch leaves the mode when this object dies
        torch.set_grad_enabled(grad)
        torch.set_anomaly_enabled(*anomaly)

    @staticmethod
    def take_hooks(torch) -> list:
        """Pop every pair of saved-tensor hooks and return them, outermost first."""
        autograd, pairs = torch._C._autograd, []
        while (pair := autograd._top_saved_tensors_default_hooks(False)) is not None:
            pairs.insert(0, pair)
            autograd._pop_saved_tensors_default_hooks()
        return pairs
