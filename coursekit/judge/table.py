"""An answer in rows: a dictionary of which every entry is judged by itself, and the wrong ones are counted.

`WhichHappens` runs a program for each letter; `Diagnose` runs the program of each bug report with the cure that
was chosen. Their mistakes are given as rows, {letter: wrong entry}, and recognised by these.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from coursekit.judge.exercise import NOT_YET, Exercise, Verdict, almost, correct, not_yet

WORDS = ("fine", "raises now", "raises at backward", "silently wrong")


def tidy(said) -> object:
    """Read "Fine" and " fine " as they are meant; what is not text stays as it is."""
    return " ".join(said.lower().split()) if isinstance(said, str) else said


def judged_rows(wrong, rows, named, are_right) -> Verdict | None:
    """Return the verdict on a table of which the rows `wrong` are not right; None when there are none.

    named: {row: name of its mistake}. One wrong row is `almost` when its mistake has a name. Where there are several,
    their count comes first; and a table that is half wrong is not almost right, though it gets the sentence as well.
    """
    if not wrong:
        return None
    right = len(rows) - len(wrong)
    count = f"{right} of {len(rows)} {are_right.replace('are ', 'is ', 1) if right == 1 else are_right}. "
    look = next((row for row in wrong if row in named), wrong[0])
    if look not in named:
        return not_yet(f"{count}Look again at {look}.")
    verdict = almost(named[look], count if len(wrong) > 1 else "")
    return replace(verdict, outcome=NOT_YET) if 2 * len(wrong) > len(rows) else verdict


@dataclass(frozen=True, kw_only=True)
class Table(Exercise):
    """An exercise that asks for one word a row. A mistake holds its rows: {row: wrong word}, or {row: (words)}.

    The first word of a mistake is the recorded answer. The starter, the solution and further right answers are written
    from `right`.
    """

    right: dict[str, str]  # row: right word; what is right for the check is what its programs do
    starter: str = ""
    solution: str = ""
    alternatives: tuple[str, ...] = ()  # beside those that are written from `right`
    check: Callable[[Any, Any], Verdict] | None = None

    def __post_init__(self):
        """Make the check, and the source texts of all answers."""
        named = {(row, word): each.name for each in self.mistakes for row, word in rows_of(each.answer)}
        first = [replace(each, answer=self.source(dict(rows_of(each.answer)[:1]))) for each in self.mistakes]
        waiting = ", ".join(f'"{row}": None' for row in self.right)
        made = {
            "mistakes": tuple(first),
            "starter": self.starter or f"{self.name} = {{{waiting}}}",
            "solution": self.source({}),
            "alternatives": (*self.rewritten(), *self.alternatives),
            "check": functools.partial(self.verdict, named),
        }
        for field, value in made.items():
            object.__setattr__(self, field, value)

    def source(self, changed) -> str:
        """Return the source text of the right table, but for the rows in `changed`."""
        inside = ", ".join(f'"{row}": "{word}"' for row, word in {**self.right, **changed}.items())
        return f"{self.name} = {{{inside}}}"

    def rewritten(self) -> tuple:
        """Return the right table in other words: source texts."""
        turned = ", ".join(f"{row}={word!r}" for row, word in reversed(self.right.items()))
        return (f"{self.name} = dict({turned})",)


def rows_of(answer) -> list:
    """Return the (row, word) pairs that are this mistake."""
    pairs = [(row, words if isinstance(words, tuple) else (words,)) for row, words in answer.items()]
    return [(row, word) for row, words in pairs for word in words]


@dataclass(frozen=True, kw_only=True)
class WhichHappens(Table):
    """An exercise: which of WORDS does each program do? `measure(torch, letter)` runs it to find out (`happens`)."""

    kind: str = "which happens"
    name: str = "happens"
    measure: Callable[[Any, str], str]
    shown: str  # what a right table proves

    def rewritten(self) -> tuple:
        """Return the right table with capitals, too, and with blanks around them."""
        capitals = {row: word.capitalize() for row, word in self.right.items()}
        blanks = {row: f" {word} " for row, word in capitals.items()}
        return (*super().rewritten(), self.source(capitals), self.source(blanks))

    def verdict(self, named, answer, torch) -> Verdict:
        """Compare a learner's {letter: word} with what each program does."""
        if not isinstance(answer, dict):
            return not_yet("Keep the dictionary, and put one of the four phrases in the place of each None.")
        waiting = [letter for letter in self.right if answer.get(letter) is None]
        if waiting:
            return not_yet(f"There is no answer yet for {', '.join(waiting)}.")
        given = {letter: tidy(answer[letter]) for letter in self.right}
        strange = [letter for letter, said in given.items() if said not in WORDS]
        if strange:
            return not_yet(f"For {', '.join(strange)}, choose one of: {'; '.join(WORDS)}.")
        wrong = [letter for letter, said in given.items() if said != self.measure(torch, letter)]
        names = {letter: named[letter, given[letter]] for letter in wrong if (letter, given[letter]) in named}
        return judged_rows(wrong, list(given), names, "are right") or correct(self.shown)


def happens(steps, space, right, refused=RuntimeError) -> str:
    """Run statements in `space`, one after the other, and say which of WORDS it is.

    A statement with a backward pass in it raises "at backward", any other "now"; `right(space)` looks at the end.
    """
    for step in steps:
        try:
            exec(step, space)
        except refused:
            return "raises at backward" if ".backward(" in step or "autograd.grad(" in step else "raises now"
    return "fine" if right(space) else "silently wrong"


@dataclass(frozen=True, kw_only=True)
class Diagnose(Table):
    """An exercise: which of `choices` cures each bug report? Its program is run with the cure that was chosen."""

    kind: str = "diagnose"
    name: str = "cures"
    symptoms: dict[str, Callable[[Any, str], bool]]  # letter: symptom(torch, cure) is true while the report holds
    choices: tuple[str, ...]
    ask: str  # what stands in the place of each None
    read: Callable[[str], str] = tidy  # equal for all spellings of a choice

    def verdict(self, named, answer, torch) -> Verdict:
        """Judge a learner's {letter: cure} by running the program of each report with its cure."""
        if not isinstance(answer, dict) or any(not isinstance(answer.get(letter), str) for letter in self.right):
            return not_yet(f"Put {self.ask}, as text, in the place of each None.")
        spelled = {self.read(choice): choice for choice in self.choices}
        given = {letter: spelled.get(self.read(answer[letter])) for letter in self.right}
        strange = [letter for letter, cure in given.items() if cure is None]
        if strange:
            return not_yet(f"For {', '.join(strange)}, choose one of: {', '.join(self.choices)}.")
        wrong = [letter for letter, cure in given.items() if self.symptoms[letter](torch, cure)]
        names = {letter: named[letter, given[letter]] for letter in wrong if (letter, given[letter]) in named}
        shown = f"each report is gone with your cure: we ran all {len(given)} with it."
        return judged_rows(wrong, list(given), names, "reports are gone with your cure") or correct(shown)
