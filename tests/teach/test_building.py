"""The thread "Build your own engine": every stage, every checkpoint, every named mistake, and the judge."""

import importlib
import time
import types

import pytest

from course_lib.teach.building import checkpoints, judge, stages
from course_lib.teach.building.drawable import drawable
from course_lib.teach.building.mistakes import MISTAKES
from course_lib.teach.pictures.draw import draw
from course_lib.teach.practice.lesson import lesson

LESSONS = range(stages.LAST + 1)


def wrong(mistake):
    """The text of an engine that makes the mistake."""
    text = stages.stage(mistake.lesson)
    for old, new in mistake.edits:
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in stage {mistake.lesson:02d}"
        text = text.replace(old, new)
    return text


def judged(tmp_path, number, text):
    file = tmp_path / judge.NAME
    file.write_text(text, encoding="utf-8")
    return judge.judge(number, file)


# --- the reference ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["course_lib", "torch"])
def test_our_engine_answers_every_program_as_pytorch_does(name, recwarn):
    """Where a checkpoint says "PyTorch prints", it is what PyTorch prints."""
    engine = pytest.importorskip(name)
    reference = judge.load(stages.stage(stages.LAST))
    for number, program in checkpoints.PROGRAMS.items():
        assert judge.printed(program, reference).value == judge.printed(program, engine).value, f"lesson {number:02d}"


@pytest.mark.parametrize("number", LESSONS)
def test_each_stage_passes_its_checkpoint_and_all_before(number, tmp_path):
    """The file after lesson N is judged correct at lesson N, and can be drawn from the first node on."""
    result, picture = judged(tmp_path, number, stages.stage(number))

    assert "correct" == result.outcome, result.render()
    assert (picture is not None) == (number > 0)


def test_the_stretch_passes_everything_and_its_own_program():
    """With writes through views the engine prints what PyTorch prints for them."""
    views = judge.load(stages.stage(stages.LAST, views=True))
    ours = importlib.import_module("course_lib")
    for program in [*checkpoints.PROGRAMS.values(), checkpoints.stretch_08]:
        assert judge.printed(program, ours).value == judge.printed(program, views).value, program.__doc__


def test_a_stage_has_no_marks_and_grows():
    """What a learner reads is plain Python, each stage longer than the one before."""
    texts = [stages.start(), *map(stages.stage, LESSONS)]

    assert not any(stages.MARK.search(line) for text in texts for line in text.splitlines())
    assert sorted(texts, key=len) == texts
    with pytest.raises(ValueError, match="no stage 14"):
        stages.stage(14)


def test_the_picture_shows_the_learners_own_slots():
    """A picture of the engine of lesson 07 says STALE, in the learner's names."""
    engine = judge.load(stages.stage(7))
    result, names = checkpoints.picture(engine, 7)
    text = str(draw(result, names=names) if drawable(engine) else None)

    assert "saved result = h: v0, now v1, STALE" in text


# --- mistakes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda each: f"{each.lesson:02d}-{each.seen.__name__}")
def test_a_mistake_is_recognised(mistake):
    """An engine that makes the mistake shows it, and none of an earlier place in the list."""
    assert mistake is judge.mistake_in(wrong(mistake), mistake.lesson)


def test_a_mistake_gets_its_own_sentence(tmp_path):
    """It goes before the difference in what is printed, and stands even where nothing printed differs."""
    for name in ("no_clone", "ring"):
        (mistake,) = (each for each in MISTAKES if each.seen.__name__ == name)
        result, picture = judged(tmp_path, mistake.lesson, wrong(mistake))

        assert ("almost", mistake.says, None) == (result.outcome, result.text, picture)


@pytest.mark.parametrize("name", ["course_lib", "torch"])
def test_no_right_engine_shows_a_mistake(name):
    """What is recognised as a mistake is none of PyTorch's, nor of our engine's. (Some need weak references.)"""
    engine = pytest.importorskip(name)
    for mistake in MISTAKES:
        try:
            assert not mistake.seen(engine), mistake.seen.__name__
        except TypeError as error:
            assert "weak reference" in str(error)


def test_every_lesson_knows_three_mistakes():
    """Each sentence is there once, and each checkpoint knows at least three of them."""
    assert len({each.says for each in MISTAKES}) == len(MISTAKES)
    for number in LESSONS:
        assert 3 <= sum(each.lesson == number for each in MISTAKES), number


# --- the judge -------------------------------------------------------------------------------------------


def test_without_a_file_or_with_the_given_one_nothing_was_attempted(tmp_path):
    """No file, an empty file and the file as it was given: not attempted, and what to do."""
    missing, _ = judge.judge(5, tmp_path / "my_engine.py")

    assert "not attempted" == missing.outcome
    assert "python3 course.py my-engine --catch-up 04" in missing.render()
    assert "not attempted" == judged(tmp_path, 5, "")[0].outcome
    assert "not attempted" == judged(tmp_path, 0, stages.start())[0].outcome


@pytest.mark.parametrize(
    "text, outcome, words",
    [
        ("def broken(:\n", "error in your code", "line 1 of my_engine.py"),
        ("import numpy as np\nprint(1 / 0)\n", "error in your code", "ZeroDivisionError"),
        ("while True:\n    pass\n", "error in your code", "never ends"),
        ("exit()\n", "error in your code", "SystemExit"),
        ("x = 1\n", "error in your code", "has no attribute 'tensor'"),
        ("\x00", "error in your code", "null bytes"),
        (None, "error in your code", "still ran after"),
    ],
)
def test_whatever_the_file_holds_there_is_a_sentence(tmp_path, monkeypatch, text, outcome, words):
    """Syntax errors, endless loops, exit(): a sentence each time, soon, with the line where there is one."""
    monkeypatch.setattr(judge.bounds, "SECONDS", 0.5)
    monkeypatch.setattr(judge.bounds.run, "__defaults__", ((), 0.5))
    if text is None:
        text = stages.stage(4).replace("        while ready:\n", "        while True:\n            continue\n")
    began = time.monotonic()
    result, picture = judged(tmp_path, 4, text)

    assert (outcome, None) == (result.outcome, picture)
    assert words in result.render()
    assert time.monotonic() - began < 5


def test_an_engine_of_another_build_is_judged_by_what_it_prints(tmp_path):
    """A heap in place of a sorted list, and closures in place of names: correct, and what differs is shown."""
    text = stages.stage(4)
    heap = text.replace("import math\n", "import heapq\nimport math\n").replace(
        "            ready.sort(key=lambda node: node.number)\n            node = ready.pop()",
        "            ready.sort(key=lambda node: -node.number)\n            node = ready.pop(0)",
    )
    other = text.replace("lambda g, result: g * (result > 0)", "lambda g, a: g * (a > 0)")

    assert "correct" == judged(tmp_path, 4, heap)[0].outcome
    assert "correct" == judged(tmp_path, 4, other)[0].outcome
    late, _ = judged(tmp_path, 6, text)
    assert ("almost", "never_released") == (late.outcome, late.mistake)
    odd, _ = judged(tmp_path, 3, stages.stage(3).replace("g - g * result * result", "g").replace("g / b", "g * b"))
    assert "not yet" == odd.outcome
    assert "PyTorch prints:" in odd.details


def test_the_lesson_prints_the_verdict_keeps_it_and_reads_the_file_again(tmp_path, monkeypatch, capsys):
    """`L.build` needs no restart after an edit, and progress remembers what was reached."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    shown = []
    monkeypatch.setattr("course_lib.teach.practice.lesson.show_picture", shown.append)
    L = lesson(7)
    L.build()
    (tmp_path / judge.NAME).write_text(stages.stage(6), encoding="utf-8")
    L.build("07")
    (tmp_path / judge.NAME).write_text(stages.stage(7), encoding="utf-8")
    L.build("07")
    first, second, third = capsys.readouterr().out.split("07.b")[1:]

    assert "not attempted" in first
    assert "error in your code" in second
    assert "correct" in third
    assert L.kept.entry("07.b")["solved"] is True
    assert 2 == L.kept.entry("07.b")["tries"]
    assert 1 == len(shown)


def test_an_engine_that_cannot_be_drawn_is_correct_all_the_same(tmp_path):
    """The instruments ask for names that a checkpoint does not: without them there is no picture."""
    text = stages.stage(1).replace("self.number = next(numbers)", "self.count = next(numbers)")
    result, picture = judged(tmp_path, 1, text)

    assert "correct" == result.outcome
    assert picture is None


def test_modules_are_fresh():
    """Two loads share nothing: what a program switched off stays off in its own engine only."""
    first, second = judge.load(stages.stage(2)), judge.load(stages.stage(2))
    first.recording = False

    assert isinstance(first, types.ModuleType)
    assert second.recording
