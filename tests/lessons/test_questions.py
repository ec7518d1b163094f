"""The table question -> claim, lesson cell, exercise: forty and more, in the words of search engines, up to date."""

import importlib.util
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "questions.py"


@pytest.fixture(scope="module")
def questions():
    """tools/questions.py as a module."""
    spec = importlib.util.spec_from_file_location("questions_tool", TOOL)
    module = importlib.util.module_from_spec(spec)
    sys.modules["questions_tool"] = module
    spec.loader.exec_module(module)
    return module


def test_forty_questions_have_a_claim_a_cell_and_an_exercise(questions):
    """At least forty, none asked twice, each answered by claims that a cell shows and asked again by an exercise."""
    asked = [question for question, _, _ in questions.every_question()]

    assert len(asked) == len(set(asked)) >= 40
    assert questions.complaints() == []


def test_the_table_of_questions_is_up_to_date(questions):
    """docs/questions.md is what `make puzzles` would write now."""
    assert questions.TABLE.read_text(encoding="utf-8") == questions.table()


def test_what_is_missing_is_named(questions, monkeypatch):
    """A claim or an exercise that does not exist gives a sentence."""
    monkeypatch.setattr(questions, "QUESTIONS", {"": (("why", ("C99.1",), "99.1"),)})

    assert questions.complaints() == [
        "'why': there is no claim C99.1, or no cell shows it.",
        "'why': there is no exercise 99.1.",
    ]
