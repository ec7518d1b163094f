"""What can be in the way of a start: each is answered by one sentence that says what to do, and nothing is lost."""

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from coursekit.cli import commands, install, paths, workspace
from coursekit.cli.environment import find_environment
from coursekit.cli.files import refusal
from tests.opened import environment

LESSON = "07_version_counters.ipynb"


def everything(folder):
    """All files of a learner, as they are."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    "place, is_folder, words",
    [
        ("my_course", False, "my_course is a file"),
        (".venv", False, ".venv is a file"),
        (".venv.lock", True, ".venv.lock is a folder, where the course needs a file: rename it"),
        ("my_course/.jupyter", False, ".jupyter is a file, where the course needs a folder: rename it"),
        ("my_course/.course.json", True, ".course.json is a folder, where the course needs a file: rename it"),
    ],
)
def test_a_file_where_a_folder_belongs_and_the_other_way_round(clone, monkeypatch, capsys, place, is_folder, words):
    """The sentence names it and says what to do; there is no traceback, and it stays as it is."""
    monkeypatch.setattr(paths, "ROOT", clone)
    monkeypatch.setattr(install, "ask_index", lambda: install.Answer(False, [], False))
    for name in ("COURSE_PYTHON", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    if not place.startswith(".venv"):
        monkeypatch.setenv("COURSE_PYTHON", sys.executable)
        monkeypatch.setattr(commands, "ensure_environment", lambda extras: find_environment(os.environ))
    path = clone / place
    path.parent.mkdir(exist_ok=True)
    path.mkdir() if is_folder else path.write_text("mine")
    status = commands.main(["open", "--no-browser"])
    said = capsys.readouterr().err

    assert (1, True) == (status, words in said), said
    assert path.is_dir() if is_folder else "mine" == path.read_text()


@pytest.mark.parametrize(
    "error, words",
    [
        (PermissionError(errno.EACCES, "Permission denied", "{root}/.venv.lock"), "{root} may not be written to"),
        (OSError(errno.EROFS, "Read-only file system", "{root}/my_course"), "{root} may not be written to"),
        (OSError(errno.ENOSPC, "No space left on device", "{root}/x"), "disk is full ({root})"),
        (OSError(errno.EIO, "Input/output error", "{root}/x"), "Input/output error"),
    ],
)
def test_what_the_system_refuses_is_a_sentence(tmp_path, error, words):
    """Which folder, why, and what to do."""
    error.filename = error.filename.format(root=tmp_path)

    assert words.format(root=tmp_path) in refusal(error)
    assert "\n" not in refusal(error) or error.errno == errno.EIO


# Root may write everywhere; whoever else runs the tests is another user already.
AS_ANOTHER_USER = """
import os, sys
sys.path.insert(0, os.getcwd())
from coursekit.cli import commands
if os.geteuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
sys.exit(commands.main(["open", "--no-browser"]))
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_a_folder_that_may_not_be_written_to(clone):
    """Somebody else's clone: one sentence, and no file is made."""
    with tempfile.TemporaryDirectory() as scratch:  # pytest's own folders are closed to others
        os.chmod(scratch, 0o755)
        there = Path(shutil.copytree(clone, f"{scratch}/clone"))
        before = everything(there)
        there.chmod(0o555)
        done = subprocess.run([sys.executable, "-B", "-c", AS_ANOTHER_USER], cwd=there, env=environment(),
                              capture_output=True, text=True, timeout=60)
        there.chmod(0o755)

        assert before == everything(there)
    assert 1 == done.returncode
    assert f"{there} may not be written to (Permission denied): clone the course into a folder" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_python_that_does_not_start_any_more_is_made_again(clone, monkeypatch, capsys):
    """All files are there, and yet .venv's Python does not run: it is made again at once, and that is said."""
    monkeypatch.setattr(paths, "ROOT", clone)
    environment = find_environment({})
    monkeypatch.setattr(commands, "ensure_environment", lambda extras: environment)
    monkeypatch.setattr(install, "ask_index", lambda: install.Answer(False, [], False))
    monkeypatch.setattr(install, "install", lambda *ignored: None)
    monkeypatch.setattr(install, "run_under", lambda *ignored: 1)
    environment.python.parent.mkdir(parents=True)
    environment.python.write_text("not a program")
    status = commands.main(["open", "--no-browser"])
    said = capsys.readouterr()

    assert 1 == status  # here no new one can be made
    assert "(.venv) is damaged: its Python does not work" in said.out
    assert "could not make a virtual environment" in said.err


def test_a_folder_of_0_8_0_is_taken_over(clone):
    """Its copies import course_lib.teach, its manifest has the first format: edits stay, the rest becomes today's."""
    mine = clone / "my_course"
    mine.mkdir()
    cell = {"cell_type": "code", "execution_count": 3, "metadata": {}, "outputs": [],
            "source": ["from course_lib.teach import lesson\n", "L = lesson(7)"]}
    old = {"cells": [cell], "metadata": workspace.FIRST_METADATA, "nbformat": 4, "nbformat_minor": 5}
    text = (json.dumps(old, indent=1, ensure_ascii=False) + "\n").encode()
    for name in ("00_start_here.ipynb", LESSON):
        (mine / name).write_bytes(text)
    old["cells"][0]["source"].append("\nmy answer")
    (mine / LESSON).write_text(json.dumps(old))
    (mine / "course_progress.json").write_text('{"format": 1, "exercises": {"07.1": {"solved": true}}}')
    (mine / "my_engine.py").write_text("my engine")
    known = workspace.first_edition_digest(text, appendix=False)
    (mine / ".course.json").write_text(
        json.dumps({"format": 1, "made_from": {name: known for name in ("00_start_here.ipynb", LESSON)}}))
    before = everything(mine)
    news = workspace.Copies(clone / "notebooks", mine).update()

    assert (["00_start_here.ipynb"], {LESSON: "07_version_counters.new.ipynb"}) == (news.renewed, news.offered)
    for name in (LESSON, "course_progress.json", "my_engine.py"):
        assert before[mine / name] == (mine / name).read_bytes()
    assert text in everything(mine / ".jupyter" / "earlier").values()
