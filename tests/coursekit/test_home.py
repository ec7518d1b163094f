"""The home page: every lesson with its minutes, what is solved, and what comes next."""

import json

import pytest

from coursekit import home
from coursekit.judge.discovery import exercises_module
from coursekit.notebook.home import solved
from coursekit.notebook.progress import FORMAT

EXERCISES, LESSON_14 = exercises_module(0).EXERCISES, exercises_module(14).EXERCISES


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two lessons, and things that are none; progress of nobody."""
    for name, first in {
        "00_start_here.ipynb": "# 00 · Start here: what?\n\n**Minutes** 35 · **Needs** nothing",
        "01_graph.ipynb": "# 01 · A <graph>: where?\n\n**Minutes** 60",
        "90_gallery.ipynb": "# 90 · Gallery: all?\n\n**Minutes** 5",
        "02_notes.ipynb": "# my notes",
    }.items():
        cells = [{"cell_type": "markdown", "source": first.splitlines(keepends=True)}]
        (tmp_path / name).write_text(json.dumps({"cells": cells}), encoding="utf-8")
    (tmp_path / "03_broken.ipynb").write_text("{", encoding="utf-8")
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    return tmp_path


def solve(folder, ids):
    entries = {each: {"solved": True, "tries": 1} for each in ids}
    (folder / "progress.json").write_text(json.dumps({"format": FORMAT, "exercises": entries}), encoding="utf-8")


def test_a_newcomer_is_told_where_to_begin(folder):
    """Each lesson in order with its minutes; nothing that is no lesson."""
    lines = str(home(folder)).splitlines()

    assert ["00  ..........    35 minutes  Start here", "01  ..........    60 minutes  A <graph>"] == lines[1:]
    assert "2 lessons, about 2 hours. Begin with lesson 00, Start here." == lines[0]


def test_what_is_solved_fills_the_bar_and_moves_the_advice(folder):
    """Half of a lesson is half a bar; a lesson that is done makes way for the next."""
    ids = [exercise.id for exercise in EXERCISES] + ["00.b"]
    solve(folder, ids[: len(ids) // 2])
    some = str(home(folder))
    solve(folder, ids)
    all_ = str(home(folder))

    assert 4 <= some.splitlines()[1].count("#") <= 5
    assert "Go on with lesson 00" in some
    assert 10 == all_.splitlines()[1].count("#")
    assert "Go on with lesson 01, A <graph>." in all_


def test_a_part_is_optional(folder):
    """A part stands below its lesson and is counted apart; the advice comes to it when all lessons are solved."""
    cells = [{"cell_type": "markdown", "source": ["# 05b · A part: more?\n\n**Minutes** 40"]}]
    (folder / "05b_part.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    text, page = str(home(folder)), home(folder).html

    assert "05b ..........    40 minutes  A part (optional)" in text.splitlines()
    assert "2 lessons, about 2 hours, and an optional part, 1 more." in text
    assert 'href="05b_part.ipynb">05b · A part</a>' in page and page.count("optional") == 1
    ids = [each.id for number in (0, 1) for each in exercises_module(number).EXERCISES] + ["00.b", "01.b"]
    solve(folder, ids)
    assert "Go on with lesson 05b, A part." in str(home(folder))


def test_after_lesson_13_there_is_no_engine_to_build():
    """A lesson that asks for no piece of one's own engine is done when its exercises are."""
    done, all_ = solved("14", {exercise.id: {"solved": True} for exercise in LESSON_14})

    assert done == all_ == len(LESSON_14)


def test_names_are_links_and_nothing_is_html_by_accident(folder):
    """The table links to the files beside it; what stands in a title is text."""
    page = home(folder)._repr_mimebundle_()["text/html"]

    assert 'href="00_start_here.ipynb">00 · Start here</a>' in page
    assert "A &lt;graph&gt;" in page
    assert page.index("Begin with lesson 00") < page.index("<table")


def test_without_lessons_there_is_a_sentence(tmp_path):
    """An empty folder says what to do."""
    assert "make open" in str(home(tmp_path))
