"""The mistakes that are often made in an engine of one's own: how each shows, what to say, an engine that makes it.

Each lesson's own_engine.py records its own with `mistake`; known() has all of them.

A mistake is recognised by what the engine does, whatever its lines look like: `seen(torch)` is a small program which
is True if the mistake is there. `edits` turn the reference into an engine that makes it, so that tests can prove the
sentence.
"""

import functools
import gc
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from coursekit.own_engine import checkpoints, stages


@dataclass(frozen=True)
class Mistake:
    """One plausible wrong engine."""

    lesson: int  # from this lesson on it is a mistake
    says: str
    seen: Callable[[Any], bool]
    edits: tuple[tuple[str, str], ...]  # pairs (old, new): each text stands once in the stage of that lesson
    first: bool = False  # to be asked before the programs run, since with it they would not end
    only: bool = False  # to be asked at its own lesson only: files that passed before it was recorded stay passed

    @property
    def name(self) -> str:
        return self.seen.__name__

    def engine(self) -> str:
        """Return the text of the engine that makes the mistake."""
        return edited(stages.stage(self.lesson), self.edits)


def edited(text, edits) -> str:
    """Return the text with each pair's old part, which stands in it once, replaced by the new one."""
    for old, new in edits:
        if text.count(old) != 1:
            raise ValueError(f"{old!r} stands {text.count(old)} times in the engine; an edit needs it once.")
        text = text.replace(old, new)
    return text


MISTAKES = []


def mistake(lesson, says, *edits, first=False, only=False) -> Callable:
    """Record the function below as the sign of a mistake."""

    def record(seen):
        MISTAKES.append(Mistake(lesson, " ".join(says.split()), seen, edits, first, only))
        return seen

    return record


@functools.cache
def known() -> list:
    """Return all mistakes that have a name, those of the last lesson first."""
    checkpoints.pieces()
    return sorted(MISTAKES, key=lambda each: -each.lesson)


def leaf(torch, value=2.0) -> object:
    return torch.tensor(value, requires_grad=True)


def raises(words, work) -> bool:
    """Tell whether the work raises a RuntimeError with these words."""
    try:
        work()
    except RuntimeError as error:
        return words in str(error)
    return False


def runs(work) -> bool:
    """Tell whether the work raises no RuntimeError at all."""
    return not raises("", work)


def in_a_ring(make) -> bool:
    """Tell whether the node of the tensor that `make` gives lives on without the tensor, until garbage is collected."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        result = make()
        look = weakref.ref(result.grad_fn)
        del result
        left = look() is not None
        gc.collect()
        return left and look() is None
    finally:
        if enabled:
            gc.enable()


def keeps(torch, compute) -> bool:
    """Tell whether the graph of what is computed from a result keeps that result alive."""
    h = leaf(torch) * leaf(torch)
    y, look = compute(h), weakref.ref(h)
    del h
    left = look() is not None
    del y
    gc.collect()
    return left and look() is None  # it was the graph that held it


def overwritten(torch) -> None:
    """backward after `h * h` has saved h and h was overwritten."""
    h = leaf(torch, [1.0, 2.0]) * 1.0
    y = (h * h).sum()
    h.mul_(10.0)
    y.backward()


def writes_to_a_new_array(torch) -> bool:
    """Tell whether `mul_` gives the tensor other memory, which a tensor that shared it does not see."""
    x = torch.tensor([1.0, 2.0])
    other = x.detach()
    x.mul_(3.0)
    return x.tolist() == [3.0, 6.0] and other.tolist() == [1.0, 2.0]
