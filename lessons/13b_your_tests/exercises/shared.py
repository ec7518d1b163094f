"""Helpers that the exercises of part 13b share: the engine with a defect, and which tests notice it."""

from coursekit.judge.discovery import import_from_lessons
from coursekit.judge.exercise import error_text

stage = import_from_lessons("13b_your_tests.stage")
LOST, MEAN, SECOND, COPIED = stage.LOST, stage.MEAN, stage.SECOND, stage.COPIED


def noticed(defect, tests):
    """The names of the tests that pass on the finished engine and fail on the one with the defect."""
    right, broken = stage.engine(), stage.engine(defect)
    return {name for name, test in tests.items() if stage.passes(test, right) and not stage.passes(test, broken)}


def unfit(test):
    """Return what a test says of the finished engine, which has no defect; "" if it passes."""
    try:
        test(stage.engine())
    except Exception as error:
        said = "its assert does not hold" if type(error) is AssertionError else error_text(error)
        return f"On the engine without a defect: {said}."
    return ""
