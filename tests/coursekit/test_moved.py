"""lessons/moved.toml: what was asked, solved or written by the numbers of 0.9.0 is found under those of today."""

import json
import re

import pytest

import course_lib.teach
from coursekit import lesson
from coursekit.judge import moved
from coursekit.judge.discovery import exercises_module, lesson_numbers
from coursekit.notebook.progress import Progress
from tools import questions

TODAY = {record.id for number in lesson_numbers() for record in exercises_module(number).EXERCISES}


def test_every_new_number_exists_and_none_is_given_twice():
    """The right side of the table names exercises, predictions and claims of today, each once."""
    claims = set(questions.claims())
    new = [each for each in moved.moved().values() if each]

    assert [each for each in new if each not in TODAY | claims] == []
    assert len(new) == len(set(new))
    assert all(re.fullmatch(r"C?\d\d\.p?\d+", old) for old in moved.moved())


@pytest.fixture
def table(monkeypatch):
    """A small table: two change places, one moves into a part, one is gone."""
    changes = {"05.1": "05.2", "05.2": "05.1", "05.6": "05b.1", "05.p7": ""}
    monkeypatch.setattr(moved, "moved", lambda: changes)
    return changes


def test_progress_of_0_9_0_is_carried_over(table, tmp_path):
    """Each entry is found under its new number, also after a change; nothing is lost, not what there is no longer."""
    path = tmp_path / "course_progress.json"
    old = {"05.1": {"tries": 1}, "05.2": {"tries": 2}, "05.6": {"tries": 6}, "05.p7": {"first": "[8]"}, "05.b": {}}
    path.write_text(json.dumps({"format": 1, "exercises": old}))
    kept = Progress(path)
    wanted = {"05.1": {"tries": 2}, "05.2": {"tries": 1}, "05b.1": {"tries": 6}, "05.b": {}}
    wanted["05.p7 of 0.9.0"] = {"first": "[8]"}

    assert kept.read() == wanted
    kept.change("05.1", lambda entry: entry.update(solved=True))
    wanted["05.1"]["solved"] = True
    assert kept.read() == Progress(path).read() == wanted
    assert json.loads(path.read_text())["format"] == 2


def test_two_that_became_one_are_solved_if_one_was(table):
    """Of two entries for one exercise nothing is lost that was solved."""
    table["05.3"] = "05.1"
    entries = {"05.2": {"tries": 2, "solved": False}, "05.3": {"tries": 1, "solved": True}}

    assert moved.carried_over(entries)["05.1"]["solved"] is True


def test_an_old_copy_asks_by_the_old_numbers(capsys, tmp_path, monkeypatch):
    """A notebook of 0.9.0 imports from course_lib.teach, and means what its numbers meant."""
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path))
    records = {record.id: record for number in lesson_numbers() for record in exercises_module(number).EXERCISES}
    for number in range(18):
        before = course_lib.teach.lesson(number)
        for old, exercise in before.exercises.items():
            assert exercise.title == records[moved.new_number(old)].title
            before.hint(old)
            before.kept.change(old, lambda entry, old=old: entry.update(old=old))
            assert capsys.readouterr().out.startswith(old)
    assert {entry["old"]: id for id, entry in Progress().read().items() if entry["old"] != id} == {
        old: new for old, new in moved.moved().items() if new and not old.startswith("C")
    }
    assert all(set(lesson(number).exercises) <= records.keys() for number in range(18))
