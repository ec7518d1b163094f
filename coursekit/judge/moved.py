"""Numbers of 0.9.0 and those that the same exercises, predictions and claims have now: lessons/moved.toml."""

import copy
import functools
import tomllib

from coursekit.judge.discovery import by_number, exercises_module
from coursekit.rooms import LESSONS


@functools.cache
def moved() -> dict:
    """Return {old number: new number}; "" for what there is no longer."""
    return tomllib.loads((LESSONS / "moved.toml").read_text(encoding="utf-8"))["moved"]


def new_number(old) -> str | None:
    """Return what an exercise, a prediction or a claim of 0.9.0 is called now."""
    return moved().get(old, old)


def carried_over(entries) -> dict:
    """Progress by the numbers of 0.9.0, by those of today. What is gone keeps its old number and says of which course.

    Where two exercises have become one, it is solved if one of them was.
    """
    found = {}
    for old, entry in entries.items():
        new = new_number(old) or f"{old} of 0.9.0"
        other = found.get(new, {})
        found[new] = {**entry, **other}
        if entry.get("solved") is True:
            found[new]["solved"] = True
    return found


def records_before(lesson) -> list:
    """Return the exercises that a lesson had in 0.9.0, by their numbers of then, wherever they stand today."""
    old = {new: old for old, new in moved().items() if new and old.startswith(f"{lesson}.")}
    lessons = sorted({lesson, *(new.partition(".")[0] for new in old)})
    found = []
    for record in (record for each in lessons for record in exercises_module(each).EXERCISES):
        id = old.get(record.id, record.id)
        if record.id in old or record.id.startswith(f"{lesson}.") and id not in moved():  # all but what is new
            found.append(copy.copy(record))
            object.__setattr__(found[-1], "id", id)  # frozen, and made anew it would read its mistakes again
    return sorted(found, key=lambda record: by_number(record.id))


class ProgressBefore:
    """A learner's progress for a notebook of 0.9.0: asked by the numbers of then, kept under those of today."""

    def __init__(self, kept):
        self.kept = kept

    def entry(self, id) -> dict:
        """Return what is known about an exercise."""
        return self.kept.entry(new_number(id))

    def change(self, id, change) -> dict:
        """Give `change` the newest entry and write it. Returns the entry."""
        return self.kept.change(new_number(id), change)
