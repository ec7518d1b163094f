"""`course.py my-engine`: the learner's engine is written, and nothing that they wrote is lost."""

import re
import shutil
import subprocess
import sys

import pytest

import course

stages = course.stages()


@pytest.fixture
def clone(tmp_path):
    """A clone in which nothing was installed: course.py, one lesson, and the annotated engine."""
    for name in ("course.py", "pyproject.toml", "constraints.txt"):
        shutil.copy(course.ROOT / name, tmp_path / name)
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "07_version_counters.ipynb").write_text("{}")
    building = tmp_path / "course_lib" / "teach" / "building"
    building.mkdir(parents=True)
    for name in ("stages.py", "engine_by_lesson.txt"):
        shutil.copy(course.ROOT / "course_lib" / "teach" / "building" / name, building / name)
    return tmp_path


@pytest.fixture
def told(clone):
    """Run the command with these words in the clone: (status, all that it printed)."""

    def run(*words):
        done = subprocess.run([sys.executable, "-S", "course.py", "my-engine", *words], cwd=clone,
                              capture_output=True, text=True, timeout=60)  # fmt: skip
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout + done.stderr

    return run


def mine(clone):
    return clone / "my_course" / "my_engine.py"


def test_it_writes_the_beginning(clone, told):
    """It needs no package, and makes the learner's folder when there is none."""
    status, words = told()

    assert (0, True) == (status, "is new" in words)
    assert stages.start() == mine(clone).read_text(encoding="utf-8")


def test_it_never_writes_over_a_file(clone, told):
    """What is there stays, and the other form of the command is named."""
    told()
    mine(clone).write_text("my work")
    status, words = told()

    assert (0, True) == (status, "stays as it is" in words and "--catch-up 05" in words)
    assert "my work" == mine(clone).read_text()


def test_catching_up_keeps_what_was_there(clone, told):
    """The engine after lesson 05 takes the place of the learner's, which stands beside it; twice on one day as well."""
    for text in ("my work", "my other work"):
        (clone / "my_course").mkdir(exist_ok=True)
        mine(clone).write_text(text)
        status, words = told("--catch-up", "05")
        kept = re.search(r"my_course/(my_engine\.kept-\S+\.py)", words).group(1)

        assert (0, text) == (status, (clone / "my_course" / kept).read_text())
        assert stages.stage(5) == mine(clone).read_text(encoding="utf-8")
    assert "beside" not in told("--catch-up", "5")[1]  # what nobody wrote need not be kept


@pytest.mark.parametrize("lesson", ["14", "-1", "five", "", "²", "5.0"])
def test_a_lesson_that_does_not_exist_is_named(clone, told, lesson):
    """Status 1 and the lessons that there are; nothing is written."""
    status, words = told("--catch-up=" + lesson)

    assert (1, True) == (status, repr(lesson) in words and "00 to 13" in words)
    assert not mine(clone).exists()


def test_a_folder_that_may_not_be_written_to_is_named(clone, monkeypatch, capsys):
    """The system's words, status 1 and no traceback."""

    def refused(path, data):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(course, "ROOT", clone)
    monkeypatch.setattr(course, "write_beside", refused)

    assert 1 == course.main(["my-engine"]) == course.main(["my-engine", "--catch-up", "05"])
    assert 2 == capsys.readouterr().err.count("Permission denied")


def test_opening_the_course_puts_the_beginning_beside_the_lessons(tmp_path, monkeypatch):
    """A new learner has it; whoever has written in it keeps what they wrote."""
    monkeypatch.setattr(course, "trust", lambda *some: None)
    lessons = tmp_path / "notebooks"
    lessons.mkdir()
    (lessons / "00_start_here.ipynb").write_bytes(b"{}")
    copies = course.Copies(lessons, tmp_path / "my_course")
    course.update_copies(None, copies)
    assert stages.start() == mine(tmp_path).read_text(encoding="utf-8")

    mine(tmp_path).write_text("my work")
    course.update_copies(None, copies)
    assert "my work" == mine(tmp_path).read_text()
