"""no_grad, enable_grad, set_grad_enabled, inference_mode: as blocks, as decorators, on generators.

PyTorch: torch/autograd/grad_mode.py, torch/utils/_contextlib.py.
"""

import functools
import warnings

from course_lib.arrays import messages
from course_lib.engine.grad_mode import AutoGradMode, set_grad_mode, state

GENERATOR = 0x20  # inspect.CO_GENERATOR, without importing inspect


def is_grad_enabled() -> bool:
    """Return True when operations are being recorded in this thread."""
    return state.grad_enabled


def is_inference_mode_enabled() -> bool:
    """Return True inside `inference_mode()` in this thread."""
    return state.inference


class _Decorator:
    """A context manager that can also wrap a function: the mode then holds while the function runs.

    A generator function holds the mode only while it is running, never while it is suspended at a `yield`:
    otherwise the caller's own lines would run in it.
    """

    def clone(self) -> "enable_grad | no_grad":
        return type(self)()

    def __call__(self, fn):
        if isinstance(fn, type):
            warnings.warn(messages.CLASS_DECORATED, FutureWarning, stacklevel=2)
            return self(lambda *args, **kwargs: fn(*args, **kwargs))
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


class _NoParentheses(_Decorator, AutoGradMode):
    """Lets `@no_grad` be written without parentheses too."""

    def __new__(cls, fn=None):
        if fn is None:
            return object.__new__(cls)
        return cls()(fn)

    def __init__(self):
        pass  # `enabled` belongs to the class: no_grad is always off, enable_grad always on


class no_grad(_NoParentheses):
    """Nothing is recorded inside: results are leaves without history. Versions are still counted."""

    enabled = False


class enable_grad(_NoParentheses):
    """Recording is on inside, also within `no_grad`; inside `inference_mode` operations are still not recorded."""

    enabled = True


class set_grad_enabled(_Decorator):
    """Recording on or off: as a block, as a decorator, or as a plain call that holds until changed back."""

    def __init__(self, mode):
        if not isinstance(mode, bool):
            kind = type(mode).__name__
            raise TypeError(f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {kind}")
        self.previous = state.grad_enabled
        self.mode = mode
        set_grad_mode(self.mode)

    def __call__(self, fn):
        set_grad_mode(self.previous)  # used as a decorator: the mode begins when the function is called
        return super().__call__(fn)

    def __enter__(self):
        set_grad_mode(self.mode)

    def __exit__(self, *error):
        set_grad_mode(self.previous)

    def __repr__(self):
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"

    def clone(self) -> "set_grad_enabled":
        return type(self)(self.mode)


class inference_mode(_Decorator):
    """Like `no_grad`, and tensors made inside have no version counter, so that no node may save them for backward."""

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

    def clone(self) -> "inference_mode":
        return type(self)(self.mode)
