"""Anomaly mode: remembers which line of the program made each node and each write, so that errors can name them.

PyTorch: torch/autograd/anomaly_mode.py, torch/csrc/autograd/anomaly_mode.h. PyTorch shows the forward traceback in
a warning (engine/tracebacks.py); here the error itself names, too, who saved a tensor and who changed it.

An error in backward appears far from its cause. With anomaly mode on each node notes where it was made and each
counter who moved it, which costs a walk up the call stack for each; with it off, a write asks one question and a node
none. What was recorded before it was switched on has no line.
"""

import os
import sys

_ENGINE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # course_lib
_TEACH = os.path.join(_ENGINE, "teach") + os.sep


def is_engine_file(file):
    """True for the engine's own files and generated operations, which are never "the line that did it"."""
    return file.startswith("<course_lib") or (file.startswith(_ENGINE) and not file.startswith(_TEACH))


def user_frame():
    """The innermost frame outside the engine."""
    frame = sys._getframe(1)
    while frame is not None and is_engine_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def describe(place):
    """A place as an error message names it: the line's text, and where it stands."""
    if place is None:
        return "a line that was not recorded (switch anomaly mode on before the forward pass)"
    import linecache  # here, because it costs an import of course_lib 3 %

    file, number = place
    text = linecache.getline(file, number).strip()
    where = place_words(file, number)
    return f"`{text}` ({where})" if text else where


def place_words(file, number):
    """A line of the program in words: "cell [5] line 2" in a notebook, otherwise "file.py line 12"."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    found = None if shell is None else shell.compile.format_code_name(file)
    where = os.path.basename(file) if found is None else "cell " + found[1].removeprefix("In")
    return f"{where} line {number}"


def note_write(counter):
    """Called after every write in anomaly mode: which line brought the counter to its present value."""
    if counter.lines is None:
        counter.lines = {}
    frame = user_frame()
    counter.lines[counter.value] = None if frame is None else (frame.f_code.co_filename, frame.f_lineno)
