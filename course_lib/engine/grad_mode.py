"""The switches of recording. One state per thread; `no_grad` and its relatives (autograd/grad_mode.py) switch it.

PyTorch: c10/core/GradMode.h (GradMode, AutoGradMode), c10/core/InferenceMode.h.
"""

from threading import local

import numpy as np

# What an operation does once it has computed its result. One number, so that an operation asks one question.
# INSTRUMENTED is ON while saved-tensor hooks, anomaly mode or a recorder want to see each node.
INFERENCE, OFF, ON, INSTRUMENTED = -1, 0, 1, 2


class ThreadState(local):
    """The switches of this thread. A new thread starts with grad mode on, whatever its parent does.

    All of it is folded into one number, `recording`, whenever something is switched. Programs switch seldom and compute
    often: an operation that asked for each of these in turn would spend more time on asking than on adding.
    """

    # On the class, since they hold for all threads. `anomaly` is False, or the recorder of autograd/anomaly_mode.py.
    anomaly, anomaly_check_nan = False, True

    def __init__(self):
        self.grad_enabled = True
        self.inference = False
        self.saved_tensor_hooks = []  # innermost last: pairs (pack, unpack)
        self.saved_tensor_hooks_disabled = None  # the message of disable_saved_tensors_hooks, if any
        self.recorders = 0  # instruments (backscope) that want to see every node
        self.evaluating = None  # in anomaly mode: the node whose backward runs now
        self.task = None  # the backward pass that runs now
        self.update()
        # PyTorch computes 1/0 and log(-1) without a word; so do we. (NumPy keeps this setting per thread.)
        np.seterr(all="ignore")

    def update(self) -> None:
        """Recompute `recording`, the one number that every operation reads."""
        fold(self.__dict__)


def fold(now: dict) -> None:
    """Do the work of `update`, on the dictionary in which a ThreadState keeps this thread's fields."""
    if now["inference"]:
        now["recording"] = INFERENCE
    elif not now["grad_enabled"]:
        now["recording"] = OFF
    elif now["saved_tensor_hooks"] or ThreadState.anomaly or now["recorders"]:
        now["recording"] = INSTRUMENTED
    else:
        now["recording"] = ON


state = ThreadState()


def set_grad_mode(enabled: bool) -> bool:
    """Switch recording on or off in this thread, at once. Returns what it was."""
    now = state.__dict__  # to ask a threading.local once, and not for each attribute, takes half the time
    before = now["grad_enabled"]
    if enabled is not before:
        now["grad_enabled"] = enabled
        fold(now)
    return before


class AutoGradMode:
    """Recording on or off while a block runs; afterwards as it was before, also after an error."""

    def __init__(self, enabled):
        self.enabled = enabled

    def __enter__(self):
        self.previous = set_grad_mode(self.enabled)

    def __exit__(self, *error):
        set_grad_mode(self.previous)
