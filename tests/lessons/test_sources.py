"""Sources, notebooks and exercise records tell one story."""

import importlib

import build_notebooks
from notebook_rules import NOTEBOOKS, every_lesson, every_notebook, given_away, load, report, starters


@every_notebook
def test_source_and_notebook_agree(stem):
    """The notebook has exactly the cells of its source."""
    problems = build_notebooks.check(NOTEBOOKS / "src" / f"{stem}.py")

    assert not problems, report(stem, problems)


@every_lesson
def test_starters(stem):
    """Each exercise is asked once, and its cell is the record's starter with the check line."""
    records = importlib.import_module(f"course_lib.teach.exercises.lesson_{stem[:2]}").EXERCISES
    problems = starters(load(stem), records)

    assert not problems, report(stem, problems)
    assert records, "no exercises, nothing compared"


@every_lesson
def test_no_prediction_is_given_away(stem):
    """What answers a prediction stands below it, and not above."""
    records = importlib.import_module(f"course_lib.teach.exercises.lesson_{stem[:2]}").EXERCISES
    problems = given_away(load(stem), records)

    assert not problems, report(stem, problems)
