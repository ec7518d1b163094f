"""Where a call stands in the user's own files, who called it, and which libraries lie between it and PyTorch."""

import os
import re
import sysconfig
from dataclasses import dataclass, field

from backscope.adapters import OWN_FILES

PYTHONS = tuple(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib"))
INSTALLED = "site-packages", "dist-packages"  # may lie below PYTHONS: libraries that somebody chose
OWN, CHOSEN, INNER, END = 1, 2, 0, 3  # the user's; an installed library's; Python's and PyTorch's; where we began
CALLERS = 24  # that are remembered of one place


@dataclass(frozen=True)
class Place:
    """A line of the user's files: the code object that ran, how far it had come, and through whom it was reached."""

    code: object
    instruction: int
    callers: tuple = field(default=(), compare=False)  # (code, instruction) of the user's lines outside, nearest first
    through: tuple = field(default=(), compare=False)  # the same of installed libraries inside, innermost first

    @property
    def file(self):
        return self.code.co_filename

    @property
    def line(self):
        return self.span[0] or self.code.co_firstlineno

    @property
    def span(self):
        """(line, last line, column, end column) of the expression that ran."""
        positions = list(self.code.co_positions())
        at = self.instruction // 2
        return positions[at] if at < len(positions) else (None,) * 4

    @property
    def function(self):
        return self.code.co_qualname

    @property
    def outwards(self):
        """This place, and those that called it, each with its own callers."""
        return [self, *(Place(*one, self.callers[at + 1 :]) for at, one in enumerate(self.callers))]

    @property
    def libraries(self):
        """The lines of installed libraries between this line and PyTorch, outermost first."""
        return [Place(*one) for one in reversed(self.through)]


@dataclass(frozen=True)
class Spot:
    """A place that is known from a text alone: a traceback's line, and the columns of an expression in it."""

    file: str
    line: int
    function: str
    span: tuple  # (line, last line, column, end column)
    code: object = None

    @property
    def outwards(self):
        return [self]

    @property
    def libraries(self):
        return []


def rank_of(file, libraries):
    """Whose a file is: OWN, CHOSEN, INNER or END. `libraries`: how the files of PyTorch, our engine begin."""
    if file.startswith(OWN_FILES):
        return END if file.endswith(("command.py", "trial.py")) else INNER
    if file.startswith(libraries) or file.startswith("<") and not file.startswith("<ipython"):
        return INNER
    if any(os.sep + folder + os.sep in file for folder in INSTALLED):
        return CHOSEN
    return INNER if file.startswith(PYTHONS) else OWN


def placed(steps, rank):
    """The Place of frames, given as (code, instruction) from the innermost outwards; None where none is a user's."""
    own, through = [], []
    for code, instruction in steps:
        kind = rank(code.co_filename)
        if kind == OWN:
            own.append((code, instruction))
        elif kind == CHOSEN and not own:
            through.append((code, instruction))
        elif kind == END:
            break
    own, through = (own, through) if own else (through[:1], ())
    return Place(*own[0], tuple(own[1 : CALLERS + 1]), tuple(through)) if own else None


def of_traceback(traceback, rank):
    """(the Place where an error was raised, the user's frames from the innermost outwards)."""
    steps = []
    while traceback is not None:
        steps.append((traceback.tb_frame, traceback.tb_lasti))
        traceback = traceback.tb_next
    steps.reverse()
    frames = [frame for frame, _ in steps if rank(frame.f_code.co_filename) == OWN]
    place = placed([(frame.f_code, instruction) for frame, instruction in steps], rank)
    return place, frames or [frame for frame, _ in steps if place is not None and frame.f_code is place.code]


def iter_frames(frame):
    """This frame, and those that called it."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def shown(file):
    """A file's name as short as it can be typed here; a library's from its package on."""
    if any(os.sep + folder + os.sep in file for folder in INSTALLED):
        return re.split(rf"[/\\](?:{'|'.join(INSTALLED)})[/\\]", file)[-1]
    try:
        relative = os.path.relpath(file)
    except ValueError:  # another drive
        return file
    return file if relative.startswith(os.pardir) else relative
