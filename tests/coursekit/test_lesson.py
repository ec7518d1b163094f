"""lesson.py: what a learner sees, call by call."""

import pytest

import course_lib
from coursekit.judge.exercise import correct, define
from coursekit.notebook.lesson import Lesson, lesson
from coursekit.notebook.progress import Progress
from tests.coursekit.exercise_samples import DOUBLE, SAVED, changed


@pytest.fixture
def path(tmp_path):
    return tmp_path / "course_progress.json"


@pytest.fixture
def L(path):
    return Lesson(98, [SAVED, DOUBLE], progress=Progress(path))


@pytest.fixture
def said(capsys):
    return lambda: capsys.readouterr().out


def right(torch=course_lib):
    return define(DOUBLE.solution, "double", torch, "a learner's cell")


def test_check_prints_the_outcome_and_returns_nothing(L, said):
    """The first line carries the outcome; nothing is returned, so that a cell shows nothing else."""
    assert repr(L) == "Lesson 98: 98.p1, 98.1" and L.check("98.1", right()) is None
    assert said() == "98.1   correct — You have shown that y = 2x has slope 2 everywhere.\n"


def test_an_untouched_notebook_leaves_no_trace(L, path, said):
    """Running all cells before doing anything prints the same text each time and writes no file."""
    L.predict("98.p1", None)
    L.check("98.1", define(DOUBLE.starter, "double", None))

    assert said() == (
        "98.p1  not attempted — write your prediction in place of None, then run this cell again. A wrong\n"
        "       guess teaches too.\n"
        '98.1   not attempted — change `double`, then run this cell again. L.hint("98.1") helps.\n'
    )
    assert not path.exists()


def test_the_first_prediction_is_kept(L, path, said):
    """A prediction is a commitment: later ones are judged too, but the first one is remembered."""
    L.predict("98.p1", {"three": 3})  # a slip of the pen, which has not the form of an answer
    said()
    L.predict("98.p1", [])
    L.predict("98.p1", ["_saved_self", "_saved_other"])

    lines = said().splitlines()
    assert lines[0] == "98.p1  almost — Then what would backward multiply with?"
    assert lines[1:3] == ["98.p1  correct — A product keeps both factors.", "       Your first prediction was []."]
    assert Progress(path).entry("98.p1")["first"] == "[]"


def test_hints_come_one_at_a_time(L, path, said):
    """Each call shows the next hint, in a new kernel too; after the last one, the last one again."""
    L.hint("98.1")
    Lesson(98, [DOUBLE], progress=Progress(path)).hint("98.1")
    L.hint("98.1")

    assert said() == (
        "98.1   hint 1 of 2 — Which operation gives twice a number?\n"
        "98.1   hint 2 of 2 — Addition is one, too.\n"
        '       That was the last one; L.solution("98.1") shows a solution.\n'
        "98.1   hint 2 of 2 — Addition is one, too.\n"
        '       That was the last one; L.solution("98.1") shows a solution.\n'
    )


def test_the_solution_is_code_and_why(L, said):
    """The code as it would be typed, and the reason."""
    L.solution("98.1")

    assert said() == (
        "98.1   a solution of “Twice”\n"
        "       def double(x):\n"
        "           return x * 2\n"
        "       One multiplication by a plain number.\n"
    )


def test_progress_is_a_small_table(L, said):
    """One line an exercise: outcome, tries, hints, and the first prediction."""
    L.predict("98.p1", [])
    L.hint("98.1")
    L.check("98.1", right())
    L.check("98.1", lambda x: x)
    said()
    L.progress()

    assert said() == (
        "Lesson 98: 1 of 2 correct\n"
        "  id     outcome             tries  hints  exercise\n"
        "  98.p1  almost                  1      0  What does a product keep?  (you first said [])\n"
        "  98.1   correct                 2      1  Twice\n"
    )


@pytest.mark.parametrize(
    "id",
    ["98.7", "7.1", "", 98.1, ["98.1"], object()],
    ids=["absent", "other lesson", "empty", "float", "list", "object"],
)
@pytest.mark.parametrize("method", ["check", "predict", "hint", "solution"])
def test_an_unknown_id_lists_the_ids(L, said, method, id):
    """A wrong id, of whatever type, gets a sentence with the ids of this lesson."""
    given = (id, 1) if method in ("check", "predict") else (id,)
    getattr(L, method)(*given)

    text = " ".join(said().split())
    assert text.startswith(f"L.{method}: there is no exercise ")
    assert text.endswith('in lesson 98. It has 98.p1, 98.1; write one in quotes, like "98.p1".')


def test_missing_arguments_get_a_sentence(L, said):
    """L.check() and L.check("98.1") say what is missing."""
    L.check()
    L.hint()
    L.check("98.1")

    lines = said().splitlines()
    assert lines[0].startswith("L.check: no id was given in lesson 98.")
    assert lines[1].startswith("L.hint: no id was given in lesson 98.")
    assert lines[2] == 'L.check: an answer is missing. Write it after the id: L.check("98.1", double).'


def test_a_damaged_progress_file_costs_one_sentence(path, said):
    """The check still works, and the broken file is kept."""
    path.write_text("{")
    Lesson(98, [DOUBLE], progress=Progress(path)).check("98.1", right())

    text = said()
    assert text.count("It is kept as course_progress.broken-1.json") == 1
    assert text.endswith("98.1   correct — You have shown that y = 2x has slope 2 everywhere.\n")


def test_a_failure_of_the_tool_itself_is_a_sentence(L, said, monkeypatch):
    """Whatever breaks inside, a lesson prints a sentence and goes on."""
    monkeypatch.setattr(L, "judge", lambda *_: 1 / 0)
    L.check("98.1", 1)

    text = said()
    assert text.startswith("L.check could not do this: ZeroDivisionError: division by zero.")
    assert 'L.hint("98.1")' in text


def test_the_engine_is_the_learners_own(path, real_torch):
    """A check of a function whose global `torch` is real torch gets real torch; an explicit module wins."""
    seen = []
    exercise = changed(DOUBLE, check=lambda answer, torch: seen.append(torch.__name__) or correct("seen"))
    L = Lesson(98, [exercise], progress=Progress(path))
    L.check("98.1", right())
    L.check("98.1", lambda x: x)
    L.check("98.1", right(real_torch))
    Lesson(98, [exercise], torch=course_lib, progress=Progress(path)).check("98.1", right(real_torch))

    assert seen == ["course_lib", "course_lib", "torch", "course_lib"]


@pytest.mark.parametrize("number", [99, "seven", None, -1])
def test_an_unknown_lesson_is_an_error_in_words(number):
    """lesson(99) lists the lessons that there are."""
    with pytest.raises(ValueError, match=r"no lesson of that number has exercises. There are: "):
        lesson(number)
