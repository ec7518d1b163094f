"""Exercises of lesson 15 and its parts with words to choose from, and the lesson's two tensors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from coursekit.judge.exercise import correct, not_yet
from coursekit.judge.table import Table, judged_rows, tidy

FREED, DETACHED, CHANGED = "a second time", "detached in-place", "modified by an inplace operation"


def begin(torch):
    """A leaf and a result of it, as in the lesson."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return x, x * 1


def spelled(word):
    """A word without case, blanks and the marks that people put around names."""
    return tidy(word).replace("torch::autograd::", "").replace("()", "").replace(" ", "") if word else ""


def chosen(word, choices):
    """Find the choice that a word means, or None: case does not decide, and a file may be given with its folders."""
    word = spelled(word)
    return next((each for each in choices if word == spelled(each) or word.endswith("/" + spelled(each))), None)


@dataclass(frozen=True, kw_only=True)
class Words(Table):
    """An exercise: which of `choices` belongs to each row? `truth(torch)` says so, {row: word}, mostly by programs."""

    choices: tuple[str, ...]
    truth: Callable[[Any], dict[str, str]]
    ask: str  # what stands instead of each None
    shown: str

    def verdict(self, named, answer, torch):
        """Judge {row: word}: how many are right, and the sentence of the first wrong one."""
        if not isinstance(answer, dict) or any(not isinstance(answer.get(row), str) for row in self.right):
            return not_yet(f"Put {self.ask}, as text, instead of each None.")
        given = {row: chosen(answer[row], self.choices) for row in self.right}
        strange = [row for row, word in given.items() if word is None]
        if strange:
            return not_yet(f"For {', '.join(strange)}, choose one of: {', '.join(self.choices)}.")
        truth = self.truth(torch)
        wrong = [row for row, word in given.items() if word != truth[row]]
        names = {row: named[row, given[row]] for row in wrong if (row, given[row]) in named}
        return judged_rows(wrong, list(given), names, "are right") or correct(self.shown)
