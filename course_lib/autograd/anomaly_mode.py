"""Anomaly mode: remembers which line of the program made each node and each write, so that errors can name them.

PyTorch: torch/autograd/anomaly_mode.py, torch/csrc/autograd/python_anomaly_mode.cpp. PyTorch shows the forward
traceback in a warning; here the error itself names, too, who saved a tensor and who changed it.

An error in backward appears far from its cause. With anomaly mode on each node notes where it was made and each
counter who moved it, which costs a walk up the call stack for each; with it off, a write asks one question and a node
none. What was recorded before it was switched on has no line. The engine knows nothing of this file: it calls NOTES,
which stands in `state.anomaly` while the mode is on.
"""

import linecache
import os
import sys
import warnings
from types import SimpleNamespace

import numpy as np

from course_lib.engine.grad_mode import ThreadState, state
from course_lib.engine.graph import AccumulateGrad
from course_lib.engine.tensor import Tensor

_ENGINE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # course_lib

MADE_BEFORE = "No forward pass information available. Enable detect anomaly during forward pass for more information."
CAUSED = "Traceback of forward call that caused the error:\n"
INDUCED = "Traceback of forward call that induced the previous calculation:\n"

LOOK_ABOVE = (
    " Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable in "
    "question was changed in there or anywhere later. Good luck!"
)


def is_engine_file(file: str) -> bool:
    """Return True for the engine's own files and generated operations, which are never "the line that did it"."""
    return file.startswith(("<course_lib", _ENGINE))


def user_frame() -> object:
    """Return the innermost frame outside the engine."""
    frame = sys._getframe(1)
    while frame is not None and is_engine_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def user_place() -> tuple:
    """Return the file and the number of that frame's line; None without such a frame."""
    frame = user_frame()
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def describe(place: tuple) -> str:
    """Return a place as an error message names it: the line's text, and where it stands."""
    if place is None:
        return "a line that was not recorded (switch anomaly mode on before the forward pass)"
    file, number = place
    text = linecache.getline(file, number).strip()
    where = place_words(file, number)
    return f"`{text}` ({where})" if text else where


def place_words(file: str, number: int) -> str:
    """Return a line of the program in words: "cell [5] line 2" in a notebook, otherwise "file.py line 12"."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    found = None if shell is None else shell.compile.format_code_name(file)
    where = os.path.basename(file) if found is None else "cell " + found[1].removeprefix("In")
    return f"{where} line {number}"


def note_write(counter: object) -> None:
    """Note, after every write, which line brought the counter to its present value."""
    counter.lines = counter.lines or {}
    counter.lines[counter.value] = user_place()


# --- which line made a node ----------------------------------------------------------------------------------


def note_node(node: object, result: Tensor) -> None:
    """Note, for every node, where in the program it was made, and in which node's backward, if in one."""
    import traceback  # few programs are in anomaly mode

    lines = traceback.format_stack(user_frame())
    for made in (node, *made_beside(node, result)):
        made.metadata["traceback_"] = lines
        if state.evaluating is not None:
            made.metadata["parent_"] = state.evaluating


def made_beside(node: object, result: Tensor) -> list:
    """Return the nodes that came with this one: of leaves not used before, of a view and its base after a write."""
    beside = [edge for edge in node.edges if type(edge) is AccumulateGrad and edge.notes is None]
    view = getattr(getattr(result, "meta", None), "view", None)
    if view is not None and getattr(view.base.node, "fn", None) is node:  # CopySlices
        beside += [view.base.node, result.node]
    return beside


def report(node: object) -> None:
    """Warn where a node that failed comes from, and what the node comes from in whose backward it was made."""
    induced = ""
    while node is not None:
        noted = node.notes or {}
        lines = noted.get("traceback_")
        if lines is None:
            warn(f"Error detected in {node.name()}. {MADE_BEFORE}")
        elif not induced:
            warn(f"Error detected in {node.name()}. {CAUSED}{''.join(lines)}")
        else:
            warn(f"{induced}{node.name()}. {INDUCED}{''.join(lines)}")
        node, induced = noted.get("parent_"), "\n\nPrevious calculation was induced by "


def warn(text: str) -> None:
    """Give a warning beside an error: where warnings are errors it is only printed, and the first error goes on."""
    try:
        warnings.warn(text, UserWarning, stacklevel=5)
    except UserWarning as warning:
        sys.excepthook(type(warning), warning, None)


def check_nan(node: object, grads: tuple, retain_graph: bool) -> None:
    """Raise RuntimeError when a node made a NaN. It has run, so what it kept is let go of.

    Only the first node that does is told of: a NaN spreads to everything behind it.
    """
    for position, grad in enumerate(grads):
        array = getattr(grad, "array", grad)
        if array is not None and np.isnan(array).any():
            if not retain_graph:
                node.release()
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {position}th output.")


# --- what our version error says more than PyTorch's ---------------------------------------------------------


def line_of(node: object) -> tuple:
    """Return (file, line number) where a node was made: the last line of the traceback that was noted for it."""
    noted = (node.notes or {}).get("traceback_")
    _, file, rest = noted[-1].split('"', 2) if noted else (None, None, None)
    return file and (file, int(rest.split(",")[1].removeprefix(" line ")))


def explain_change(kept: object, node: object) -> str:
    """Return the sentences that anomaly mode adds to a version error."""
    counter = kept.tensor.version
    lines = (counter.lines or {}) if counter is not None else {}
    changed = lines.get(kept.version + 1)
    return LOOK_ABOVE + (
        f" Anomaly mode knows more: {node.name()} saved the tensor at version {kept.version} in "
        f"{describe(line_of(node))}; it was first changed after that by {describe(changed)}."
    )


# --- the switch ----------------------------------------------------------------------------------------------

NOTES = SimpleNamespace(note_write=note_write, note_node=note_node, report=report, check_nan=check_nan,
                        explain_change=explain_change)  # fmt: skip


def set_anomaly(mode: bool, check_nan: bool) -> None:
    """Switch anomaly mode. Another thread that runs already notes lines from when it next switches something."""
    ThreadState.anomaly, ThreadState.anomaly_check_nan = mode and NOTES, check_nan
    state.update()


class set_detect_anomaly:
    """Switch anomaly mode on or off: errors then say more, and a gradient with NaN is an error."""

    def __init__(self, mode, check_nan=True):
        self.previous = bool(state.anomaly), state.anomaly_check_nan
        for position, (name, value) in enumerate((("enabled", mode), ("check_nan", check_nan)), 1):
            if not isinstance(value, bool):
                where = f"set_anomaly_enabled(): argument '{name}' (position {position})"
                raise TypeError(f"{where} must be bool, not {type(value).__name__}")
        set_anomaly(mode, check_nan)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        set_anomaly(*self.previous)


class detect_anomaly(set_detect_anomaly):
    """Anomaly mode inside a block."""

    def __init__(self, check_nan=True):
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.", stacklevel=2,
        )
        self.check_nan = check_nan

    def __enter__(self):
        super().__init__(True, self.check_nan)  # not before the block begins
