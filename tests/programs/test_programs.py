"""Small programs, each run on real PyTorch and on course_lib: what they observe must be the same, to the word.

Each other file of this folder but kit.py holds the programs of one topic.
"""

import importlib
import warnings
from pathlib import Path

import pytest

import course_lib
from tests.programs import kit

HERE = Path(__file__).parent
TOPICS = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in ("__init__", "kit", "test_programs"))
PARTS = "nn nn.functional nn.init nn.utils optim optim.lr_scheduler utils utils.checkpoint utils.data".split()

PROGRAMS = kit.load(TOPICS, "programs")


@pytest.fixture(scope="module")
def libraries(real_torch):
    """PyTorch and course_lib with everything the programs use."""
    torch = real_torch
    for part in PARTS:
        importlib.import_module(f"torch.{part}")
        importlib.import_module(f"course_lib.{part}")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield torch, course_lib
    torch.set_num_threads(threads)
    for library in (torch, course_lib):
        library.set_warn_always(True)  # a program may have switched it off; all other tests rely on it


def test_there_are_programs_of_every_topic():
    """At least three programs in each file."""
    counts = {topic: sum(name.startswith(topic + "/") for name in PROGRAMS) for topic in TOPICS}

    assert len(TOPICS) > 15 and min(counts.values()) >= 3, counts


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, libraries):
    """The program observes the same on both libraries."""
    for library in libraries:
        library.set_warn_always(True)  # else a warning would be given to the first program only
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want, got = (kit.run(PROGRAMS[name], library) for library in libraries)

    assert kit.difference(want, got) is None, f"{name}{kit.difference(want, got)}"
    assert not (isinstance(want, list) and want[:1] == ["escaped"]), want
