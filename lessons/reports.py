"""Helpers that several exercises of lesson 16 and its parts share."""

import contextlib
import gc

from coursekit.judge.exercise import not_yet
from lessons.shared import flat, near

STALE = "modified by an inplace operation"
SECOND = "second time"
NO_GRAPH = "does not require grad"
WORDS = ("raises", "silent", "cured")


def four_words(answer):
    """A reader of predictions about four answers of a thread: "raises", "silent" or "cured" for each.

    A dictionary may have the numbers 1 to 4 as its keys, also as texts, or the letters of earlier editions.
    """
    if isinstance(answer, dict) and len(answer) == 4:
        named = {str(key).strip().upper(): word for key, word in answer.items()}
        answer = next(([named[key] for key in keys] for keys in ("1234", "ABCD") if {*keys} == {*named}), None)
    if not isinstance(answer, (list, tuple)) or len(answer) != 4 or not all(isinstance(each, str) for each in answer):
        return None
    words = [each.strip().lower() for each in answer]
    strange = [each for each in words if each not in WORDS]
    return not_yet(f"Each word is one of: {', '.join(WORDS)}. {strange[0]!r} is none of them.") if strange else words


FOUR = 'A list of four words is wanted, such as ["raises", "silent", "cured", "silent"].'


def what_happens(run):
    """ "raises", or "cured" if run() gives True, or "silent"."""
    try:
        return "cured" if run() else "silent"
    except RuntimeError:
        return "raises"


@contextlib.contextmanager
def no_collector():
    """The garbage collector waits, so that a ring stays."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def values(parameters):
    """Copies of the numbers, in a list of lists."""
    return [flat(p) for p in parameters]


def alike_all(found, wanted, tolerance=1e-4):
    """Two lists of lists of numbers agree."""
    return all(near(a, b, tolerance) for a, b in zip(found, wanted, strict=True))


def fresh(torch, model, wide):
    """The model with other random numbers, between -wide/2 and wide/2."""
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.rand(tuple(p.shape)) * wide - wide / 2)
    return model


@contextlib.contextmanager
def errors_of_passes(torch):
    """A list of what was raised in Tensor.backward inside of the block, whether it comes out of it or not."""
    original, raised = torch.Tensor.backward, []

    def noting(*args, **options):
        try:
            return original(*args, **options)
        except RuntimeError as error:
            raised.append(str(error))
            raise

    torch.Tensor.backward = noting
    try:
        yield raised
    finally:
        torch.Tensor.backward = original
