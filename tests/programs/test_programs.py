"""Small programs, run on course_lib: what they observe must be what PyTorch says, to the word.

Each other file of this folder but kit.py holds the programs of one topic. PyTorch's answers stand in recorded.json, a
line a program, so that this needs no PyTorch; where it is installed, each answer is made again and compared.

    python -m tests.programs.test_programs      writes recorded.json anew (a new program, or another PyTorch)
"""

import importlib
import json
import warnings
from pathlib import Path

import pytest

import course_lib
from tests.programs import kit

HERE = Path(__file__).parent
RECORD = HERE / "recorded.json"
TOPICS = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in ("__init__", "kit", "test_programs"))
PARTS = "nn nn.functional nn.init nn.utils optim optim.lr_scheduler utils utils.checkpoint utils.data".split()

PROGRAMS = kit.load(TOPICS, "programs")
RECORDED = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}


def ready(library):
    """A library with everything the programs use."""
    for part in PARTS:
        importlib.import_module(f"{library.__name__}.{part}")
    return library


@pytest.fixture(scope="module")
def ours():
    """Our engine; its warnings are given each time again afterwards, as all other tests rely on."""
    yield ready(course_lib)
    course_lib.set_warn_always(True)


@pytest.fixture(scope="module")
def torch(real_torch):
    """PyTorch on one thread."""
    threads = real_torch.get_num_threads()
    real_torch.set_num_threads(1)
    yield ready(real_torch)
    real_torch.set_num_threads(threads)
    real_torch.set_warn_always(True)


def answer(name, library):
    """What a program observes on a library."""
    library.set_warn_always(True)  # else a warning would be given to the first program only
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kit.run(PROGRAMS[name], library)


def test_there_are_programs_of_every_topic():
    """At least three programs in each file, and a recorded answer for each program and for nothing else."""
    counts = {topic: sum(name.startswith(topic + "/") for name in PROGRAMS) for topic in TOPICS}

    assert len(TOPICS) > 15 and min(counts.values()) >= 3, counts
    assert list(RECORDED) == sorted(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, ours):
    """The program observes on our engine what it observed on PyTorch."""
    want, got = RECORDED[name], answer(name, ours)

    assert kit.difference(want, got) is None, f"{name}{kit.difference(want, got)}"
    assert not (isinstance(want, list) and want[:1] == ["escaped"]), want


@pytest.mark.parametrize("name", PROGRAMS)
def test_record(name, torch):
    """PyTorch still says what was recorded."""
    want, got = RECORDED[name], answer(name, torch)

    assert kit.difference(want, got) is None, f"{name}{kit.difference(want, got)}\nPyTorch changed? Record it anew."


def main():
    """Write PyTorch's answers."""
    torch = ready(importlib.import_module("torch"))
    torch.set_num_threads(1)
    lines = [f"{json.dumps(name)}: {json.dumps(answer(name, torch))}" for name in sorted(PROGRAMS)]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{len(lines)} answers of PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
