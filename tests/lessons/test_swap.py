"""The course's promise about names: replace the import by `import torch`, and the same is printed.

Where PyTorch is not installed, our engine takes its place.
"""

import difflib
import functools
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
import pytest

from tests.lessons.notebook_rules import ALL, NOTEBOOKS, every_notebook, load, printed, report, results, tags

pytestmark = pytest.mark.check  # the lessons once more, on PyTorch

RUNNER = Path(__file__).with_name("swap_runner.py")
PATIENCE = 240  # seconds for all lessons together
LIBRARY = "torch" if importlib.util.find_spec("torch") or os.environ.get("COURSE_REQUIRE_TORCH") else "course_lib"


@functools.cache
def run_all() -> dict[str, list | dict]:
    """What swap_runner saw in each committed notebook, and in the mini notebook that tests this file, by name.

    With COURSE_LESSON=05b_name, as tools/lesson.py has it, only in that one.
    """
    stems = [stem for stem in ALL if stem == os.environ.get("COURSE_LESSON", stem)]
    with tempfile.TemporaryDirectory(prefix="course-swap-") as out:
        nbformat.write(SWAPPED, Path(out) / "mini.ipynb")
        paths = [*(NOTEBOOKS / f"{stem}.ipynb" for stem in stems), Path(out) / "mini.ipynb"]
        command = [sys.executable, str(RUNNER), out, LIBRARY, *map(str, paths)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        seen = {p.stem: json.loads(p.read_text(encoding="utf-8")) for p in Path(out).glob("*.json")}
    for path in paths:
        seen.setdefault(path.stem, {"broken": f"the process ended in this lesson\n{done.stderr[-2000:]}"})
    return seen


def compare(nb, seen: list | dict, where: str) -> list[str]:
    """Where what a run printed and showed as text differs from the outputs in the notebook."""
    if isinstance(seen, dict):
        return [f"{where}: the lesson could not be run\n{seen['broken']}"]
    problems = []
    for index, (cell, got) in enumerate(zip(nb.cells, seen, strict=True)):
        if got is None:
            continue
        place = f"cell {index} on {where}"
        if got["error"]:
            problems.append(f"{place} raised {got['error']}\n{cell.source}")
            break  # what follows would only repeat it
        if got["stderr"].strip():
            problems.append(f"{place} wrote to stderr:\n{got['stderr']}")
        committed, now = without_numbers(printed(cell), *results(cell)), without_numbers(got["stdout"], *got["shown"])
        if committed != now:
            lines = difflib.unified_diff("\n".join(committed).splitlines(), "\n".join(now).splitlines(), lineterm="")
            problems.append("\n".join([f"{place} prints something else:", cell.source, *lines]))
    return problems


def without_numbers(*texts: str) -> list[str]:
    """Texts without the numbers of cells, which change when engine cells are left out."""
    return [re.sub(r"cell \[\d+\] line", "cell [N] line", text) for text in texts]


def compared(seen: list) -> int:
    """How many cells of a run said anything."""
    return sum(bool(got and (got["stdout"] or got["shown"])) for got in seen)


@every_notebook
def test_on_real_torch(stem):
    """Every cell that is not tagged engine prints the same with `import torch`."""
    nb, seen = load(stem), run_all()[stem]
    problems = compare(nb, seen, LIBRARY)

    assert not problems, report(stem, problems)
    swapped = sum(c.cell_type == "code" and (LIBRARY != "torch" or "engine" not in tags(c)) for c in nb.cells)
    assert swapped == sum(got is not None for got in seen)
    least = 5 if stem != "home" else 0
    assert compared(seen) > least, "a lesson whose cells say nothing proves nothing"
    cards = [html for got in seen if got for html in got["html"]]
    assert cards, "no cell drew anything"


def mini(*cells: tuple[str, str, list[str]]):
    """A notebook from (source, what it printed, tags)."""
    v4, made = nbformat.v4, []
    for source, out, tag in cells:
        outputs = [v4.new_output("stream", name="stdout", text=out)] if out else []
        made.append(v4.new_code_cell(source, outputs=outputs, metadata={"tags": tag}))
    return v4.new_notebook(cells=made)


SWAPPED = mini(
    ("import course_lib as torch", "", []), ("print(torch.__name__)", "torch\n", []), ("1 / 0", "", ["engine"])
)


@pytest.mark.usefixtures("real_torch")
def test_the_swap_is_real():
    """With `torch`, the import line means real torch, and engine cells are left out."""
    seen = run_all()["mini"]

    assert [got is None for got in seen] == [False, False, True]
    assert compare(SWAPPED, seen, "real torch") == []


def test_changes_are_noticed():
    """A changed character, an extra result, silence, an error and a warning each show up, with the cell."""
    nb = mini(("print(1)", "1\n", []), ("print(2)", "2\n", []))
    same = {"stdout": "1\n", "stderr": "", "shown": [], "html": [], "error": None}
    good = [same, same | {"stdout": "2\n"}]
    bad = [
        same | {"stdout": "3\n"},
        same | {"stdout": "2\n", "shown": ["3"]},
        same | {"stdout": ""},
        same | {"stdout": "2\n", "error": "RuntimeError: no"},
        same | {"stdout": "2\n", "stderr": "UserWarning: no"},
    ]

    assert compare(nb, good, "here") == []
    for second in bad:
        [problem] = compare(nb, [same, second], "here")
        assert problem.startswith("cell 1 on here")
    assert "the process ended" in compare(nb, {"broken": "the process ended"}, "here")[0]
