"""The programs of part 13b: the finished engine of lesson 13, with a defect or without, and tests on it."""

from coursekit.own_engine import defects, judge
from coursekit.own_engine.mistakes import edited

LOST = "of two gradients that meet, one is lost"
MEAN = "the gradient of a mean is that of a sum"
COPIED = "broadcasting is not undone"
SECOND = "a second derivative leaves out a saved result"


def engine(defect=None):
    """The finished engine as a module of its own; with one of the defects that `L.defects()` plants."""
    source = defects.right_engine()
    return judge.load(edited(source, dict(defects.DEFECTS)[defect]) if defect else source)


def passes(test, torch):
    """Tell whether a test passes on an engine."""
    try:
        test(torch)
    except Exception:
        return False
    return True


def tried(torch, *tests):
    """Print which of the tests pass on an engine."""
    for test in tests:
        print(f"{test.__name__:22}", "passes" if passes(test, torch) else "FAILS")
