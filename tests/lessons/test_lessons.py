"""Each lesson keeps the rules of notebook_rules.py; its source, its exercise records and its claims tell one story."""

import re

from coursekit.judge.discovery import exercises_module, number_in
from coursekit.judge.source import cells_of
from tests.lessons.notebook_rules import (
    LESSONS,
    ROOT,
    claims,
    every_lesson,
    every_notebook,
    given_away,
    hygiene,
    in_order,
    load,
    report,
    spoilt,
    template,
)
from tests.lessons.still import STILL
from tools import build_notebooks
from tools.lesson import minutes, without_more


@every_notebook
def test_hygiene(stem):
    """Counts 1..n; no stderr, path, address or time in outputs; no tag or marker that hides anything."""
    problems = hygiene(load(stem))

    assert not problems, report(stem, problems)


@every_notebook
def test_source_and_notebook_agree(stem):
    """The notebook has exactly the cells of its source."""
    problems = build_notebooks.check(ROOT / "lessons" / stem / "lesson.py")

    assert not problems, report(stem, problems)


@every_lesson
def test_template(stem):
    """Title cell, sections in order, an early picture, short cells, enough prose, imports in one place."""
    problems = template(load(stem), number_in(stem))

    assert not problems, report(stem, problems)


@every_lesson
def test_predictions(stem):
    """No answer to a prediction stands above it."""
    exercises = exercises_module(number_in(stem)).EXERCISES
    problems = given_away(load(stem), exercises)

    assert not problems, report(stem, problems)


@every_lesson
def test_no_prediction_is_spoilt(stem):
    """No prediction is answered by the code of the next cell, or by what a learner's copy shows below it."""
    problems = spoilt(load(stem), exercises_module(number_in(stem)).EXERCISES)

    shrinks(stem, problems, "spoilt")


@every_lesson
def test_numbers_rise(stem):
    """Exercises and predictions are numbered as they are read."""
    shrinks(stem, in_order(load(stem)), "order")


@every_lesson
def test_minutes(stem):
    """A lesson takes at most 90 honest minutes, and its title cell says how many, up to a tenth."""
    found = minutes(number_in(stem))
    said = int(re.search(r"\*\*Minutes\*\* (\d+)", load(stem).cells[0].source)[1])
    problems = [f"it takes {found}; 90 is the most"] if found.total > 90 else []
    if abs(said - found.total) > 0.1 * found.total:
        problems.append(f"its title cell says {said} minutes, and it takes {found}")

    shrinks(stem, problems, "minutes")


def shrinks(stem, problems, rule):
    """A lesson keeps the rule, or is listed as one that does not yet; one that keeps it is not listed."""
    if rule in STILL.get(number_in(stem), ""):
        assert problems, f"{stem} keeps the rule {rule!r} now: take the word out of tests/lessons/still.py"
    else:
        assert not problems, report(stem, problems)


@every_lesson
def test_claims_agree(stem):
    """A claim stands in three places, in the same words: last section, a tagged cell that shows it, a test."""
    path = ROOT / "lessons" / stem / "claims.py"
    problems = claims(load(stem), number_in(stem), path.read_text(encoding="utf-8") if path.exists() else None)

    assert not problems, report(stem, problems)


def test_no_claims_without_a_lesson():
    """Each file of claims tests belongs to a lesson."""
    files = {path.parent.name for path in (ROOT / "lessons").glob("*/claims.py")}

    assert files == set(LESSONS)


def test_exercises_for_who_likes_more_are_counted_apart():
    """The section "Exercises: more, if you like" ends at the next heading; what stands before it in its cell counts."""
    text = (
        "# %% [markdown]\n# Before.\n#\n# ## Exercises: more, if you like\n# **07.8**\n\n# %%\nL.check('x')\n"
        'L.check("07.8", a)\n\n# %% [markdown]\n# ### Still inside\n\n# %% [markdown]\n# ## What you can now claim\n'
    )
    core, ids = without_more(cells_of(text))

    assert ids == ["07.8"]
    assert [cell.source.strip() for cell in core] == ["Before.", "", "", "## What you can now claim"]
