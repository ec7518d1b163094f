"""The IPython extension that every kernel of `course.py open` loads first: help after a restart.

After a restart a notebook still shows the outputs of cells that have not been run. Here `L` is made anew, with a
sentence, and an unknown name that the notebook makes further up is explained below its error. So is a cell that Python
could not read: nothing of it has run, the call of `L.check` at its end included.
"""

import ast
import contextlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

AGAIN = "Choose Run → Run All Above Selected Cell in the menu, then run this cell again."


class Survivor:
    """`L` in a fresh kernel: becomes the lesson when it is first used."""

    def __init__(self, number, variables, notebook):
        self._number, self._variables, self._notebook = number, variables, notebook

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        from coursekit import lesson

        edition = "0.9.0" if imports_as_before(self._notebook) else ""
        L = self._variables["L"] = lesson(self._number, edition=edition)
        print(
            "This kernel has just been started: `L` is here again, and your progress is kept. The other names of this "
            f"notebook are not there yet. {AGAIN}"
        )
        return getattr(L, name)


def imports_as_before(notebook) -> bool:
    """Tell whether a notebook is of 0.9.0 or earlier, whose exercises had other numbers."""
    with contextlib.suppress(OSError, ValueError):
        return "from course_lib.teach import" in Path(notebook).read_text(encoding="utf-8")
    return False


def explain(error, notebook) -> str:
    """Return a sentence on a NameError, if the notebook has a cell that makes this name; otherwise nothing."""
    name = getattr(error, "name", None)
    if not name or name not in names_made_in(notebook):
        return ""
    return f"A cell of this notebook makes `{name}`, and has not been run since the kernel was started. {AGAIN}"


def unread(error) -> str:
    """Return a sentence on a cell with an error in its syntax; nothing for text that a cell has compiled itself."""
    if not Path(error.filename or "").parent.name.startswith("ipykernel_"):
        return ""
    line = f"line {error.lineno}" if error.lineno else "a line"
    if isinstance(error, IndentationError):
        cause = "Look at the spaces at the beginning of that line: lines of one block begin in the same column."
    else:
        cause = "Look for a bracket, a quote or a colon that is missing in that line or in the one above it."
    return f"Python could not read {line} of this cell, so nothing in it has run, and nothing was judged. {cause}"


def names_made_in(notebook) -> set[str]:
    """Return the names that the code cells of a notebook bind at their top level; none where it cannot be read."""
    made = set()
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        for cell in json.loads(Path(notebook).read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                with contextlib.suppress(SyntaxError):
                    made |= set(bound(ast.parse("".join(cell["source"])).body))
    return made


def bound(statements) -> Iterator:
    """Yield the names that statements bind in the scope they stand in."""
    for statement in statements:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield statement.name
            continue
        for part in ast.walk(statement):
            if isinstance(part, ast.alias):
                yield (part.asname or part.name).partition(".")[0]
            elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id


def begin(shell, notebook) -> None:
    """Help in this shell, whose notebook has this path."""

    def told(shell, kind, error, traceback, tb_offset=None):
        shell.showtraceback((kind, error, traceback), tb_offset=tb_offset)
        sentence = unread(error) if isinstance(error, SyntaxError) else explain(error, notebook)
        if sentence:
            print(sentence)

    shell.set_custom_exc((NameError, SyntaxError), told)
    if number := re.match(r"(\d\d[a-z]?)_", Path(notebook).name):
        shell.user_ns.setdefault("L", Survivor(number[1], shell.user_ns, notebook))


def load_ipython_extension(shell) -> None:
    """Called by IPython: where it runs a notebook, Jupyter says which one."""
    notebook = os.environ.get("JPY_SESSION_NAME")
    if notebook:
        begin(shell, notebook)
