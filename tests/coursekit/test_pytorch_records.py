"""The records of lesson 15: each is what its program prints on real PyTorch, and a machine without it is told so."""

import pytest

from coursekit import records
from coursekit.records.differences import DIFFERENCES, differences
from coursekit.records.programs import PROGRAMS


def test_every_program_has_its_record():
    """No record without a program, and none missing."""
    assert [*records.records()] == [*PROGRAMS]
    assert all(records.records().values())


def test_a_record_says_that_it_is_one(capsys):
    """What is printed begins with where it was made, and holds program and output."""
    records.recorded("compile")
    said = capsys.readouterr().out

    assert said.startswith("A record, made on PyTorch 2.13")
    assert 'torch.compile(net, backend="aot_eager")' in said and "CompiledFunctionBackward   -> 0.weight" in said
    records.recorded("who raised it", program=False)
    assert "def freed" not in capsys.readouterr().out


def test_without_pytorch_there_is_a_sentence(capsys, monkeypatch):
    """`again` runs the program; where PyTorch is missing it says that, and how to get it."""
    monkeypatch.setattr(records.importlib.util, "find_spec", lambda name: None)
    records.again("compile")

    assert capsys.readouterr().out.startswith("PyTorch is not installed here, so the program cannot run again.")


def test_again_runs_the_program_and_tells_its_error(monkeypatch, real_torch):
    """A program that fails is not taken for one that prints nothing."""
    monkeypatch.setitem(PROGRAMS, "broken", "raise RuntimeError('on purpose')")
    with pytest.raises(RuntimeError, match="on purpose"):
        records.again("broken")


def test_the_table_has_a_line_for_each_difference(capsys):
    """One line a row, with both answers in it."""
    differences()
    lines = capsys.readouterr().out.splitlines()

    assert len(lines) == 1 + len(DIFFERENCES)
    for row, line in zip(DIFFERENCES, lines[1:], strict=True):
        assert line.startswith(row.asked) and row.ours in line and line.endswith(row.theirs)
