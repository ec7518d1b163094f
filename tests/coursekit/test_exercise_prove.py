"""prove.py: a wrong record, check or notebook does not get through."""

import importlib
import itertools
import json

import pytest

from coursekit.judge import prove
from coursekit.judge.exercise import Mistake, almost, correct, not_yet
from tests.coursekit.exercise_samples import DOUBLE, NOTEBOOK, SAVED, changed, check_double

OURS = importlib.import_module("course_lib")


def proved(**fields):
    """What the prover says about the sample exercise with some fields changed, on our engine."""
    return prove.exercise_complaints(changed(DOUBLE, **fields), OURS)


def recorded(exercise=DOUBLE, **fields):
    return prove.record_complaints(changed(exercise, **fields), 98)


def test_good_records_pass():
    """The samples have nothing wrong."""
    assert recorded(DOUBLE) == recorded(SAVED) == []
    assert proved() == prove.exercise_complaints(SAVED, OURS) == []


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"id": "97.1"}, "id should look like 98.1"),
        ({"id": "98.1a"}, "id should look like 98.1"),
        ({"kind": "riddle"}, "kind 'riddle' is unknown"),
        ({"kind": "predict"}, "belong together"),
        ({"id": "98.p1"}, "belong together"),
        ({"title": " "}, "title is empty"),
        ({"question": ""}, "question is empty"),
        ({"why": ""}, "why is empty"),
        ({"minutes": 0}, "minutes is 0"),
        ({"difficulty": 4}, "difficulty is 4"),
        ({"puzzles": (27,)}, "puzzles [27] do not exist"),
        ({"mistakes": DOUBLE.mistakes[:3]}, "it has 3 mistakes; write at least 4"),
        ({"hints": ("One.",)}, "it has 1 hints; write at least 2"),
        ({"hints": "Only one."}, "a comma makes it a tuple"),
        ({"alternatives": ()}, "it has 0 alternatives; write at least 1"),
        ({"alternatives": "def double(x): ..."}, "a comma makes it a tuple"),
        (
            {"mistakes": (*DOUBLE.mistakes, Mistake("unchanged", "Something else.", "double = 1\n"))},
            "two mistakes are called 'unchanged'",
        ),
        (
            {"mistakes": (*DOUBLE.mistakes, Mistake("new", "That is  x itself.", "double = 1\n"))},
            "2 mistakes say “That is x itself.”",
        ),
        ({"hints": ("Think.", "Try `return x*2` perhaps.")}, "gives away “return x * 2”"),
    ],
)
def test_each_fault_of_a_record_is_found(fields, part):
    """One fault, one sentence that says what to do."""
    said = recorded(**fields)

    assert len(said) == 1
    assert part in said[0]


def careless(answer, torch):
    """The most dangerous fault: it says correct to everything that is twice x at one point."""
    y = answer(torch.tensor([2.0], requires_grad=True))
    return correct("Twice.") if y.tolist() == [4.0] else check_double(answer, torch)


def picky(answer, torch):
    """It asks for the node's name, and so refuses another right answer."""
    y = answer(torch.tensor([2.0], requires_grad=True))
    return not_yet("A product is wanted.") if "Add" in type(y.grad_fn).__name__ else check_double(answer, torch)


def mixed(answer, torch):
    """It takes one mistake for another."""
    verdict = check_double(answer, torch)
    return almost("unchanged") if verdict.text == "squared" else verdict


NUMBERS = itertools.count()


def varying(answer, torch):
    """Its text differs each time, and printed texts are compared with the committed notebook."""
    verdict = check_double(answer, torch)
    return correct(f"Time {next(NUMBERS)}.") if verdict.outcome == "correct" else verdict


@pytest.mark.parametrize(
    "check, count, said",
    [
        (careless, 2, "the wrong answer 'squared' gets “correct — Twice.”"),
        (careless, 2, "the wrong answer 'cut off' gets “correct — Twice.”"),
        (lambda answer, torch: correct("Yes."), None, "a function that does nothing counts as correct"),
        (picky, 1, "the alternative 1 gets “not yet — A product is wanted."),
        (mixed, 1, "the wrong answer 'squared' is taken for 'unchanged'."),
        (lambda answer, torch: None, None, "gave no verdict"),
        (lambda answer, torch: answer.nowhere, None, "the solution gets “not yet"),
        (varying, 1, "the solution gets a different text the second time; a printed text may not vary."),
    ],
)
def test_each_fault_of_a_check_is_found(check, count, said):
    """A check that accepts, refuses or confuses what it should not, crashes, or says something else each time."""
    found = proved(check=check)

    assert any(said in sentence for sentence in found)
    assert count in (None, len(found))


def test_a_starter_that_is_an_attempt_is_found():
    """A notebook that nobody touched must not be judged."""
    mistaken = "def double(x):\n    return x * 1\n"
    assert proved(starter=mistaken)[0].startswith("the wrong answer 'unchanged' gets “not attempted")
    assert proved(starter="double = nowhere\n")[0].startswith("the starter cannot be run: NameError")


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("def double(x)\n", "SyntaxError"),
        ("twice = 2\n", "does not define `double`"),
        ("import nowhere_at_all\n", "No module named"),
        ("while True:\n    pass\n", "TimeUp"),
    ],
)
def test_a_source_that_cannot_be_run_is_found(source, part, monkeypatch):
    """Solutions and wrong answers are programs; each must run."""
    monkeypatch.setattr(prove.bounds.run, "__defaults__", ((), 0.2))
    said = proved(solution=source)

    assert any("the solution cannot be run" in sentence and part in sentence for sentence in said)


@pytest.fixture
def notebook(tmp_path):
    """Complaints about the sample notebook, with some text replaced."""

    def complaints(old="", new="", exercises=(DOUBLE, SAVED), solved=False):
        assert old in NOTEBOOK
        path = tmp_path / "98_sample.py"
        path.write_text(NOTEBOOK.replace(old, new) if old else NOTEBOOK, encoding="utf-8")
        cells = prove.read_notebook(path)
        if solved:
            return prove.solved_notebook_complaints(98, list(exercises), cells, OURS)
        return prove.notebook_complaints(list(exercises), cells)

    return complaints


def test_a_good_notebook_passes(notebook):
    """As it is, and with all solutions in it."""
    assert notebook() == notebook(solved=True) == []


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("    ...\n", "    pass\n", "98.1: the starter in cell 5 differs"),
        ("def double(x)", "def double(y)", "98.1: the starter in cell 5 differs"),
        ('"98.p1", None', '"98.p1", []', "98.p1: the starter in cell 3 differs"),
        ('L.check("98.1"', 'L.check("98.2"', "98.2: the notebook asks it and no record has this id"),
        ('L.check("98.1", double)', "", "98.1: 0 cells of the notebook ask it"),
        ('L.check("98.1", double)', 'L.predict("98.1", double)', "calls L.predict; its kind wants L.check"),
        ("assert (x", 'L.solution("98.1")\nassert (x', "cell 4: it calls L.solution"),
        ("Twice is twice.", "Twice is `return x * 2`.", "98.1: its solution stands in cell 1"),
        ("assert (x", "    return x*2\nassert (x", "98.1: its solution stands in cell 4"),
        (
            "assert (x",
            "answer = ['_saved_self', '_saved_other']\nassert (x",
            "98.p1: its solution stands in cell 4",
        ),
    ],
)
def test_each_disagreement_of_notebook_and_records_is_found(notebook, old, new, part):
    """Starter, ids, ways of asking, and solutions in the student's notebook."""
    assert any(part in sentence for sentence in notebook(old, new))


def test_a_check_that_fails_in_the_notebook_is_found(notebook):
    """The outcome inside the notebook counts, not only the one of the record."""
    said = notebook(
        "L = Lesson(98, [DOUBLE, SAVED])",
        "L = Lesson(98, [DOUBLE, SAVED])\nDOUBLE.check.__globals__['correct'] = lambda text: None",
        solved=True,
    )
    check_double.__globals__["correct"] = correct

    assert len(said) == 2
    assert said[0].startswith("98.1: its solution in the whole notebook gets “not yet")


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course of one lesson, 98, made of the samples."""
    (tmp_path / "98_sample").mkdir()
    (tmp_path / "98_sample" / "lesson.py").write_text(NOTEBOOK, encoding="utf-8")
    lesson = [DOUBLE, SAVED]
    monkeypatch.setattr(prove, "SOURCES", tmp_path)
    monkeypatch.setattr(prove, "lesson_numbers", lambda: ["98"])
    monkeypatch.setattr(prove, "exercises_of", lambda number: lesson)
    monkeypatch.setitem(prove.FEWEST, "exercises", 2)
    return lesson


def test_the_command_prints_a_table_and_counts(course, capsys):
    """One line an exercise, one for the notebook, one for all; the exit code is 0."""
    assert prove.main(["--engine", "course_lib"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["exercise", "98.1", "98.p1", "notebook"]
    assert lines[-1].startswith("2 exercises, 8 wrong and 4 right answers, on course_lib: no failures (")


def test_json_gives_the_counts(course, capsys):
    """--json prints numbers for other programs; the table goes to standard error."""
    assert prove.main(["--json", "--engine", "course_lib"]) == 0

    found = json.loads(capsys.readouterr().out)
    expected = {
        "lessons": 1,
        "lessons_with_exercises": 1,
        "claims": 1,
        "exercises": 2,
        "predictions": 1,
        "wrong_answers": 8,
        "right_answers": 4,
        "hints": 4,
        "puzzles_answered": 3,
        "puzzles": [1, 2, 15],
        "failures": [],
    }
    assert {key: found[key] for key in expected} == expected


def test_too_few_exercises_two_alike_and_no_notebook_are_failures(course, capsys, monkeypatch, tmp_path):
    """What is wrong with a lesson as a whole."""
    monkeypatch.setitem(prove.FEWEST, "exercises", 4)
    course[1] = changed(DOUBLE, hints=("One.",))
    (tmp_path / "98_sample" / "lesson.py").unlink()
    assert prove.main(["--engine", "course_lib"]) == 1

    out = capsys.readouterr().out
    assert "98.1: 2 records have this id" in out and "✗ 98.1: it has 1 hints; write at least 2." in out
    assert "the lesson has 2 exercises; it needs at least 4" in out
    assert "lessons/ has no source for it" in out


def test_a_missing_torch_is_said_and_may_be_required(course, capsys, monkeypatch):
    """Without PyTorch the proof is half a proof: said in words, and a failure when it is required."""
    monkeypatch.setattr(prove, "engines", lambda names: ([OURS], ["torch"]))
    monkeypatch.delenv("COURSE_REQUIRE_TORCH", raising=False)
    assert prove.main([]) == 0
    assert "torch is not installed: proved on course_lib only." in capsys.readouterr().out

    monkeypatch.setenv("COURSE_REQUIRE_TORCH", "1")
    assert prove.main([]) == 1
    assert "torch is missing, so nothing was proved on it" in capsys.readouterr().out


def test_an_unknown_lesson_is_said(course, capsys, monkeypatch):
    """`course.py check 3` lists the lessons that there are."""
    assert prove.main(["3"]) == 2
    assert capsys.readouterr().out == "No exercises for lesson 03; there are: 98.\n"
    monkeypatch.setattr(prove, "lesson_numbers", lambda: [])  # nothing to prove: the records were not found
    assert prove.main(["--engine", "course_lib"]) == 1
    assert "nothing was proved" in capsys.readouterr().out


def test_a_lesson_proved_apart_brings_its_lines_and_failures(course, monkeypatch):
    """What a process of its own hands back is the whole of what is said."""
    monkeypatch.setitem(prove.FEWEST, "exercises", 4)
    lines, failures = prove.prove_lesson("98", ("course_lib",))

    assert ["98.1", "98.p1", "notebook"] == [line.split()[0] for line in lines]
    assert [("lesson 98", "the lesson has 2 exercises; it needs at least 4.")] == failures


@pytest.mark.check
def test_lessons_in_processes_keep_their_order():
    """The table is the same as in one process."""
    lines = []
    report = prove.prove_in_processes(["12b", "05b"], ("course_lib",), lines.append)

    assert [] == report.failures
    assert ["12b", "05b"] == list(dict.fromkeys(line.split(".")[0] for line in lines if "." in line[:5]))
