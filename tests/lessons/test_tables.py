"""docs/puzzles.md and docs/questions.md: every line has its cell and its exercise, and the pages are up to date."""

import pytest

from coursekit.judge import prove
from tools import puzzles, questions


def test_each_puzzle_of_a_lesson_has_its_cell_and_its_exercise():
    """Nothing that a lesson promises to answer is without a cell or without an exercise."""
    assert puzzles.complaints(puzzles.collect()) == []
    assert sorted(puzzles.PUZZLES) == sorted(prove.PUZZLES)


def test_forty_questions_have_a_claim_a_cell_and_an_exercise():
    """At least forty, none asked twice, each answered by claims that a cell shows and asked again by an exercise."""
    asked = [question for question, _, _ in questions.every_question()]

    assert len(asked) == len(set(asked)) >= 40
    assert questions.complaints() == []


@pytest.mark.parametrize(
    "page, table", [(puzzles.TABLE, lambda: puzzles.table(puzzles.collect())), (questions.TABLE, questions.table)]
)
def test_the_tables_are_up_to_date(page, table):
    """What stands on disk is what `make puzzles` would write now."""
    assert page.read_text(encoding="utf-8") == table()


def test_what_is_missing_is_named(monkeypatch):
    """A puzzle without a cell or an exercise, a question without a claim or an exercise: a sentence each."""
    found = puzzles.collect()
    found[5] = ([], [])
    monkeypatch.setattr(questions, "QUESTIONS", {"": (("why", ("C99.1",), "99.1"),)})
    said = puzzles.complaints(found)

    assert "Puzzle 5: no cell of lesson 06 has the tag P5." in said
    assert any(sentence.startswith("Puzzle 5: no exercise names it.") for sentence in said)
    assert questions.complaints() == [
        "'why': there is no claim C99.1, or no cell shows it.",
        "'why': there is no exercise 99.1.",
    ]
