"""After a restart: `L` is made anew with a sentence, and an unknown name is explained."""

import json
from types import SimpleNamespace

import pytest

from coursekit.notebook import kernel_start


@pytest.fixture
def notebook(tmp_path):
    """A lesson with three cells, one of which cannot be read."""
    sources = ["import course_lib as torch\nL = lesson(7)", "for x, (y, z) in pairs:\n    w = 1", "%magic"]
    sources.append("def f():\n    inner = 1\n")
    path = tmp_path / "07_version_counters.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": source} for source in sources]}))
    return path


def test_names_made_in_a_notebook(notebook, tmp_path):
    """What its cells bind at their top level; nothing for a file that is not there, or no notebook."""
    assert kernel_start.names_made_in(notebook) == {"torch", "L", "x", "y", "z", "w", "f"}
    assert kernel_start.names_made_in(tmp_path / "none.ipynb") == set()
    (tmp_path / "bad.ipynb").write_text("[1, 2")
    assert kernel_start.names_made_in(tmp_path / "bad.ipynb") == set()


def shell_for(notebook):
    """A shell with our extension: runs nothing, but knows what it was told."""
    told = []
    shell = SimpleNamespace(user_ns={}, showtraceback=lambda *_, **__: told.append("traceback"))
    shell.set_custom_exc = lambda kinds, handler: setattr(shell, "handler", handler)
    kernel_start.begin(shell, str(notebook))
    return shell, told


def test_an_unknown_name_is_explained_below_its_error(notebook, capsys):
    """Only a name that the notebook itself makes: any other is the learner's own slip."""
    shell, told = shell_for(notebook)
    shell.handler(shell, NameError, NameError("name 'w' is not defined", name="w"), None)
    first = capsys.readouterr().out
    shell.handler(shell, NameError, NameError("name 'v' is not defined", name="v"), None)

    assert told == ["traceback"] * 2
    assert "makes `w`" in first and "Run All Above" in first
    assert capsys.readouterr().out == ""


def test_a_cell_that_cannot_be_read_has_judged_nothing(notebook, capsys):
    """The line, what that means for a check in the cell, and where to look; silence about text that a cell compiles."""
    shell, told = shell_for(notebook)
    said = []
    cell = "/tmp/someone/ipykernel_7/1.py"
    for source, name in (("x = (1\nL.check()", cell), ("if x:\ny = 1", cell), ("x = (", "<string>")):
        try:
            compile(source, name, "exec")
        except SyntaxError as error:
            shell.handler(shell, type(error), error, None)
        said.append(capsys.readouterr().out)

    assert told == ["traceback"] * 3
    assert said[0].startswith("Python could not read line 1 of this cell, so nothing in it has run, and nothing was")
    assert "a bracket, a quote or a colon" in said[0] and "spaces at the beginning" in said[1] and said[2] == ""


def test_l_is_there_again_with_a_sentence(notebook, monkeypatch, tmp_path, capsys):
    """Its first use says what has happened; from then on it is the lesson."""
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    shell, _ = shell_for(notebook)
    shell.user_ns["L"].progress()
    first = capsys.readouterr().out
    shell.user_ns["L"].progress()

    assert first.startswith("This kernel has just been started") and "Lesson 07: 0 of" in first
    assert "kernel" not in capsys.readouterr().out


def test_a_notebook_that_is_no_lesson_gets_no_l(tmp_path):
    """The home page and a learner's own notebooks have none."""
    assert shell_for(tmp_path / "home.ipynb")[0].user_ns == {}


@pytest.mark.parametrize("module, title", [("course_lib.teach", "Put the lines in order"), ("coursekit", None)])
def test_l_of_an_old_notebook_has_the_old_numbers(module, title, monkeypatch, tmp_path):
    """After a restart, too, a notebook of 0.9.0 asks as 05.4 what it has always asked as 05.4."""
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    path = tmp_path / "05_leaf_accumulation.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": [f"from {module} import lesson\n"]}]}))
    shell, _ = shell_for(path)
    found = shell.user_ns["L"].exercises["05.4"].title

    assert found == title if title else found != "Put the lines in order"
