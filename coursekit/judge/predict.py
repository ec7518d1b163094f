"""A prediction: an exercise whose answer is a value, compared with what the engine really does.

A wrong answer is recognised because it equals a recorded one, so each stands here once: as the value of its Mistake.
"""

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from coursekit.judge.exercise import Exercise, Verdict, almost, correct, not_yet


@dataclass(frozen=True, kw_only=True)
class Predict(Exercise):
    """An exercise that asks for a value. Its mistakes are given as values, not as source text.

    A mistake is recognised by its value, by one of the values in `also`, and after these by `when(value, truth)`.
    """

    kind: str = "predict"
    name: str = "answer"
    starter: str = "answer = None"
    check: Callable[[Any, Any], Verdict] | None = None  # made from the fields below
    read: Callable[[Any], Any]  # the answer in its plain form; None, or a Verdict that says why, when it has none
    truth: Callable[[Any], Any]  # truth(torch): the right value, found by running the program of the question
    wanted: str = ""  # said of an answer that `read` cannot read; without it, what is said of any other wrong answer
    shown: str  # said of a right answer
    otherwise: str | Callable[[Any, Any], str] = ""  # said of any other wrong answer: a text, or f(answer, truth)
    equal: Callable[[Any, Any], bool] = operator.eq

    def __post_init__(self):
        """Make the check, and from each wrong value the source text that a learner would have written."""
        named = [(each, [self.read(value) for value in values_of(each)]) for each in self.mistakes]
        sources = [replace(each, answer=source_of(self.name, each.answer)) for each in self.mistakes]
        object.__setattr__(self, "mistakes", tuple(sources))
        object.__setattr__(self, "check", functools.partial(verdict, self, named))


def verdict(exercise, named, answer, torch) -> Verdict:
    """Return the Verdict on one answer; named: pairs (mistake, its values as `read` gives them)."""
    value = exercise.read(answer)
    if value is None or isinstance(value, Verdict):
        return value or not_yet(exercise.wanted or exercise.otherwise)
    truth = exercise.truth(torch)
    if exercise.equal(value, truth):
        return correct(exercise.shown)
    for mistake, values in named:
        if any(exercise.equal(value, each) for each in values):
            return almost(mistake.name)
    for mistake, _ in named:
        if mistake.when is not None and mistake.when(value, truth):
            return almost(mistake.name)
    return not_yet(exercise.otherwise(answer, truth) if callable(exercise.otherwise) else exercise.otherwise)


def values_of(mistake) -> tuple:
    """Return all values that a mistake is recognised by; an answer that is source text is recognised by `when`."""
    return (() if is_source(mistake.answer) else (mistake.answer,)) + mistake.also


def is_source(value) -> bool:
    """Return True for source text, "answer = …", which stands for a value that cannot be written down without torch."""
    return isinstance(value, str) and " = " in value


def source_of(name, value) -> str:
    """Return the source text of an answer."""
    return value if is_source(value) else f"{name} = {value!r}\n"
