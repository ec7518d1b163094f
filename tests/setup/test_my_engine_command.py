"""`course.py my-engine`: the learner's engine is written, and nothing that they wrote is lost."""

import re
from unittest.mock import Mock

import pytest

from coursekit.cli import commands, files, paths, workspace
from coursekit.own_engine import stages


@pytest.fixture
def told(clone, monkeypatch, capsys):
    """Run the command with these words in the clone: (status, all that it printed)."""
    monkeypatch.setattr(paths, "ROOT", clone)

    def run(*words):
        status, said = commands.main(["my-engine", *words]), capsys.readouterr()
        return status, said.out + said.err

    return run


def mine(clone):
    return clone / "my_course" / "my_engine.py"


def test_it_writes_the_beginning(clone, told):
    """It makes the learner's folder when there is none."""
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


def test_a_folder_that_may_not_be_written_to_is_named(told, monkeypatch):
    """The system's words, status 1 and no traceback."""
    monkeypatch.setattr(files, "write_beside", Mock(side_effect=PermissionError(13, "Permission denied")))
    for words in ([], ["--catch-up", "05"]):
        status, said = told(*words)
        assert (1, True) == (status, "Permission denied" in said)


def test_opening_the_course_puts_the_beginning_beside_the_lessons(clone):
    """A new learner has it; whoever has written in it keeps what they wrote."""
    copies = workspace.Copies(clone / "notebooks", clone / "my_course")
    commands.update_copies(copies)
    assert stages.start() == mine(clone).read_text(encoding="utf-8")

    mine(clone).write_text("my work")
    commands.update_copies(copies)
    assert "my work" == mine(clone).read_text()
