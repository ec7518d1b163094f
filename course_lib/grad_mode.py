"""Whether operations are recorded: no_grad, enable_grad, set_grad_enabled, inference_mode. One state per thread.

PyTorch: c10/core/GradMode.h, c10/core/InferenceMode.h, torch/autograd/grad_mode.py.
"""

import functools
import threading

import numpy as np

GENERATOR = 0x20  # inspect.CO_GENERATOR, without importing inspect

# What an operation does once it has computed its result. One number, so that an operation asks one question.
INFERENCE, OFF, ON, INSTRUMENTED = -1, 0, 1, 2


class ThreadState(threading.local):
    """What is switched on in this thread. A new thread starts with grad mode on, whatever its parent does."""

    def __init__(self):
        self.grad_enabled = True
        self.inference = False
        self.saved_tensor_hooks = []  # innermost last: pairs (pack, unpack)
        self.saved_tensor_hooks_disabled = None  # the message of disable_saved_tensors_hooks, if any
        self.anomaly = False  # set_detect_anomaly
        self.anomaly_check_nan = True
        self.recorders = 0  # instruments (teach) that want to see every node
        self.evaluating = None  # the node whose backward runs now, for the anomaly report
        self.task = None  # the backward pass that runs now
        self.recording = ON
        # PyTorch computes 1/0 and log(-1) without a word; so do we. (NumPy keeps this setting per thread.)
        np.seterr(all="ignore")

    def update(self):
        """Recompute `recording`, the one number that every operation reads."""
        if self.inference:
            self.recording = INFERENCE
        elif not self.grad_enabled:
            self.recording = OFF
        elif self.saved_tensor_hooks or self.anomaly or self.recorders:
            self.recording = INSTRUMENTED
        else:
            self.recording = ON


state = ThreadState()


def is_grad_enabled():
    """True when operations are being recorded in this thread."""
    return state.grad_enabled


def is_inference_mode_enabled():
    """True inside `inference_mode()` in this thread."""
    return state.inference


def set_grad_mode(enabled):
    """Switch recording on or off in this thread, at once."""
    state.grad_enabled = enabled
    state.update()


class _Decorator:
    """A context manager that can also wrap a function: the mode then holds while the function runs.

    A generator function holds the mode only while it is running, never while it is suspended at a `yield`:
    otherwise the caller's own lines would run in it.
    """

    def clone(self):
        return type(self)()

    def __call__(self, fn):
        if getattr(fn, "__code__", None) is not None and fn.__code__.co_flags & GENERATOR:
            return self._wrap_generator(fn)

        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            with self.clone():
                return fn(*args, **kwargs)

        return wrapper

    def _wrap_generator(self, fn):
        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            generator = fn(*args, **kwargs)
            step, value = generator.send, None
            while True:
                try:
                    with self.clone():
                        item = step(value)
                except StopIteration as stop:
                    return stop.value
                try:
                    step, value = generator.send, (yield item)
                except GeneratorExit:
                    with self.clone():
                        generator.close()
                    raise
                except BaseException as error:  # thrown in by the caller: the generator may handle it
                    step, value = generator.throw, error

        return wrapper


class _NoParentheses(_Decorator):
    """Lets `@no_grad` be written without parentheses too."""

    def __new__(cls, fn=None):
        if fn is None:
            return super().__new__(cls)
        return cls()(fn)

    mode = None

    def __enter__(self):
        self.previous = state.grad_enabled
        set_grad_mode(self.mode)

    def __exit__(self, *error):
        set_grad_mode(self.previous)


class no_grad(_NoParentheses):
    """Nothing is recorded inside: results are leaves without history. Versions are still counted."""

    mode = False


class enable_grad(_NoParentheses):
    """Recording is on inside, also within `no_grad`; inside `inference_mode` it changes nothing."""

    mode = True


class set_grad_enabled(_Decorator):
    """Recording on or off: as a block, as a decorator, or as a plain call that holds until changed back."""

    def __init__(self, mode):
        self.previous = state.grad_enabled
        self.mode = bool(mode)
        set_grad_mode(self.mode)

    def __call__(self, fn):
        set_grad_mode(self.previous)  # used as a decorator: the mode begins when the function is called
        return super().__call__(fn)

    def __enter__(self):
        set_grad_mode(self.mode)

    def __exit__(self, *error):
        set_grad_mode(self.previous)

    def clone(self):
        return type(self)(self.mode)


class inference_mode(_Decorator):
    """Like `no_grad`, and tensors made inside have no version counter: they can never enter a graph."""

    def __new__(cls, mode=True):
        if callable(mode):
            return cls()(mode)
        return super().__new__(cls)

    def __init__(self, mode=True):
        self.mode = mode

    def __enter__(self):
        self.previous = state.inference, state.grad_enabled
        state.inference, state.grad_enabled = self.mode, not self.mode
        state.update()

    def __exit__(self, *error):
        state.inference, state.grad_enabled = self.previous
        state.update()

    def clone(self):
        return type(self)(self.mode)
