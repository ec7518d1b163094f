"""Find where a call stands in the user's own files, who called it, and which libraries lie between it and PyTorch."""

import functools
import os
import re
import sysconfig

from backscope.adapters import OWN_FILES, adapter, library_files

PYTHONS = tuple(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib"))
INSTALLED = "site-packages", "dist-packages"  # may lie below PYTHONS: libraries that somebody chose
OWN, CHOSEN, INNER, END = 1, 2, 0, 3  # the user's; an installed library's; Python's and PyTorch's; where we began


class Place:
    """A line of the user's files: the code object that ran, how far it had come, and how it was reached.

    Made for each call that is recorded, so it is a plain class: a frozen dataclass takes three times as long to make.
    Equal are places of one instruction, whoever called it.
    """

    __slots__ = "code", "instruction", "stack", "known"

    def __init__(self, code, instruction, stack=None):
        self.code, self.instruction = code, instruction
        self.stack = stack  # as PyTorch gathers it: code and line of every frame, and no frame kept alive
        self.known = None  # (places from here outwards, places of libraries inside), once somebody has asked

    def __eq__(self, other):
        return isinstance(other, Place) and (self.code, self.instruction) == (other.code, other.instruction)

    def __hash__(self):
        return hash((self.code, self.instruction))

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
    def key(self):
        return key_of(self.file, self.line, self.code.co_name)

    @property
    def outwards(self):
        """This place, and the user's lines that called it, the nearest first."""
        self.ask()
        return self.known[0]

    @property
    def libraries(self):
        """The lines of installed libraries between this line and PyTorch, outermost first."""
        self.ask()
        return self.known[1]

    def ask(self):
        """Read the stack: what it costs is paid when something has failed."""
        if self.known is not None:
            return
        frames = symbolized(self.stack) if self.stack is not None else []
        lines = [(one["filename"], one["line"], one["name"]) for one in frames]
        own = self.file, self.line, self.code.co_name
        at = lines.index(own) if own in lines else len(lines)
        ranks = [rank_of(one["filename"], library_files()) for one in frames]
        spots = [Spot(*one) for one in lines]
        end = next((i for i in range(at, len(frames)) if ranks[i] == END), len(frames))
        outside = [spots[i] for i in range(at + 1, end) if ranks[i] == OWN]
        inside = [spots[i] for i in range(min(at, end)) if ranks[i] == CHOSEN]
        self.known = [self, *outside], inside[::-1]


def symbolized(stack):
    """[{filename, line, name}] of a gathered stack, innermost first."""
    return adapter("torch").torch._C._profiler.symbolize_tracebacks([stack])[0]


class Spot:
    """A place that is known by its line: of a gathered stack, or of a traceback that is only text."""

    def __init__(self, file, line, name, span=None):
        self.file, self.line, self.name = file, line, name
        self.span = span or (line, line, None, None)  # (line, last line, column, end column)
        self.outwards, self.libraries = [self], []

    @property
    def key(self):
        return key_of(self.file, self.line, self.name)

    @property
    def function(self):
        return key_of(self.file, self.line, self.name)[1]


@functools.lru_cache(4096)
def key_of(file, line, name):
    """(file, the function that a line stands in, its first line): the same for all places in one function."""
    from backscope.script.source import enclosing

    return (file, *(enclosing(file, line) or (name, 0)))


def rank_of(file, libraries):
    """Tell whose a file is: OWN, CHOSEN, INNER or END. `libraries`: how the files of PyTorch, our engine begin."""
    if file.startswith(OWN_FILES):
        return END if file.endswith(("command.py", "trial.py")) else INNER
    if file.startswith(libraries) or file.startswith("<") and not file.startswith("<ipython"):
        return INNER
    if any(os.sep + folder + os.sep in file for folder in INSTALLED):
        return CHOSEN
    return INNER if file.startswith(PYTHONS) else OWN


def of_traceback(traceback, rank):
    """(the Place where an error was raised, the user's frames from the innermost outwards)."""
    steps = []
    while traceback is not None:
        steps.append((traceback.tb_frame, traceback.tb_lasti))
        traceback = traceback.tb_next
    steps.reverse()
    ranks = [rank(frame.f_code.co_filename) for frame, _ in steps]
    end = ranks.index(END) if END in ranks else len(ranks)
    places = [Place(frame.f_code, instruction) for frame, instruction in steps[:end]]
    own = [at for at in range(end) if ranks[at] == OWN]
    chosen = [at for at in range(end) if ranks[at] == CHOSEN]
    if not own:
        return (places[chosen[0]], [steps[chosen[0]][0]]) if chosen else (None, [])
    place = places[own[0]]
    place.known = [places[at] for at in own], [places[at] for at in chosen if at < own[0]][::-1]
    return place, [steps[at][0] for at in own]


def is_of(frame, place):
    """Tell whether a frame runs the function that a place stands in."""
    code = frame.f_code
    return code.co_filename == place.file and key_of(code.co_filename, frame.f_lineno, code.co_name) == place.key


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
