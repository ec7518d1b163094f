"""The thread "Build your own engine": every stage, every checkpoint, every named mistake, and the judge."""

import contextlib
import dataclasses
import gc
import importlib
import os
import sys
import time

import numpy as np
import pytest

from backscope.pictures.draw import draw
from coursekit.notebook.lesson import lesson
from coursekit.own_engine import checkpoints, judge, proving, stages
from coursekit.own_engine.drawable import drawable, show_slots
from coursekit.own_engine.mistakes import edited, known
from tests.backscope.refusals import raises

LESSONS = range(stages.LAST + 1)


def judged(tmp_path, number, text):
    file = tmp_path / judge.NAME
    file.write_text(text, encoding="utf-8")
    return judge.judge(number, file)[:2]


@pytest.mark.parametrize("name", ["course_lib", pytest.param("torch", marks=pytest.mark.check)])
def test_our_engine_answers_every_program_as_pytorch_does(name, recwarn):
    """Where a checkpoint says "PyTorch prints", it is what PyTorch prints."""
    engine = pytest.importorskip(name)
    reference = judge.load(stages.stage(stages.LAST))
    for number, program in checkpoints.programs().items():
        assert judge.printed(program, reference).value == judge.printed(program, engine).value, f"lesson {number:02d}"


@pytest.mark.parametrize("number", LESSONS)
def test_each_stage_passes_its_checkpoint_and_all_before(number, tmp_path):
    """The file after lesson N is judged correct at lesson N, and can be drawn from the first node on."""
    result, picture = judged(tmp_path, number, stages.stage(number))

    assert "correct" == result.outcome, result.render()
    assert picture is not None


def test_the_stretch_passes_everything_and_its_own_program():
    """With writes through views the engine prints what PyTorch prints for them."""
    views = judge.load(stages.stage(stages.LAST, views=True))
    ours = importlib.import_module("course_lib")
    for program in [*checkpoints.programs().values(), checkpoints.pieces()[8].stretch_08]:
        assert judge.printed(program, ours).value == judge.printed(program, views).value, program.__doc__


def test_lesson_02_is_half_done_without_its_switch(tmp_path):
    """Steps 1 to 4 are told to be right, and drawn, before `no_grad` is there; what is amiss in them comes first."""
    cut = "def no_grad():\n    return set_grad_enabled(False)\n"
    half = edited(stages.stage(2), [(cut, ""), ("    with no_grad():\n        send(", "    if True:\n        send(")])
    result, picture = judged(tmp_path, 2, half)

    assert ("almost", judge.HALF) == (result.outcome, result.text)
    assert "saved b = 5" in picture.text and "[1] nothing" in picture.text
    for slip in (each for each in known() if each.lesson == 2 and "step" in each.says.lower()):
        other, nothing = judged(tmp_path, 2, edited(half, slip.edits))
        assert (slip.says, None) == (other.text, nothing)
    nameless = edited(half, [('return f"tensor(', 'return f"Tensor(')])
    assert "PyTorch prints:" in judged(tmp_path, 2, nameless)[0].details


def test_a_stage_has_no_marks_and_grows():
    """What a learner reads is plain Python, each stage longer than the one before."""
    texts = [stages.start(), *map(stages.stage, LESSONS)]

    assert not any(stages.MARK.search(line) for text in texts for line in text.splitlines())
    assert sorted(texts, key=len) == texts
    raises("no stage 14", lambda: stages.stage(14), ValueError)


def test_the_picture_shows_the_learners_own_slots():
    """A picture of the engine of lesson 07 says STALE, in the learner's names."""
    engine = drawable(judge.load(stages.stage(7)))
    result, names, words = checkpoints.picture(engine, 7)
    show_slots(engine, result)
    text = str(draw(result, names=names))

    assert "saved result = h: v0, now v1, STALE" in text
    assert "h.mul_(2)" in words


@pytest.mark.parametrize("number, saved", [(0, "saved b = w"), (3, "saved result = h"), (5, "saved a = x")])
def test_before_lesson_06_the_picture_shows_what_nodes_hold(tmp_path, number, saved):
    """In a dict of the node's, or in what its rule closes over; accumulators that are drawn as one are spoken of."""
    result, picture = judged(tmp_path, number, stages.stage(number))

    assert saved in str(picture)
    assert ("drawn as one" in result.render()) == (number == 0)


@pytest.mark.check
@pytest.mark.parametrize(
    "mistake", [each for each in known() if not each.only], ids=lambda each: f"{each.lesson:02d}-{each.name}"
)
def test_a_mistake_has_the_same_name_in_a_later_engine(mistake):
    """In the last stage where its text stands, no other sentence takes its place: each is true of its engine alone."""
    for number in range(stages.LAST, mistake.lesson, -1):
        with contextlib.suppress(ValueError):
            text, look = edited(stages.stage(number), mistake.edits), judge.Look()
            judge.ask(text, number, look, [each for each in known() if each.first] if mistake.first else known())
            assert mistake is look.mistake
            return


def test_a_checkpoint_that_is_not_good_enough_is_found(monkeypatch):
    """Too few mistakes, a sentence twice, a mistake that is not recognised, a right engine that is refused."""
    first, second, third = [each for each in known() if each.lesson == 9]
    blind = dataclasses.replace(third, says=first.says, seen=lambda torch: False)
    refused = ("another", "import nothing_of_this_name")
    monkeypatch.setattr(proving, "known", lambda: [first, blind])
    monkeypatch.setattr(judge, "known", lambda: [first, blind])
    monkeypatch.setattr(proving, "others", lambda number: [refused])
    ours = importlib.import_module("course_lib")
    said = "\n".join(proving.record_complaints(9) + proving.engine_complaints(9, ours))

    for words in ("names 2 wrong", "two mistakes say", "the wrong engine '<lambda>'", "a right engine (another) gets"):
        assert words in said


@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph")
@pytest.mark.parametrize("name", ["course_lib", pytest.param("torch", marks=pytest.mark.check)])
def test_no_right_engine_shows_a_mistake(name):
    """What is recognised as a mistake is none of PyTorch's, nor of our engine's. (Some need weak references.)"""
    engine = pytest.importorskip(name)
    for mistake in known():
        try:
            assert not mistake.seen(engine), mistake.name
        except TypeError as error:
            assert "weak reference" in str(error)


def test_without_a_file_or_with_the_given_one_nothing_was_attempted(tmp_path):
    """No file, an empty file and the file as it was given: not attempted, and what to do."""
    missing = judge.judge(5, tmp_path / "my_engine.py").result

    assert "not attempted" == missing.outcome
    assert "python3 course.py my-engine --catch-up 04" in missing.render()
    assert "not attempted" == judged(tmp_path, 5, "")[0].outcome
    assert "not attempted" == judged(tmp_path, 0, stages.start())[0].outcome


@pytest.mark.parametrize(
    "text, outcome, words",
    [
        ("def broken(:\n", "error in your code", "line 1 of my_engine.py"),
        ("import numpy as np\nprint(1 / 0)\n", "error in your code", "ZeroDivisionError"),
        ("while True:\n    pass\n", "error in your code", "still being read after 0.5 seconds"),
        ("exit()\n", "error in your code", "SystemExit"),
        ("x = 1\n", "not yet", "'my_engine' has no attribute"),
        ("\x00", "error in your code", "null bytes"),
        ("while True:\n    print('flood' * 1000)\n", "error in your code", "more characters, not shown"),
        ("while 1:\n    try:\n        1\n    except BaseException:\n        0\n", "error in your code", "after 0.5 s"),
        ("import dataclasses\n\n\n@dataclasses.dataclass\nclass Tensor:\n    array: float\n", "not yet", "'tensor'"),
        ("\ufeffx = 1\n", "not yet", "'my_engine' has no attribute"),
        (None, "error in your code", "still ran after"),
    ],
)
def test_whatever_the_file_holds_there_is_a_sentence(tmp_path, monkeypatch, text, outcome, words):
    """Syntax errors, endless loops, exit(): a sentence each time, soon, with the line where there is one."""
    monkeypatch.setattr(judge, "LOOK_SECONDS", 0.5)
    if text is None:
        text = stages.stage(4).replace("        while ready:\n", "        while True:\n            continue\n")
    began = time.monotonic()
    result, picture = judged(tmp_path, 4, text)

    assert (outcome, None) == (result.outcome, picture)
    assert words in result.render()
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("times, outcome", [(1, "correct"), (2, "not attempted")])
def test_a_busy_machine_is_tried_again_once(tmp_path, monkeypatch, times, outcome):
    """A right engine that did not get its time is looked at once more, and is never called wrong."""
    looks, look_at = [], judge.looked

    def looked(*args):
        looks.append(1)
        look, ran = look_at(*args)
        busy = judge.bounds.Ran(error=judge.bounds.TimeUp(), busy=True)
        return look, busy if len(looks) <= times else ran

    monkeypatch.setattr(judge, "looked", looked)
    result, _ = judged(tmp_path, 4, stages.stage(4))

    assert (outcome, 2) == (result.outcome, len(looks))
    assert ("your machine was busy" in result.text) is (outcome != "correct")


def test_an_engine_without_names_is_drawn(tmp_path):
    """Lesson 00 asks no accumulator for its name, so its picture does not either."""
    nameless = edited(stages.stage(0), [
        ("class AccumulateGrad(Node)", "class AccumulateGrad"),
        ('        super().__init__("AccumulateGrad", None, ())\n', "        self.next_functions = ()\n"),
    ])  # fmt: skip
    result, picture = judged(tmp_path, 0, nameless)

    assert "correct" == result.outcome and "AccumulateGrad" in str(picture)
    assert "picture" not in result.render()


def test_an_engine_of_another_build_is_judged_by_what_it_prints(tmp_path):
    """What differs is shown; a lesson that is missing is named."""
    text = stages.stage(4)
    late, _ = judged(tmp_path, 6, text.replace("import math", "import math\nimport json"))
    assert ("almost", "not_in_place") == (late.outcome, late.mistake)
    assert late.text.startswith("something from lesson 05 comes first: ")
    assert "--catch-up 05" in late.render()
    odd, _ = judged(tmp_path, 3, stages.stage(3).replace("g - g * result * result", "g").replace("g / b", "g * b"))
    assert "not yet" == odd.outcome
    assert "PyTorch prints:" in odd.details
    assert "3 of 11 lines differ." in odd.text
    assert "  line 6:  x.tanh() [0.42, 0.0707, 0.0099]" in odd.details
    assert "  line 6:  x.tanh() [1.0, 1.0, 1.0]" in odd.details and "relu" not in str(odd.details)


def test_what_was_not_touched_since_an_earlier_lesson_was_not_attempted(tmp_path):
    """The stage of an earlier lesson, and a learner's own file that passed one, are no attempt at the next lesson."""
    own = stages.stage(4).replace("numbers = count()", "numbers = count(7)")
    (tmp_path / "my_engine.py").write_text(own, encoding="utf-8")
    passed = judge.judge(4, tmp_path / "my_engine.py")
    (tmp_path / "my_engine.py").write_text("# a remark\n" + own, encoding="utf-8")
    next_one = judge.judge(5, tmp_path / "my_engine.py", passed={4: passed.digest})
    later = judge.judge(7, tmp_path / "my_engine.py", passed={4: passed.digest})

    assert "correct" == passed.result.outcome
    assert ("not attempted", "not attempted") == (next_one.result.outcome, later.result.outcome)
    assert "as it was after lesson 04. Write this lesson's lines" in next_one.result.text
    assert "Lesson 05 comes next" in later.result.text and "--catch-up 06" in later.result.render()
    assert "not attempted" == judged(tmp_path, 5, stages.stage(4))[0].outcome


def test_what_worked_and_is_broken_is_said_so(tmp_path):
    """A later line that spoils an earlier lesson: the sentence says which, and offers no way round."""
    file = tmp_path / "my_engine.py"
    file.write_text(stages.stage(5).replace("g.expand(shape) / math.prod(shape)", "g.expand(shape)"), encoding="utf-8")
    result = judge.judge(5, file, passed={3: "some file"}).result

    assert ("almost", "mean_is_sum") == (result.outcome, result.mistake)
    assert result.text.startswith("what lesson 03 asked for worked before, and does not now: ")
    assert "--catch-up" not in result.render()


def test_what_an_engine_prints_itself_does_not_count(tmp_path):
    """Prints that look for a mistake are shown, and change no verdict."""
    text = stages.stage(3).replace("def send(node, grad):\n", "def send(node, grad):\n    print('at', node.name())\n")
    result, _ = judged(tmp_path, 3, text)

    assert "correct" == result.outcome
    assert "at AccumulateGrad" in result.render()


def test_what_the_file_switches_is_switched_back(tmp_path, monkeypatch):
    """The working folder, garbage collection, NumPy's errors, the recursion limit; and the notebook's own module."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "my_engine", "the notebook's own")
    lines = ["import gc, os, sys", "gc.disable()", "os.chdir('/')", "np.seterr(all='raise')"]
    lines.append("sys.setrecursionlimit(9999)")

    def state():
        return os.getcwd(), gc.isenabled(), np.geterr(), sys.getrecursionlimit(), sys.modules["my_engine"]

    before = state()
    result, picture = judged(tmp_path, 3, stages.stage(3) + "\n".join(lines))

    assert "correct" == result.outcome and picture is not None
    assert before == state()


def test_an_error_that_stops_every_program_belongs_to_no_lesson(tmp_path):
    """Nothing is said of lessons that come first, nor of skipping them."""
    result, _ = judged(tmp_path, 4, stages.stage(4) + "\ntensor = 5\n")

    assert "not yet" == result.outcome
    assert result.text.startswith("the program of lesson 04 stops: TypeError")
    assert "--catch-up" not in result.render()


def test_the_lesson_prints_the_verdict_keeps_it_and_reads_the_file_again(tmp_path, monkeypatch, capsys):
    """`L.build` needs no restart after an edit, and progress remembers what was reached."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    shown = []
    monkeypatch.setattr("coursekit.notebook.lesson.show_picture", shown.append)
    L = lesson(7)
    L.build()
    (tmp_path / judge.NAME).write_text(stages.stage(6) + "forgotten\n", encoding="utf-8")
    L.build("07")
    L.build("seven")
    (tmp_path / judge.NAME).write_text(stages.stage(7), encoding="utf-8")
    L.build("07")
    first, second, third = capsys.readouterr().out.split("07.b")[1:]

    assert "not attempted" in first
    assert "error in your code" in second
    assert "no checkpoint is called 'seven'" in second
    assert "correct" in third
    assert L.kept.entry("07.b")["solved"] is True
    assert 2 == L.kept.entry("07.b")["tries"]
    assert 1 == len(shown)
    for _ in range(5):
        L.hint("7.b")
    L.solution("07.b")
    L.hint("07.b7")
    program, *more, lines = capsys.readouterr().out.split("07.b  ")[1:]
    assert "       def lesson_07(torch):" in program and "hint 1 of 4" in program
    assert ["hint 2 of 4", "hint 3 of 4", "hint 4 of 4", "hint 4 of 4"] == [each.strip()[:11] for each in more]
    assert "       +class Version:" in lines and "there is no exercise '07.b7'" in lines
    L.progress()
    assert "  07.b   correct" in capsys.readouterr().out


def test_an_engine_that_cannot_be_drawn_is_correct_all_the_same(tmp_path):
    """The instruments ask for names that a checkpoint does not: without them there is no picture."""
    text = stages.stage(1)
    for old in ("class Node:", " Node(", "=Node(", "(Node)"):
        text = text.replace(old, old.replace("Node", "Vertex"))
    result, picture = judged(tmp_path, 1, text)

    assert "correct" == result.outcome
    assert picture is None
    assert "(No picture: drawing your graph asks your engine for more" in result.render()


def test_in_a_browser_a_cell_writes_the_engine(tmp_path, monkeypatch, capsys):
    """There is no terminal: `write` does what `course.py my-engine` does, and keeps what was there."""
    monkeypatch.chdir(tmp_path)
    stages.write()
    stages.write(3)
    (tmp_path / judge.NAME).write_text("mine", encoding="utf-8")
    stages.write(5)

    assert (tmp_path / judge.NAME).read_text(encoding="utf-8") == stages.stage(5)
    assert (tmp_path / "my_engine.kept-1.py").read_text(encoding="utf-8") == "mine"
    assert capsys.readouterr().out.splitlines() == [
        "my_engine.py is now the beginning of your engine.",
        "my_engine.py is now the engine as it is after lesson 03.",
        "my_engine.py is now the engine as it is after lesson 05. What you had is my_engine.kept-1.py.",
    ]
