"""docs/add_an_exercise.md, followed word for word in a copy of the course."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.check  # a proof in a copy of the course

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "add_an_exercise.md").read_text(encoding="utf-8")
FILE, CELLS, PROVE, TRY, PRINTED = (block for _, block in re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL))
SUMMARY = "# %% [markdown]\n# ## What you can now claim"


def named(kind, before):
    """The last path of this kind that the page names before a block."""
    text = PAGE[: PAGE.index(before)]
    return re.findall(rf"`({kind}/\S+\.py)`", text)[-1]


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A copy of the package and of the lessons' sources, with what the page adds where the page says."""
    folder = tmp_path_factory.mktemp("course")
    for part in ("course_lib", "backscope", "coursekit", "lessons"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / named("lessons", FILE)).write_text(FILE, encoding="utf-8")
    lesson = folder / named("lessons", CELLS)
    before, after = lesson.read_text(encoding="utf-8").split(SUMMARY)
    lesson.write_text(f"{before}{CELLS}\n{SUMMARY}{after}", encoding="utf-8")
    return folder


def run(folder, *arguments):
    """What Python prints in the copy."""
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=300)
    return done.stdout + done.stderr


def test_the_proof_of_the_page(course):
    """The command of the page proves the lesson with the new exercise in it, its notebook as well."""
    printed = run(course, *PROVE.removeprefix("$ .venv/bin/python ").split())

    assert "02.6" in printed
    assert "no failures" in printed


def test_the_wrong_answer_of_the_page(course):
    """The learner's wrong answer gets the line that the page shows."""
    assert run(course, "-c", TRY) == PRINTED
