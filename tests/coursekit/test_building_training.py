"""`L.train()` and `L.defects()`: the learner's engine trains, and the learner's tests find what is planted."""

import importlib
import time
from pathlib import Path

import pytest

from coursekit.notebook.lesson import lesson
from coursekit.own_engine import checkpoints, defects, judge, stages, training
from coursekit.own_engine.mistakes import edited
from tests.coursekit import learners_tests

TESTS = Path(learners_tests.__file__).read_text(encoding="utf-8")


def trained(tmp_path, text):
    file = tmp_path / judge.NAME
    file.write_text(text, encoding="utf-8")
    return training.trained(file)


def found(tmp_path, text):
    file = tmp_path / defects.NAME
    file.write_text(text, encoding="utf-8")
    return defects.defects(file)


@pytest.mark.check
@pytest.mark.parametrize("number", [10, 13])
def test_the_learners_engine_trains_as_the_others_do(tmp_path, number):
    """The same losses to four places, all points on the right side; a table and a picture."""
    result, picture = trained(tmp_path, stages.stage(number))

    assert "correct" == result.outcome, result.render()
    assert "fell from 0.8735 to 0.0999" in result.text and "40 of 40" in result.text
    assert "  300        0.0999        0.0999" in str(picture)
    shown = picture._repr_mimebundle_()
    assert shown["text/plain"] == str(picture)
    assert "<svg" in picture.svg and "<img alt=" in shown["text/html"]


def test_without_matplotlib_there_is_the_table(tmp_path, monkeypatch):
    """What cannot be drawn is left out."""
    _, picture = trained(tmp_path, stages.stage(10))
    monkeypatch.setattr(training, "plotted", lambda courses: (_ for _ in ()).throw(ImportError()))

    assert "<img" not in picture.html and "0.0999" in picture.html


@pytest.mark.parametrize(
    "edits, outcome, words",
    [
        ((("p.sub_(p.grad * self.lr)", "p.add_(p.grad * self.lr)"),), "not yet", "in round 1 your engine"),
        ((("            p.grad = None\n", "            pass\n"),), "not yet", "the gradient of W1 differs: "),
        ((("else grad.sum(copied).reshape(shape)", "else grad"),), "not yet", "of b1 differs of shape (40, 8)"),
        ((("        while ready:\n", "        while True:\n            0\n"),), "error in your code", "in round 0"),
        ((("optim = SimpleNamespace(SGD=SGD)", ""),), "error in your code", "has no attribute 'optim'"),
    ],
)
def test_training_that_goes_wrong_says_where(tmp_path, monkeypatch, edits, outcome, words):
    """The round, the parameter, or the line; never a picture."""
    monkeypatch.setattr(training, "SECONDS", 0.5)
    began = time.monotonic()
    result, picture = trained(tmp_path, edited(stages.stage(10), edits))

    assert (outcome, None) == (result.outcome, picture)
    assert words in result.render()
    assert time.monotonic() - began < 20  # the others may have to train first


@pytest.mark.parametrize("name", ["course_lib", pytest.param("torch", marks=pytest.mark.check)])
def test_the_exemplary_tests_are_true_of_pytorch(name):
    """A test that finds a defect in the learner's engine is a test of PyTorch, too."""
    engine = pytest.importorskip(name)
    for test in vars(learners_tests).values():
        if getattr(test, "__name__", "").startswith("test"):
            test(engine)


@pytest.mark.parametrize("words, edits", defects.DEFECTS, ids=lambda each: each if isinstance(each, str) else "")
def test_a_defect_is_one_defect(words, edits):
    """The engine with it can be read and runs the first program; a checkpoint notices it, or a named mistake does."""
    text = edited(stages.stage(stages.LAST), edits)
    ours = importlib.import_module("course_lib")
    look = judge.Look()
    judge.look_at(text, stages.LAST, ours, {}, look)

    assert 0 not in look.differs or words == "of two gradients that meet, one is lost"
    assert look.differs or look.mistake
    assert checkpoints.programs().keys() != look.differs.keys()


def test_good_tests_find_every_defect(tmp_path):
    """Each of at least eight, and the table says which test found it."""
    result = found(tmp_path, TESTS)

    assert "correct" == result.outcome, result.render()
    assert 8 <= len(defects.DEFECTS) == len(result.details)
    assert "a view is not counted: test_a_view_tells_its_base" in result.render()


@pytest.mark.parametrize(
    "text, outcome, words",
    [
        ("", "not attempted", "def test_a_product(torch):"),
        ("import math\n", "not yet", "begins with test_"),
        ("def test_(:\n", "error in your code", "line 1 of my_tests.py"),
        ("exit()\n", "error in your code", "SystemExit"),
        ("def test_nothing(torch):\n    pass\n", "not yet", "so far — your tests find 0 of 14"),
        ("def test_a(torch):\n    pass\n\ndef second(torch):\n    pass\n", "not yet", "begin with test_: second."),
        ("def test_wrong(torch):\n    assert 1 == 2\n", "error in your code", "line 2 of my_tests.py:  assert 1 == 2"),
        ("def test_bare():\n    pass\n", "error in your code", "takes 0 positional arguments"),
        ("def test_long(torch):\n    while True:\n        pass\n", "error in your code", "had not ended after"),
        ("def test_loud(torch):\n    while True:\n        print('x' * 9999)\n", "error in your code", "had not ended"),
    ],
)
def test_whatever_the_tests_are_there_is_a_sentence(tmp_path, text, outcome, words):
    """Not attempted, wrong, endless: said, and soon."""
    began = time.monotonic()
    result = found(tmp_path, text)

    assert outcome == result.outcome
    assert words in result.render()
    assert time.monotonic() - began < 5


def test_a_test_that_ends_only_on_the_right_engine_costs_seconds(tmp_path, monkeypatch):
    """Fourteen engines on which a test never ends: time is up soon, and that is said."""
    monkeypatch.setattr(defects, "SECONDS", 1.0)
    text = "runs = []\n\n\ndef test_a(torch):\n    runs.append(1)\n    while len(runs) > 1:\n        pass\n"
    began = time.monotonic()
    result = found(tmp_path, text)

    assert "not yet" == result.outcome
    assert "Time was up" in result.render()
    assert time.monotonic() - began < 2.5


def test_the_lesson_tells_both(tmp_path, monkeypatch, capsys):
    """Without files: not attempted, and how to begin; no progress file is made."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    L = lesson(13)
    L.train()
    L.defects()
    first, second = capsys.readouterr().out.split("13.t")

    assert "10.t   not attempted" in first and "--catch-up 10" in first
    assert "not attempted" in second
    assert not (tmp_path / "progress.json").exists()
