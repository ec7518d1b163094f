"""tools/check_mutants.py: a property that is taken out of a check is missed by the proof."""

import ast

import pytest

import course_lib
from coursekit.judge import prove
from tools.check_mutants import exercise_results, exercise_without, is_used, lesson_results, properties

pytestmark = pytest.mark.ci  # belongs to tools/check_mutants.py

SAMPLE = """
from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet


def check(answer, torch):
    if answer == 2:
        return almost("two")
    if answer == 5:
        return not_yet("Not five.")
    return correct("three") if answer == 3 else not_yet("Another number.")


EXERCISE = Exercise(
    id="98.p1", kind="predict", title="Three", question="1 + 2?", minutes=1, difficulty=1, name="answer",
    starter="answer = None", hints=(), solution="answer = 3", why="", alternatives=("answer = 3.0",),
    mistakes=(Mistake("two", "One too few.", "answer = 2"),), check=check,
)
"""


def test_a_property_is_taken_out_and_missed():
    """Without the `if` that a recorded answer needs the proof complains; one that no answer needs is nobody's."""
    tree = ast.parse(SAMPLE)
    found = properties(tree)
    assert [ast.unparse(node.test) for _, node in found] == ["answer == 2", "answer == 5"]

    noticed = []
    for function, node in found:
        exercise = exercise_without(tree, "sample", node)
        assert is_used(tree, function, exercise)
        noticed.append(bool(prove.exercise_complaints(exercise, course_lib)))

    assert noticed == [True, False]
    assert [ast.unparse(node.test) for _, node in found] == ["answer == 2", "answer == 5"], "put back afterwards"


def test_the_files_of_a_lesson_are_found(tmp_path):
    """A file with an exercise has results and says what nobody misses; the lessons' own files have some."""
    (tmp_path / "sample.py").write_text(SAMPLE, encoding="utf-8")
    said = []

    assert [seen for _, _, seen in exercise_results(tmp_path / "sample.py", said.append)] == [True, False]
    assert said == ["  98.p1  line    8  nobody misses  if answer == 5"]
    assert {id for id, _, _ in lesson_results(17, said.append)} == {"17.1", "17.3", "17.4"}
