"""Numbers of 0.9.0 and those that the same exercises, predictions and claims have now: lessons/moved.toml."""

import functools
import tomllib

from coursekit.rooms import LESSONS


@functools.cache
def moved():
    """{old number: new number}; "" for what there is no longer."""
    return tomllib.loads((LESSONS / "moved.toml").read_text(encoding="utf-8"))["moved"]


def new_number(old):
    """What an exercise, a prediction or a claim of 0.9.0 is called now."""
    return moved().get(old, old)


def carried_over(entries):
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
