"""Let a part of `--doubts` ask to be told, and listen to calls that the recorder does not see."""

import functools
import sys


class Watcher:
    """Is told what a Recorder sees. Each part of doubts overrides what it needs."""

    def hear(self, ears):
        """Listen to functions that the recorder does not see."""

    def after_call(self, name, args, before, result, node, frame):
        """A call has returned. before: (tensor, version) of its operands; node: the one behind its result, if any."""

    def after_get(self, function, tensor, result, frame):
        """An attribute that is a tensor was read: .data, .grad, .T."""

    def after_setting(self, function, args, place):
        """`x.requires_grad_()`, `x.requires_grad = True`, `x.grad = …`."""

    def after_write(self, write, tensor):
        """A call moved the version counter of a tensor."""

    def after_norm(self, statistics, place):
        """batch_norm() has written to its running statistics."""

    def after_function(self, kind, result, frame):
        """A custom Function was applied."""

    def before_pass(self, given, kwargs, place, frame):
        """backward() or grad() is about to run."""

    def after_pass(self, given):
        """backward() has run."""

    def end(self):
        """The recorder has ended, before the script does."""


class Ears:
    """Functions of PyTorch's that tell us when they are called. They go on as they were when `take_out` has run."""

    def __init__(self, recorder):
        self.recorder, self.changed = recorder, []

    def listen(self, owner, name, after=None, before=None):
        """Call before(frame, arguments …) and after(frame, result, arguments …) around a function.

        Where `before` has used up an iterator it returns the arguments anew.
        """
        run = owner.__dict__.get(name)
        if run is None:  # another PyTorch
            return
        told = [self.recorder.guarded, before, after]  # emptied at the end: PyTorch's compiler keeps what it finds

        @functools.wraps(run)
        def heard(*args, **kwargs):
            if not told:
                return run(*args, **kwargs)
            guarded, before, after = told
            if before is not None:
                args = guarded(functools.partial(before, sys._getframe(1), *args, **kwargs)) or args
            result = run(*args, **kwargs)
            if after is not None:
                guarded(functools.partial(after, sys._getframe(1), result, *args, **kwargs))
            return result

        setattr(owner, name, heard)
        self.changed.append((owner, name, run, heard, told))

    def take_out(self):
        """Put back what was there, except where the script has put something of its own since."""
        while self.changed:
            owner, name, run, heard, told = self.changed.pop()
            told.clear()
            if owner.__dict__.get(name) is heard:
                setattr(owner, name, run)
