"""Two helpers for lesson cells: expect_error keeps an error's message, show opens our engine's source."""

import functools
import importlib
import inspect
import linecache
import re
import sys
import textwrap
import types
import warnings
from pathlib import Path
from types import ModuleType

from backscope.explaining.report import remember
from backscope.stepping.step import one_line
from coursekit.judge.exercise import error_text, short
from coursekit.notebook import card as cards
from coursekit.notebook.card import show_card

FACTS = re.compile(r"one of the variables needed .*? operation: (.*? instead)\..*", re.DOTALL)
ROOT = Path(__file__).resolve().parents[2]
ROOMS = tuple(ROOT / room for room in ("course_lib", "backscope", "coursekit"))  # what `show` opens


class expect_error:
    """The block must raise `kind` with `fragment` in its message; prints `TypeName: first line of it`.

    short: for a lesson that has shown the message whole: of the version error only the tensor and its two numbers, of
    any other error only the fragment.

    Raises AssertionError, in words, when nothing or something else is raised.
    """

    # A class, and no generator: with contextlib.contextmanager the error would stay alive in a circle, and with it
    # every tensor of the call that failed, until the garbage collector comes (from Python 3.12 on).

    def __init__(self, kind=Exception, fragment="", short=False):
        self.kind, self.fragment, self.short = kind, fragment, short

    def __enter__(self):
        self.warnings = warnings.catch_warnings()
        self.warnings.__enter__()  # anomaly mode's traceback, of which a page would have no two alike
        warnings.filterwarnings("ignore", "(Error detected in|\\s*Previous calculation was induced by) ", UserWarning)

    def __exit__(self, _, error, traceback):
        self.warnings.__exit__(None, None, None)
        kind = self.kind.__name__
        wanted = f"{kind} with “{self.fragment}” in its message" if self.fragment else kind
        if error is None:
            raise AssertionError(f"This block should raise {wanted}, but it ran to its end and raised nothing.")
        if not isinstance(error, self.kind):
            if not isinstance(error, Exception):
                return False
            raise AssertionError(f"This block should raise {wanted}, but it raised {error_text(error)}") from error
        if self.fragment not in str(error):
            raise AssertionError(
                f"This block should raise {wanted}, but its message is: {error_text(error)}"
            ) from error
        remember(error)
        show_card(cards.error(self.in_short(error) if self.short else one_line(error)))
        return True

    def in_short(self, error) -> str:
        """Return the name of the error, and of its message what tells."""
        facts, found = FACTS.subn(r"… \1 …", one_line(error))
        return facts if found or not self.fragment else f"{type(error).__name__}: … {self.fragment} …"


def show(what, max_lines=40) -> None:
    """Print our engine's source of a function, class, method or object, or of a dotted name ("engine.run").

    For things that are not ours (real PyTorch's among them) it says so; an unknown name raises LookupError.
    """
    target = find(what) if isinstance(what, str) else what
    home = our_source(target)
    if home is None:
        print(f"show() opens the source of our own engine only; {name_of(target)} is not part of course_lib.")
        return
    title, lines = home
    more = f"# … and {len(lines) - max_lines} more lines" if len(lines) > max_lines else ""
    show_card(cards.listing(title, lines[:max_lines], more))


def find(dotted) -> object:
    """Find what a dotted name means inside course_lib: "mul", "engine.run", "course_lib.engine.graph.Node.name"."""
    parts = dotted.strip().removeprefix("course_lib.").split(".")
    found = importlib.import_module("course_lib")
    done = ["course_lib"]
    for part in parts:
        # A file of the engine goes before a function of the same name when more follows.
        module = submodule(".".join([*done, part])) if inspect.ismodule(found) else None
        last = part is parts[-1]
        attribute = getattr(found, part, None)
        if module is not None and (attribute is None or not last or inspect.ismodule(attribute)):
            found = module
        elif attribute is not None:
            found = attribute
        else:
            raise LookupError(f"show({dotted!r}): {'.'.join(done)} has nothing called {part!r}.")
        done.append(part)
    return found


def submodule(name) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None


def our_source(target) -> tuple | None:
    """Return (title, lines) of something of ours, or None."""
    target = core(target)
    filename = file_of(target)
    generated = filename.startswith("<course_lib ")
    path = Path(filename).resolve()
    if not (generated or filename and any(path.is_relative_to(room) for room in ROOMS)):
        return None
    try:
        text = inspect.getsource(target)
    except (OSError, TypeError):
        text = block_in(linecache.getlines(filename), target)
    place = filename.strip("<>")
    if not generated:
        place = path.relative_to(ROOT).as_posix()
    return (place, textwrap.dedent(text).rstrip().splitlines()) if text else None


def file_of(target) -> str:
    """Find the file with the source of a function, class or module: for a generated one a name in linecache, or ''."""
    files = []
    if isinstance(target, type):  # its __module__ may name another file, as a generated class's does
        functions = [getattr(value, "__func__", value) for value in vars(target).values()]
        own = [f for f in functions if isinstance(f, types.FunctionType)]
        own = [f for f in own if f.__qualname__.startswith(f"{target.__name__}.")]
        files = [f.__code__.co_filename for f in own]
        generated = [name for name in files if name.startswith("<") and name in linecache.cache]
        if generated and generated == files:  # of Tensor, some methods have a parser that is generated
            return generated[0]
    if isinstance(target, types.FunctionType):
        return target.__code__.co_filename
    try:
        return inspect.getsourcefile(target) or ""
    except TypeError:
        return files[0] if files else ""


def block_in(lines, target) -> str:
    """Return the lines of a function or class within the lines of its file, found by its first line."""
    for number, line in enumerate(lines):
        if re.match(rf"(def|class) {re.escape(target.__name__)}\b", line):
            return "".join(inspect.getblock(lines[number:]))
    return ""


def core(target) -> object:
    """Return the function, class or module behind wrappers, properties, bound methods and instances."""
    if isinstance(target, property):
        target = target.fget
    if isinstance(target, (staticmethod, classmethod, types.MethodType)):
        target = target.__func__
    if isinstance(target, functools.partial):
        target = target.func
    target = inspect.unwrap(target) if callable(target) else target
    builtin = (types.BuiltinFunctionType, types.MethodDescriptorType)
    known = (types.FunctionType, *builtin, type, types.ModuleType)
    return target if isinstance(target, known) else type(target)


def name_of(target) -> str:
    """Name something of which only the name is shown."""
    target = core(target)
    module = getattr(target, "__module__", None) or ""
    name = getattr(target, "__qualname__", None) or getattr(target, "__name__", None) or short(target)
    if module in ("", "builtins"):
        return name
    if module.partition(".")[0] not in sys.modules:
        return name
    return f"{module}.{name}"
