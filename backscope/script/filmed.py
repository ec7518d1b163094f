"""`python -m backscope --film 10-20 script.py`: the script runs as ever, and some of its lines are filmed."""

import os
import re
import sys
import types
from pathlib import Path

from backscope.filming.camera import Camera, Script
from backscope.filming.film import LINES, Film

WRITTEN = "film.html"


def film_lines(span, script, rest):
    """Run a script, and write the film of its lines `span`, such as "10-20", to film.html."""
    first, last = numbers_in(span)
    path = os.path.abspath(script)
    try:
        source = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"backscope: cannot open {script!r}: {getattr(error, 'strerror', None) or 'it is not UTF-8'}")
    rows = source.split("\n")
    if first > len(rows):
        sys.exit(f"backscope --film {span}: {script} has {len(rows)} lines.")
    sys.argv, sys.path[0] = [script, *rest], str(Path(path).resolve().parent)
    try:
        parsed = Script(source, True, False, path, (first, last))
    except SyntaxError as error:
        sys.exit(f"backscope: line {error.lineno} of {script} is no Python: {error.msg}.")
    camera = Camera(parsed)
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=path, __builtins__=__builtins__, __spec__=None, __cached__=None)
    sys.modules["__main__"] = module
    try:
        camera.run_script(parsed.compiled(camera.number), module.__dict__)
    except BaseException:
        begin_traceback_at(path)
        raise
    finally:
        tell(Film("\n".join(rows[first - 1 : last]), camera.frames, camera.notes, None, camera.left_out, first), span)


def begin_traceback_at(path):
    """Have the traceback of the error that ends the script begin in the script."""
    hook = sys.excepthook  # the script may have put its own there

    def show(kind, error, traceback):
        while traceback is not None and traceback.tb_frame.f_code.co_filename != path:
            traceback = traceback.tb_next
        hook(kind, error.with_traceback(traceback), traceback)

    sys.excepthook = show


def numbers_in(span):
    """(first, last) of "10-20" or "12"; ends the command in a sentence for anything else."""
    found = re.fullmatch(r"([1-9]\d*)(?:-([1-9]\d*))?", span)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if last < first:
        sys.exit(f"backscope --film takes the numbers of two lines, such as 10-20, not {span!r}.")
    if last - first >= LINES:
        sys.exit(f"backscope --film shows up to {LINES} lines; {span} are {last - first + 1}.")
    return first, last


def tell(film, span):
    """Write the film, and say so on standard error."""
    if not len(film):
        print(f"\nbackscope: no statement of lines {span} ran that could be shown.", file=sys.stderr)
        return
    try:
        film.save(WRITTEN)
    except OSError as fault:
        print(f"\nThe film could not be written to {WRITTEN}: {fault.strerror}\n\n{film}", file=sys.stderr)
    else:
        print(f"\nA film of lines {span}, {len(film)} frames: {WRITTEN}", file=sys.stderr)
