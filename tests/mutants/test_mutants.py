"""The list of deliberate defects fits the engine of today. `make mutants` runs it; this only keeps it from rotting."""

import re

import pytest

from tools.mutants import ROOT, Mutant, MutantError, first_failure, read_list

MUTANTS = read_list()


def test_there_are_enough_defects():
    """The list holds at least 200 defects, each with a sentence that says what is broken."""
    assert len(MUTANTS) >= 200
    assert [mutant.id for mutant in MUTANTS if not mutant.breaks.endswith(".")] == []


def test_every_defect_fits_the_engine():
    """A defect's old text occurs exactly once, what replaces it differs, and the tests it names exist."""
    for mutant in MUTANTS:
        path, text = mutant.applied_to(ROOT)
        assert text != path.read_text(encoding="utf-8"), mutant.id
        assert mutant.tests, mutant.id
        assert [test for test in mutant.tests if not (ROOT / test.partition("::")[0]).is_file()] == [], mutant.id
        for topic, program in re.findall(r"\[(\w+)/(\w+)\]$", " ".join(mutant.tests)):
            assert program in (ROOT / f"tests/programs/{topic}.py").read_text(encoding="utf-8"), mutant.id


@pytest.mark.parametrize("old", ["no such text", "def "])
def test_a_defect_that_no_longer_fits_says_what_to_do(old):
    """Text that is gone, or stands there twice, is an error that names the entry and the list."""
    mutant = Mutant("some-id", "engine/views.py", old, "", "Something breaks.", ("tests/engine/test_versions.py",))
    with pytest.raises(MutantError, match=r"(?s)some-id: its old text occurs .* times .*Change `old`"):
        mutant.applied_to(ROOT)


@pytest.mark.parametrize(
    "entries, said",
    [('[a]\nfile = "f"\n[a]\nfile = "g"\n', "Each id stands there once"), ('[a]\nfile = "f"\n', "a: an entry has ex")],
)
def test_a_list_that_cannot_be_read_is_an_error(tmp_path, entries, said):
    """Ids name defects on the command line, so that they must differ; no field is left out."""
    file = tmp_path / "list.toml"
    file.write_text(entries, encoding="utf-8")
    with pytest.raises(MutantError, match=said):
        read_list(file)


def test_the_failing_test_is_named():
    """What killed a defect is read from pytest's summary."""
    assert first_failure("F\n=== x ===\nFAILED tests/a.py::test_b - assert 1\n") == "tests/a.py::test_b - assert 1"
