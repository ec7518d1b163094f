"""All exercises together. `make check` proves each of them: its record, every recorded answer, its notebook."""

from collections import Counter

from coursekit.judge import prove
from coursekit.judge.discovery import lesson_numbers

LESSONS = {number: prove.exercises_of(number) for number in lesson_numbers()}


def test_the_four_subjects_have_exercises():
    """Lessons 05, 06, 07 and 09, each with its part, have four exercises or more, with four wrong answers or more."""
    for number in ("05", "06", "07", "09"):
        records = LESSONS[number] + LESSONS.get(number + "b", [])
        exercises = [exercise for exercise in records if exercise.kind != "predict"]

        assert len(exercises) >= 4
        assert all(len(exercise.mistakes) >= 4 for exercise in exercises)


def test_sentences_are_not_shared_between_exercises():
    """A wrong answer's sentence belongs to one exercise: nothing was copied and left unchanged."""
    exercises = [exercise for lesson in LESSONS.values() for exercise in lesson]
    sentences = Counter(mistake.says for exercise in exercises for mistake in exercise.mistakes if mistake.says)

    assert [sentence for sentence, times in sentences.items() if times > 1] == []
