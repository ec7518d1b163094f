"""The checkpoints of the learner's engine: one program for each lesson, which prints what PyTorch prints.

Each program is given the engine as `torch`, uses only names that PyTorch has, and only what the lessons up to its own
have added. Its docstring says what it shows. A lesson's file own_engine.py has all of it: the program `lesson_NN`,
NOW (what the engine can do after the lesson), often a `picture`, wrong engines (mistakes.py), other right ones (RIGHT).
"""

import contextlib
import functools
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from coursekit.judge.discovery import import_from_lessons
from coursekit.rooms import LESSONS

written = None  # while a program runs under `printing`: the texts that it has printed


@contextlib.contextmanager
def printing() -> Iterator:
    """Gather what the programs print. What an engine prints itself, to find a mistake, is not among it."""
    global written
    before, written = written, []
    try:
        yield written
    finally:
        written = before


def print(*words, end="\n") -> None:
    """Print a line of a program, for `printing` to gather."""
    written.append(" ".join(map(str, words)) + end)


@functools.cache
def pieces() -> dict[int, ModuleType]:
    """Load every lesson's own_engine.py, by the lesson's number."""
    folders = sorted(path.parent.name for path in LESSONS.glob("[0-9][0-9]_*/own_engine.py"))
    return {int(name[:2]): import_from_lessons(f"{name}.own_engine") for name in folders}


@functools.cache
def programs() -> dict[int, Callable[[Any], None]]:
    """Return the program of each checkpoint, by the lesson's number."""
    return {number: getattr(piece, f"lesson_{number:02d}") for number, piece in pieces().items()}


def picture(torch, lesson) -> tuple:
    """Return a result whose graph shows what the lesson has added, the names of its tensors, the program in words."""
    own = getattr(pieces()[lesson], "picture", None)
    if own is not None:
        return own(torch)
    x, mask = torch.tensor([1.0, -2.0], requires_grad=True), torch.tensor([3.0, 4.0])
    h = (x * mask).relu()
    return (h * h).mean(), {"x": x, "mask": mask, "h": h}, "h = (x * mask).relu();  y = (h * h).mean()"
