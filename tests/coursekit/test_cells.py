"""cells.py: expect_error keeps messages stable, show opens our engine."""

import gc
import importlib
import importlib.util
import linecache
import weakref

import pytest

import course_lib
from coursekit.judge import exercise, prove
from coursekit.notebook import cells
from coursekit.notebook.cells import expect_error, show


def test_a_caught_error_keeps_nothing_alive():
    """What the failing call was about dies with its last name, without the garbage collector."""
    gc.disable()
    try:
        y = course_lib.ones(2)
        gone = weakref.ref(y)
        with expect_error(RuntimeError, "does not require grad"):
            y.backward()
        del y
        assert gone() is None
    finally:
        gc.enable()


def test_what_is_no_error_goes_through():
    """A learner who stops a cell stops it: KeyboardInterrupt is nobody's expected error."""
    with pytest.raises(KeyboardInterrupt):
        with expect_error():
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    "error, line",
    [
        (IndexError("this is no good\nsecond line"), "IndexError: this is no good\n"),  # a subclass counts and is named
        (KeyError(), "KeyError: (no message)\n"),
        (LookupError(f"not for {object()}"), "LookupError: not for <object object at 0x…>\n"),  # no address
    ],
)
def test_expect_error_prints_one_line(error, line, capsys):
    """`TypeName: first line of the message`, and nothing else."""
    with expect_error(LookupError):
        raise error

    assert capsys.readouterr().out == line


@pytest.mark.parametrize(
    ("raised", "sentence"),
    [
        (None, "ran to its end and raised nothing"),
        (KeyError("other"), "but it raised KeyError: 'other'"),
        (ValueError("other words"), "but its message is: ValueError: other words"),
    ],
)
def test_anything_else_fails_in_words(raised, sentence, capsys):
    """Nothing, another type, another message: an AssertionError that says what happened."""
    with pytest.raises(AssertionError, match="should raise ValueError with “no good” in its") as caught:
        with expect_error(ValueError, "no good"):
            if raised:
                raise raised

    assert sentence in str(caught.value)
    assert capsys.readouterr().out == ""


def test_show_takes_classes_methods_instances_and_wrappers(capsys):
    """A method is shown without its indentation; an object shows its class."""
    show(exercise.Result.render)
    assert "\ndef render(self) -> str:\n" in capsys.readouterr().out

    show(exercise.Verdict("a", "b"))
    assert "\nclass Verdict:\n" in capsys.readouterr().out

    show(exercise.Result("1", "2", "3").render)
    assert "\ndef render(self) -> str:\n" in capsys.readouterr().out

    show(prove.environment)
    assert "\ndef environment(" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name",
    ["engine.grad_mode.AutoGradMode", "course_lib.engine.grad_mode.AutoGradMode", "engine.grad_mode"],
)
def test_show_finds_dotted_names(name, capsys):
    """Names are looked up in course_lib: functions, classes, methods and whole files."""
    show(name, max_lines=5)

    first, *rest = capsys.readouterr().out.splitlines()
    assert first == "# course_lib/engine/grad_mode.py"
    assert rest


def test_show_cuts_long_sources(capsys):
    """At most max_lines lines, and how many are missing."""
    show(cells, max_lines=3)

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert lines[-1].startswith("# … and ")


@pytest.mark.parametrize(("name", "line"), [("mul", "def mul("), ("exp", "def exp("), ("Tensor.exp_", "def exp_(")])
def test_show_opens_the_engines_operations(name, line, capsys):
    """Real operations of the engine can be opened by name."""
    show(name)

    assert capsys.readouterr().out.splitlines()[1].startswith(line)


def test_show_opens_the_class_of_a_node(capsys):
    """A node's class is generated, too: its source is found, not the file that its name points to."""
    x = course_lib.ones(1, requires_grad=True)
    show((x * x).grad_fn)

    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first == "# course_lib operation MulBackward0"
    assert second.startswith("class MulBackward0(")


def test_show_says_what_is_not_ours(real_torch, capsys):
    """Foreign objects, PyTorch's own among them, get one sentence and not an error."""
    y = real_torch.ones(1, requires_grad=True) * 2
    for thing in (len, 3, pytest.fixture, linecache, [].append, real_torch.mul, real_torch.Tensor, y, y.grad_fn):
        show(thing)
        said = capsys.readouterr().out
        assert said.startswith("show() opens the source of our own engine only; ") and said.count("\n") == 1


def test_an_unknown_name_is_an_error_in_words():
    """A misspelt name in a lesson must not pass in silence."""
    with pytest.raises(LookupError, match=r"course_lib.engine.grad_mode has nothing called 'nograd'"):
        show("engine.grad_mode.nograd")


def test_the_public_names_are_functions_in_every_import_order():
    """`draw` and `lesson` are also the names of files: the functions must win."""
    rooms = [importlib.import_module(name) for name in ("backscope", "coursekit")]
    importlib.import_module("coursekit.notebook.lesson")
    importlib.import_module("backscope.pictures.draw")

    for room in rooms:
        assert all(callable(getattr(room, name)) for name in room.__all__) and room.__all__ == sorted(room.__all__)


def test_old_copies_find_everything_where_it_was():
    """What a lesson of 0.9.0 imports: the instruments, the records, and the pictures of lesson 01."""
    for line in (
        "from course_lib.teach import chart, compare, draw, expect_error, explain, ledger, lesson, show, step, watch",
        "from course_lib.teach.records import recorded",
        "from course_lib.teach.records.differences import differences",
        "from course_lib.teach.records.sources import sources",
        "from course_lib.teach.exercises.lesson_01 import pictures",
    ):
        exec(line, {})
