"""The table puzzle -> lesson cell -> exercise -> test is complete and up to date."""

import importlib.util
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "puzzles.py"


@pytest.fixture(scope="module")
def puzzles():
    """tools/puzzles.py as a module."""
    spec = importlib.util.spec_from_file_location("puzzles_tool", TOOL)
    module = importlib.util.module_from_spec(spec)
    sys.modules["puzzles_tool"] = module
    spec.loader.exec_module(module)
    return module


def test_each_puzzle_of_a_lesson_has_its_cell_and_its_exercise(puzzles):
    """Nothing that a lesson promises to answer is without a cell or without an exercise."""
    assert puzzles.complaints(puzzles.collect()) == []


def test_the_table_is_up_to_date(puzzles):
    """docs/puzzles.md is what `make puzzles` would write now."""
    assert puzzles.TABLE.read_text(encoding="utf-8") == puzzles.table(puzzles.collect())


def test_the_puzzles_are_those_that_records_may_name(puzzles):
    """The numbers are those that exercise records are checked against."""
    from course_lib.teach.practice import prove

    assert sorted(puzzles.PUZZLES) == sorted(prove.PUZZLES)


def test_a_missing_cell_is_named(puzzles):
    """A puzzle without a cell gives a sentence that says which tag is wanted where."""
    found = puzzles.collect()
    found[5] = ([], found[5][1])

    assert "Puzzle 5: no cell of lesson 06 has the tag P5." in puzzles.complaints(found)


def test_a_missing_exercise_is_named(puzzles):
    """A puzzle without an exercise gives a sentence as well."""
    found = puzzles.collect()
    found[5] = (found[5][0], [])

    assert any(sentence.startswith("Puzzle 5: no exercise names it.") for sentence in puzzles.complaints(found))
