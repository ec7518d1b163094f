"""tools/check_mutants.py: a property that is taken out of a check is missed by the proof."""

import ast
import sys
from pathlib import Path

import course_lib
from course_lib.teach.practice import prove

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from check_mutants import properties, records_without, users  # noqa: E402

SAMPLE = """
from course_lib.teach.practice.exercise import Exercise, Mistake, almost, correct, not_yet


def check(answer, torch):
    if answer == 2:
        return almost("two")
    if answer == 5:
        return not_yet("Not five.")
    return correct("three") if answer == 3 else not_yet("Another number.")


EXERCISES = [Exercise(
    id="98.p1", kind="predict", title="Three", question="1 + 2?", minutes=1, difficulty=1, name="answer",
    starter="answer = None", hints=(), solution="answer = 3", why="", alternatives=("answer = 3.0",),
    mistakes=(Mistake("two", "One too few.", "answer = 2"),), check=check,
)]
"""


def test_a_property_is_taken_out_and_missed():
    """Without the `if` that a recorded answer needs the proof complains; one that no answer needs is nobody's."""
    tree = ast.parse(SAMPLE)
    found = properties(tree)
    assert [ast.unparse(node.test) for _, node in found] == ["answer == 2", "answer == 5"]

    noticed = []
    for function, node in found:
        records = records_without(tree, "sample", node)
        assert users(tree, function, records) == ["98.p1"]
        noticed.append(bool(prove.exercise_complaints(records["98.p1"], course_lib)))

    assert noticed == [True, False]
    assert [ast.unparse(node.test) for _, node in found] == ["answer == 2", "answer == 5"], "put back afterwards"
