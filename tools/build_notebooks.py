#!/usr/bin/env python3
"""Build the executed notebooks from their percent-format sources.

    python tools/build_notebooks.py              build every lesson
    python tools/build_notebooks.py 07 09        build lessons 07 and 09
    python tools/build_notebooks.py --check      do notebook and source agree? (runs nothing, writes nothing)
    python tools/build_notebooks.py --verify     run everything again, compare every byte (writes nothing)

A rebuild of an unchanged lesson gives the same bytes: metadata and cell ids are fixed, no times are
recorded, and the kernel sees neither the learner's progress nor an IPython profile.
"""

from __future__ import annotations

import argparse
import difflib
import io
import itertools
import os
import re
import sys
import tempfile
import time
from base64 import b64decode, b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# What every notebook says about itself: all that ipykernel would, or JupyterLab adds it on opening and saves. Only
# the version differs from machine to machine; course.py puts the right one into the learner's copies.
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
        "version": "3.11.0",
    },
}
FIRST_APPENDIX = 90  # numbers from here on are no lessons
HOME = "home"  # the page with links to all of them
CELL_TIMEOUT = 60  # seconds; a lesson's cell takes milliseconds
DRAWING = re.compile(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)")
PNG_FONT = "DejaVu Sans"  # comes with matplotlib, so that a rebuild gives the same bytes on every machine
PNG_FONT_SCALE = 0.88  # that much smaller its letters are as wide as Arial's, for which pictures are laid out
PNG_COLOURS = 32  # with 16, large pictures lose the orange of STALE
ANSI = re.compile(r"\x1b\[[0-9;]*m")


class BuildError(Exception):
    """A lesson that could not be built; the text says which cell and why."""


# --- sources ---------------------------------------------------------------------------------------


def sources(folder: Path = ROOT) -> list[Path]:
    """Return all sources of a tree, lessons in their order, the home page last."""
    lessons = folder / "lessons"
    return [*sorted(lessons.glob("[0-9][0-9]*_*/lesson.py")), *lessons.glob(HOME + "/lesson.py")]


def name_of(source: Path) -> str:
    """Return the name of a lesson: 07_version_counters for lessons/07_version_counters/lesson.py."""
    return source.parent.name


def is_lesson(path: Path) -> bool:
    """Tell a lesson from the home page and from an appendix: from 90 up notebooks have no exercises."""
    return name_of(path)[:2].isdigit() and int(name_of(path)[:2]) < FIRST_APPENDIX


def target(source: Path) -> Path:
    """Return the path of a source's notebook: lessons/07_x/lesson.py -> notebooks/07_x.ipynb."""
    return source.parents[2] / "notebooks" / (name_of(source) + ".ipynb")


def choose(names: list[str], folder: Path = ROOT) -> list[Path]:
    """Choose the sources meant by 7, 07, 07_version_counters or a path; all of them when no name is given."""
    everything = sources(folder)
    chosen = []
    for name in names:
        stem = Path(name).stem
        number = re.sub(r"^(?=\d(?!\d))", "0", stem.split("_")[0])
        found = [s for s in everything if name_of(s) == stem or name_of(s).startswith(number + "_")]
        if not found:
            have = ", ".join(map(name_of, everything)) or "none yet"
            raise BuildError(f"There is no lesson {name!r} in lessons/. There are: {have}.")
        chosen += found
    if any(is_lesson(each) for each in chosen):  # the home page tells every lesson's minutes
        chosen += [each for each in everything if name_of(each) == HOME and each not in chosen]
    return chosen or everything


def read_source(source: Path) -> dict:
    """Read a source as a notebook without outputs, in the normal form that every notebook here has."""
    import jupytext

    return normalise(jupytext.read(source, fmt="py:percent"), name_of(source))


def normalise(nb, stem: str) -> dict:
    """Give a notebook fixed metadata, cell ids that depend on the place only, and whole streams."""
    from nbformat.v4 import new_notebook

    fresh = new_notebook(metadata=METADATA, cells=nb.cells)
    fresh.nbformat_minor = 5
    number = stem.split("_")[0] if stem[0].isdigit() else stem[:2]
    for index, cell in enumerate(fresh.cells):
        tags = cell.metadata.get("tags", [])
        cell.metadata = type(cell.metadata)({"tags": tags} if tags else {})
        cell.id = f"lesson-{number}-cell-{index:02d}"
        if cell.cell_type == "code":
            cell.outputs = join_streams(cell.outputs)
            for output in cell.outputs:
                if "metadata" in output:
                    output.metadata = type(output.metadata)()
    return fresh


def join_streams(outputs: list) -> list:
    """Neighbouring pieces of one stream as one output: where the kernel cuts them is a matter of timing."""
    joined: list = []
    for output in outputs:
        last = joined[-1] if joined else None
        if last and output.output_type == "stream" == last.output_type and output.name == last.name:
            last.text += output.text
        else:
            joined.append(output)
    return joined


def dump(nb) -> str:
    """Return the bytes of a notebook file, as text."""
    import nbformat

    nbformat.validate(nb)
    return nbformat.writes(nb, version=4).rstrip("\n") + "\n"


# --- building --------------------------------------------------------------------------------------


def kernel_environment(scratch: str) -> dict[str, str]:
    """Return the environment of a lesson's kernel: this tree's course_lib, nothing of the user's own."""
    environment = dict(os.environ)
    environment["COURSE_PROGRESS"] = os.path.join(scratch, "progress.json")
    environment["IPYTHONDIR"] = os.path.join(scratch, "ipython")
    environment["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return environment


def execute(nb, where: Path, on_cell=None) -> dict:
    """Run all cells of a notebook in a fresh kernel of this very interpreter; returns it in normal form."""
    from ipykernel.kernelspec import RESOURCES, get_kernel_dict
    from jupyter_client import AsyncKernelManager
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    class ThisInterpreter(KernelSpecManager):
        """Knows one kernel, the running Python; a python3 kernel elsewhere on the machine is not used."""

        def get_kernel_spec(self, kernel_name):
            return KernelSpec(resource_dir=RESOURCES, **get_kernel_dict())

    current = [0]

    def note(cell, cell_index, **_):
        current[0] = cell_index
        if on_cell:
            on_cell(cell_index)

    manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=ThisInterpreter())
    client = NotebookClient(
        nb,
        km=manager,
        timeout=CELL_TIMEOUT,
        record_timing=False,
        resources={"metadata": {"path": str(where.parent)}},
        on_cell_start=note,
    )
    client.owns_km = True  # so that the kernel is shut down and its files removed when the run ends
    with tempfile.TemporaryDirectory(prefix="course-build-", ignore_cleanup_errors=True) as scratch:
        try:
            with open(os.path.join(scratch, "stderr"), "w+", encoding="utf-8", errors="replace") as log:
                client.execute(env=kernel_environment(scratch), stderr=log)
        except CellExecutionError as error:
            reason = f"{error.ename}: {ANSI.sub('', error.evalue)}"
        except CellTimeoutError:
            reason = f"the cell was still running after {CELL_TIMEOUT} seconds"
        except DeadKernelError:
            log = Path(scratch, "stderr").read_text(encoding="utf-8", errors="replace").splitlines()
            said = [line for line in log if not line.startswith("[IPKernelApp]")]
            reason = "\n".join(["the kernel died (a crash, or the cell ended the process)", *said[-10:]])
        else:
            built = normalise(nb, where.stem)
            return add_png(built)
    raise BuildError(describe_failure(nb, where, current[0], reason))


def add_png(nb) -> dict:
    """Put the first drawing of each HTML output beside it as image/png, for viewers that show no HTML.

    JupyterLab and the site show the HTML; a PDF or a Markdown file made of the notebook gets the PNG.
    """
    for cell in nb.cells:
        for output in cell.get("outputs", []):
            drawing = DRAWING.search(output.get("data", {}).get("text/html", ""))
            if drawing:
                png = as_png(b64decode(drawing[1]).decode("utf-8"))
                output.data["image/png"] = b64encode(png).decode("ascii") + "\n"
    return nb


def as_png(svg: str) -> bytes:
    """Return an SVG drawing as the bytes of a PNG file, the same on every machine."""
    import matplotlib
    import resvg_py
    from PIL import Image

    smaller = re.sub(
        r"(font-size[=:]\W*|\bfont:)([\d.]+)", lambda m: f"{m[1]}{float(m[2]) * PNG_FONT_SCALE:.2f}",
        re.sub(r'font-family="[^"]*"', f'font-family="{PNG_FONT}"', svg),
    )  # fmt: skip
    drawn = resvg_py.svg_to_bytes(
        svg_string=smaller, dpi=96, background="#ffffff", skip_system_fonts=True, font_family=PNG_FONT,
        font_dirs=[os.path.join(matplotlib.get_data_path(), "fonts", "ttf")], sans_serif_family=PNG_FONT,
    )  # fmt: skip
    picture = Image.open(io.BytesIO(bytes(drawn))).convert("RGB")
    file = io.BytesIO()
    picture.quantize(PNG_COLOURS, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
    return file.getvalue()


def describe_failure(nb, where: Path, index: int, reason: str) -> str:
    """Say which lesson failed, in which cell, under which heading, what it said and what to do."""
    heading = "the top"
    for cell in nb.cells[: index + 1]:
        if cell.cell_type == "markdown":
            for line in cell.source.splitlines():
                heading = f'"{line}"' if line.startswith("#") else heading
    cell = nb.cells[index]
    number = sum(1 for c in nb.cells[: index + 1] if c.cell_type == "code")
    lines = [f"Lesson {where.stem}: cell {index} (the {ordinal(number)} code cell, under {heading}) failed."]
    lines += ["  " + reason.replace("\n", "\n  "), "  The cell:"]
    lines += ["    " + line for line in cell.source.splitlines()]
    printed = "".join(o.get("text", "") for o in cell.get("outputs", []) if o.output_type == "stream")
    if printed.strip():
        lines += ["  It had printed:"] + ["    " + line for line in printed.strip().splitlines()[-10:]]
    lines.append(f"  Repair lessons/{where.stem}/lesson.py; {where.name} is left as it was.")
    return "\n".join(lines)


def ordinal(n: int) -> str:
    """1 -> 1st, 2 -> 2nd, 12 -> 12th."""
    return f"{n}{'th' if 10 <= n % 100 <= 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


def build(source: Path, on_cell=None) -> str:
    """Run the notebook of one source, and return its text."""
    return dump(execute(read_source(source), target(source), on_cell))


def write_atomically(path: Path, text: str) -> None:
    """Write the whole file or nothing: a reader never meets half a notebook."""
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix="." + path.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(scratch, 0o644)
        os.replace(scratch, path)
    except BaseException:
        os.unlink(scratch)
        raise


# --- comparing -------------------------------------------------------------------------------------


def as_text(nb) -> list[str]:
    """Write what source and notebook must share (kinds, tags and texts of the cells), as lines."""
    lines = []
    for cell in nb.cells:
        tags = "".join(f" {tag}" for tag in cell.metadata.get("tags", []))
        lines += [f"--- {cell.cell_type}{' tags:' if tags else ''}{tags}"] + cell.source.splitlines()
    return lines


def check(source: Path) -> list[str]:
    """List what disagrees between a source and its notebook. Runs no cell."""
    import nbformat

    notebook = target(source)
    if not source.exists():
        return [f"{notebook.name} has no source: lessons/{name_of(source)}/lesson.py is missing"]
    if not notebook.exists():
        number = name_of(source).partition("_")[0]
        return [f"{notebook.name} is missing: run `python tools/build_notebooks.py {number}`"]
    wanted, found = read_source(source), nbformat.read(notebook, as_version=4)
    difference = list(
        difflib.unified_diff(
            as_text(wanted), as_text(found), f"lessons/{name_of(source)}/lesson.py", notebook.name, lineterm="", n=1
        )
    )
    if difference:
        more = len(difference) - 40
        shown = difference[:40] + ([f"... and {more} more lines"] if more > 0 else [])
        title = f"{notebook.name} and its source disagree (- source, + notebook):"
        return ["\n    ".join([title, *shown])]
    problems = []
    if found.metadata != METADATA:
        problems.append(f"{notebook.name}: notebook metadata is not in normal form: {dict(found.metadata)}")
    for index, (want, have) in enumerate(zip(wanted.cells, found.cells, strict=True)):
        if have.get("id") != want.id:
            problems.append(f"{notebook.name}: cell {index} has id {have.get('id')!r}, wanted {want.id!r}")
        if have.metadata != want.metadata:
            problems.append(f"{notebook.name}: cell {index} carries metadata {dict(have.metadata)}")
    return problems


def everything_named(folder: Path = ROOT) -> list[Path]:
    """List all sources, with the places where a notebook without a source should have had one."""
    built = (folder / "notebooks").glob("[0-9][0-9]*_*.ipynb")
    orphans = {folder / "lessons" / n.stem / "lesson.py" for n in built}
    return sorted(orphans.union(sources(folder)))


# --- the command -----------------------------------------------------------------------------------


def show_progress(stem: str, cells: int) -> Callable:
    """Return a function that shows how far a lesson is, on one line when somebody is watching."""
    if not sys.stdout.isatty():
        return lambda index: None
    return lambda index: print(f"\r{stem}: cell {index + 1} of {cells}", end="", flush=True)


def build_command(chosen: list[Path], verify: bool) -> list[str]:
    """Build (or, to verify, rebuild and compare) lessons one after the other; returns the problems found."""
    problems = []
    for number, source in enumerate(chosen, 1):
        notebook, begin = target(source), time.monotonic()
        if not sys.stdout.isatty():
            print(f"[{number}/{len(chosen)}] {name_of(source)} ... ", end="", flush=True)
        try:
            nb = read_source(source)
            report = show_progress(name_of(source), len(nb.cells))
            text = dump(execute(nb, notebook, report))
        except BuildError as error:
            problems.append(str(error))
            verdict = "FAILED"
        else:
            old = notebook.read_text(encoding="utf-8") if notebook.exists() else None
            verdict = "the same as before" if text == old else "changed" if old else "new"
            if verify and text != old:
                changes = first_changes(old, text)
                problems.append(f"{notebook.name} is not what a rebuild gives:\n    {changes}")
            elif text != old:
                write_atomically(notebook, text)
        clear = "\r\x1b[K" if sys.stdout.isatty() else ""
        place = f"[{number}/{len(chosen)}] {name_of(source)}: " if clear else ""
        print(f"{clear}{place}{verdict} ({time.monotonic() - begin:.1f} s)", flush=True)
    return problems


def first_changes(old: str | None, new: str, limit: int = 20) -> str:
    """Find the first lines in which two notebook files differ, with a fingerprint for each drawing."""

    def readable(text: str) -> list[str]:
        return DRAWING.sub(lambda m: "drawing " + sha256(m[0].encode()).hexdigest()[:8], text).splitlines()

    before, after = readable(old or ""), readable(new)
    lines = difflib.unified_diff(before, after, "file", "rebuild", lineterm="", n=0)
    return "\n    ".join(line[:200] for line in itertools.islice(lines, limit))


def main(argv: list[str] | None = None) -> int:
    """Run the command; 0 when all is well."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("lessons", nargs="*", help="lesson numbers or names; all lessons when none is given")
    parser.add_argument("--check", action="store_true", help="compare sources with notebooks, run nothing")
    parser.add_argument("--verify", action="store_true", help="rebuild and compare all bytes, write nothing")
    parser.add_argument("--folder", type=Path, default=ROOT, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    try:
        chosen = choose(options.lessons, options.folder)
        if options.check:
            chosen = chosen if options.lessons else everything_named(options.folder)
            problems = [problem for source in chosen for problem in check(source)]
        else:
            problems = build_command(chosen, options.verify)
    except BuildError as error:
        chosen, problems = [], [str(error)]
    except ImportError as error:
        chosen, problems = [], [f"{error}. The tools for this are installed by `pip install -e .[dev,docs]`."]
    if not chosen and not problems:
        problems = [f"There is no lesson source in {options.folder.name}/lessons."]
    for problem in problems:
        print("\n" + problem, file=sys.stderr)
    if not problems and options.check:
        print(f"{len(chosen)} lessons: source and notebook agree.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
