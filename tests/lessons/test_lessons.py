"""Each lesson keeps the rules of notebook_rules.py; its source, its exercise records and its claims tell one story."""


from coursekit.judge.discovery import exercises_module
from tests.lessons.notebook_rules import (
    LESSONS,
    ROOT,
    claims,
    every_lesson,
    every_notebook,
    given_away,
    hygiene,
    load,
    report,
    template,
)
from tools import build_notebooks


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
    problems = template(load(stem), int(stem[:2]))

    assert not problems, report(stem, problems)


@every_lesson
def test_predictions(stem):
    """No answer to a prediction stands above it."""
    exercises = exercises_module(stem[:2]).EXERCISES
    problems = given_away(load(stem), exercises)

    assert not problems, report(stem, problems)


@every_lesson
def test_claims_agree(stem):
    """A claim stands in three places, in the same words: last section, a tagged cell that shows it, a test."""
    path = ROOT / "lessons" / stem / "claims.py"
    problems = claims(load(stem), int(stem[:2]), path.read_text(encoding="utf-8") if path.exists() else None)

    assert not problems, report(stem, problems)


def test_no_claims_without_a_lesson():
    """Each file of claims tests belongs to a lesson."""
    files = {path.parent.name for path in (ROOT / "lessons").glob("*/claims.py")}

    assert files == set(LESSONS)
