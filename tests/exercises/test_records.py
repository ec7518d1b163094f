"""All exercises: what their records hold, and that the solution is correct. `make check` runs every recorded answer."""

from collections import Counter

import pytest

from course_lib.teach.practice import prove
from course_lib.teach.practice.exercise import CORRECT, define, judge
from course_lib.teach.practice.lesson import lesson_numbers

LESSONS = {number: prove.exercises_of(number) for number in lesson_numbers()}
EXERCISES = [(number, exercise) for number, lesson in LESSONS.items() for exercise in lesson]
each_exercise = pytest.mark.parametrize(
    ("number", "exercise"), EXERCISES, ids=[exercise.id for _, exercise in EXERCISES]
)
each_lesson = pytest.mark.parametrize("number", LESSONS, ids=[f"lesson {number:02d}" for number in LESSONS])


def said(complaints):
    return "\n".join(complaints)


def test_the_four_subjects_have_exercises():
    """Lessons 05, 06, 07 and 09 have at least four exercises each, with at least four wrong answers each."""
    for number in (5, 6, 7, 9):
        exercises = [exercise for exercise in LESSONS[number] if exercise.kind != "predict"]

        assert len(exercises) >= 4
        assert all(len(exercise.mistakes) >= 4 for exercise in exercises)


@each_exercise
def test_the_record_is_complete(number, exercise):
    """Id, kind, hints that do not solve, sentences that differ: nothing is missing."""
    assert said(prove.record_complaints(exercise, number)) == ""


@each_exercise
def test_the_solution_is_correct(number, exercise, torch):
    """The check says "correct" of the solution, on both libraries."""
    answer = define(exercise.solution, exercise.name, torch, exercise.id)

    assert judge(exercise, answer, torch).outcome == CORRECT


@each_lesson
def test_ids_are_unique_and_there_are_enough(number):
    """No two records share an id."""
    assert said(prove.lesson_complaints(number, LESSONS[number])) == ""


@each_lesson
def test_the_notebook_asks_what_the_records_hold(number):
    """Starters are equal to the records', each exercise is asked once, and no solution stands in the notebook."""
    cells = prove.read_notebook(prove.notebook_of(number))

    assert said(prove.notebook_complaints(LESSONS[number], cells)) == ""


def test_sentences_are_not_shared_between_exercises():
    """A wrong answer's sentence belongs to one exercise: nothing was copied and left unchanged."""
    sentences = Counter(mistake.says for _, exercise in EXERCISES for mistake in exercise.mistakes if mistake.says)

    assert [sentence for sentence, times in sentences.items() if times > 1] == []
