"""The backward pass has one careful loop, which tells the story, and a fast one: they give the same, to the last digit.

Programs of other files are run twice on our engine: as they are, and with every pass sent through the careful loop.
"""

import warnings
from pathlib import Path

import numpy as np
import pytest

import course_lib
from course_lib.engine import backward
from tests.programs import kit

PROGRAMS = Path(__file__).parents[1] / "programs"
TOPICS = ["engine", "hooks", "passes", "functions", "saved", "views", "double", "modules", "optim"]

KIT = kit
FOUND = KIT.load(TOPICS, "twice")


@pytest.fixture
def careful(monkeypatch):
    """From here on no pass is plain, and the fast loop is not entered."""

    class Careful(backward.GraphTask):
        __slots__ = ()
        use_fast_path = property(lambda task: False, lambda task, value: None)

    def switch():
        monkeypatch.setattr(backward, "GraphTask", Careful)
        monkeypatch.setattr(backward, "evaluate_fast", None)

    return switch


@pytest.mark.parametrize("name", FOUND)
def test_both_loops_observe_the_same(name, careful):
    """Values, gradients, order of hooks, what is released, errors: everything that a program looks at."""
    observed = []
    for prepare in (lambda: None, careful):
        prepare()
        course_lib.set_warn_always(True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            observed.append(KIT.run(FOUND[name], course_lib))

    assert KIT.difference(*observed) is None, KIT.difference(*observed)


def test_sums_of_many_gradients_are_the_same_to_the_last_digit(careful):
    """The fast loop adds in place where the careful one makes a new array each time."""
    values = np.random.default_rng(3).normal(size=(40, 300)).astype(np.float32)

    def gradient():
        x = course_lib.from_numpy(values[0].copy()).requires_grad_()
        h = x * 1
        total = sum((h * course_lib.from_numpy(row)).sum() for row in values)
        total.backward()
        return x.grad.numpy().tobytes()

    fast = gradient()
    careful()

    assert gradient() == fast
