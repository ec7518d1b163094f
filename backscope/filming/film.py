"""`film("…")`, `film(function, *args)`, `%%film`: a short program, statement by statement, and the graph after each.

What to read: camera.py (running the program), reel.py (what is the same in all frames), words.py (what a line
changed), picture.py (one layout for all frames), card.py (what the notebook shows).
"""

import ast
import gc
import inspect
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

from backscope.filming import camera as cameras
from backscope.filming import words
from backscope.filming.card import card
from backscope.filming.picture import FilmDrawing
from backscope.filming.reel import Reel
from backscope.stepping.step import without_frames

LINES, NODES = 30, 60  # of a program; of all its frames together


def film(program: str | Callable, *args: object, enter: bool = True, nodes: bool = False) -> "Film":
    """Run a short program and show what each of its statements did to the graph, on our engine and on PyTorch.

        film('''
        w = torch.tensor([2.0, 1.0], requires_grad=True)
        y = w.exp()
        y += 1
        y.sum().backward()
        ''')

    Parameters
        program     the source; it sees the caller's names, and its own stay inside the film. Or a function: it is
                    called with `args`, and the statements of its body are the film. In a notebook, `%%film` on the
                    first line of a cell films the cell, whose names stay as they would without it;
                    its options are words, `%%film nodes=True`.
        enter       True shows each turn of a loop and each call of a function that the program defines, statement by
                    statement. False makes a loop or a call one frame.
        nodes       True shows each statement `loss.backward()` node by node: what a node got, what it sent and freed.

    Returns a Film. A notebook shows a card to page through: buttons, a slider, the arrow keys. print() writes what each
    line changed; .text and .html are its forms, .changes(4) the sentences on a frame, len() the number of frames, and
    .save("film.html") or .save("film.txt") writes a file. An error ends the film: the last frame shows it, with the
    line that is to blame, and .error holds it. It is not raised.
    Grad mode, default dtype and anomaly mode are afterwards as they were, and no tensor is kept alive.
    Limits: 30 lines, 40 frames (of a longer run the last frame, too), 60 nodes, 60 tensors. A program that runs more
    than 10,000 statements is stopped. Inside hooks, and inside the backward of a Function, there are no frames.
    """
    if callable(program):
        return film_function(program, args, enter, nodes)
    if not isinstance(program, str):
        raise TypeError(f"film() takes a program as text, or a function; not {type(program).__name__}.")
    if args:
        raise TypeError("film() of a text takes no arguments; the program sees the names around it.")
    return shoot(textwrap.dedent(program).strip("\n"), enter, nodes, names_around(sys._getframe(1)))


def names_around(frame) -> dict:
    """Return a dictionary of its own with the names that a frame sees."""
    seen = frame.f_locals
    scope = {**frame.f_globals, **seen}
    if type(seen) is dict and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        seen.clear()  # up to Python 3.12 a copy that stays with the frame, and would keep the tensors alive
    return scope


def film_function(function, args, enter, nodes) -> "Film":
    """Return the film of a call."""
    try:
        source = textwrap.dedent(inspect.getsource(function)).rstrip()
        outside = inspect.getclosurevars(function).nonlocals
    except (OSError, TypeError):
        name = getattr(function, "__name__", type(function).__name__)
        raise TypeError(f"film() needs the source of {name}, and finds none: give it the program as text.") from None
    try:
        is_def = isinstance(ast.parse(source).body[0], ast.FunctionDef)
    except SyntaxError:  # a lambda in the middle of a statement
        is_def = False
    if not is_def:
        raise TypeError("film() of a function needs a plain `def`: a lambda has no statements, a class is no call.")
    if inspect.ismethod(function):
        args = function.__self__, *args
    return shoot(source, enter, nodes, {**function.__globals__, **outside}, function.__name__, args)


def shoot(source, enter, nodes, scope, function=None, args=(), runs=None) -> "Film":
    """Run the program and make the film; what is wrong with the program is told by the film.

    `runs`: what the program is to Python, when it says something else, such as a cell with magics.
    """
    lines = sum(bool(line.strip()) and not line.strip().startswith("#") for line in source.split("\n"))
    if lines > LINES:
        return Film(source, notes=[f"film() shows programs of up to {LINES} lines, and this one has {lines:,}: it has "
                                   "not run. Film the lines that matter, or one function."])  # fmt: skip
    try:
        script = cameras.Script(runs or source, enter, nodes)
        script.compiled(0, function)  # what is too deep for that is found before anything has run
    except SyntaxError as error:
        return Film(
            source,
            notes=[f"Line {error.lineno} is no Python: {error.msg}. Nothing has run."],
            error=without_frames(error),
        )
    except (RecursionError, ValueError) as error:
        return Film(
            source, notes=[f"The program cannot be compiled ({error}). Nothing has run."], error=without_frames(error)
        )
    camera = cameras.Camera(script)
    ring = script.defines and not gc.get_freeze_count()  # functions of the program and the names around them form one
    if ring:
        gc.freeze()  # what was there before is not looked through when the ring is let go of: ten times as quick
    try:
        camera.run(scope, function, args)
        scope = args = None
        if script.defines:
            gc.collect()
    finally:
        if ring:
            gc.unfreeze()
    return Film(source, camera.frames, camera.notes, camera.error, camera.left_out)


class Film:
    """A film, as `film` returns it: a notebook shows a card to page through, print() writes what each line changed."""

    def __init__(self, source, frames=(), notes=(), error=None, left_out=0, first=1):
        self.source, self.error, self.first = source, error, first  # `first`: the number of the source's first line
        self.reel = Reel(shown(list(frames)))
        self._drawn, self._pages = None, []
        self._changes = [words.Changes(self.reel, k) for k in range(len(self))]
        self.notes = list(notes)
        if left_out:
            self.notes.append(
                f"{words.count(left_out, 'step')} before the last frame {'is' if left_out == 1 else 'are'} not shown."
            )
        if self.reel.largest > NODES:
            what = "nodes" if self.reel.count == self.reel.largest else "tensors"
            self.notes.append(
                f"The frames have {self.reel.largest} {what} together, and a picture holds {NODES}: in words only."
            )

    def __len__(self) -> int:
        return len(self.reel.frames)

    def changes(self, k: int) -> list[str]:
        """Say what the line of a frame changed."""
        return self._changes[k].sentences or ["changes nothing that is shown here"]

    @property
    def text(self) -> str:
        """Say what each line changed."""
        return words.text(self)

    @property
    def pages(self) -> list:
        """One picture for each frame; none where nothing can be drawn."""
        if self._drawn is None:
            fits = any(side.values for side in self.reel.sides) and self.reel.largest <= NODES
            self._drawn = FilmDrawing(self.reel, self._changes) if fits else ()
            self._pages = self._drawn.pages() if self._drawn else []
        return self._pages

    def focus(self, k) -> float:
        """Return how far down the picture of a frame something has changed."""
        return self._drawn.focus(k) if self.pages else 0

    @property
    def html(self) -> str:
        """The card that a notebook shows."""
        return card(self)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": self.text, "text/html": self.html}

    def save(self, path: str | Path) -> None:
        """Write the film to a .html or .txt file."""
        path = Path(path)
        if path.suffix == ".txt":
            path.write_text(self.text + "\n", encoding="utf-8")
        elif path.suffix == ".html":
            head = '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A film</title>'
            style = "<style>body{font-family:sans-serif}</style></head><body>"
            path.write_text(f"{head}{style}{self.html}</body></html>\n", encoding="utf-8")
        else:
            ending = repr(path.suffix) if path.suffix else "a name without an ending"
            raise ValueError(f"save() writes .html or .txt files, not {ending}.")

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


def shown(frames) -> list:
    """Return the frames without those at the beginning that show nothing yet."""
    while frames and not (frames[0].graph.values or frames[0].error or frames[0].printed):
        frames = frames[1:]
    return frames


# --- %%film ---------------------------------------------------------------------------------------------------


def film_cell(line: str, cell: str) -> Film:
    """Film this cell: %%film, %%film nodes=True, %%film enter=False. Its names stay as they would without a film."""
    from IPython import get_ipython
    from IPython.core.error import UsageError

    options = dict(word.partition("=")[::2] for word in line.split())
    if not set(options) <= {"enter", "nodes"} or not set(options.values()) <= {"True", "False"}:
        raise UsageError(f"%%film takes enter=False and nodes=True, not {line.strip()!r}.")
    shell = get_ipython()
    chosen = {"enter": True, "nodes": False} | {name: word == "True" for name, word in options.items()}
    source = cell.strip("\n")
    return shoot(source, chosen["enter"], chosen["nodes"], shell.user_ns, runs=shell.transform_cell(source))


def register() -> None:
    """Make %%film known to the notebook, if there is one."""
    shell = sys.modules["IPython"].get_ipython() if hasattr(sys.modules.get("IPython"), "get_ipython") else None
    if shell is not None:
        shell.register_magic_function(film_cell, "cell", "film")


register()
