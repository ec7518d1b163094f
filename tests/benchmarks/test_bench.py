"""tools/bench.py: all engines do equal work in every line, and the command's parts run."""

import gc
import importlib.util
import json
from types import SimpleNamespace

import numpy as np
import pytest

from coursekit.cli import paths
from tools import bench

pytestmark = pytest.mark.ci  # it belongs to `make bench`

LINES = bench.lines()
TIMED = [line for line in LINES if line.kind in ("time", "growth")]


@pytest.fixture(autouse=True, scope="module")
def nothing_old_to_collect():
    """As in the command: what was imported before is not looked at whenever an engine's turn begins."""
    bench.present()  # imports them all
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.parametrize("line", TIMED, ids=lambda line: line.name)
def test_every_engine_computes_the_same_gradients(line):
    """In each line all engines that are installed return equal gradients (and, after a step, parameters)."""
    names = [name for name in bench.present() if name in line.engines]
    assert "ours" in names
    # The gradient penalty is not written by hand: there only torch and HIPS can disagree with us.
    assert "numpy" in names or line.work is bench.PENALTY
    answers = {name: line.job(name, line.tiny).answers() for name in names}

    for name in names:
        assert len(answers["ours"]) == len(answers[name]) > 0, name
        for ours, theirs in zip(answers["ours"], answers[name], strict=True):
            np.testing.assert_allclose(np.ravel(ours), np.ravel(theirs), rtol=2e-4, atol=1e-6, err_msg=name)
            assert np.any(np.asarray(ours) != 0), "a gradient of zeros compares nothing"


@pytest.mark.parametrize("kind", ["time", "growth"])
def test_a_line_is_measured_and_shown(kind, capsys):
    """A line of tiny size gives a positive ratio for each engine, and a row with the target and a verdict."""
    line = next(line for line in bench.lines() if line.kind == kind and line.work is not bench.PENALTY)
    line.size, line.small, line.large = line.tiny, 2, 4
    names = ["ours", "numpy"]
    if kind == "time":
        line.against = "numpy"
        figures = bench.time_line(line, names, rounds=2, budget=0.01)
        assert 1 == figures["numpy"]["ratio"]
    else:
        figures = bench.growth_line(line, names, rounds=2, budget=0.01)
    bench.show(line, figures)
    row = capsys.readouterr().out

    assert 0 < figures["ours"]["spread"][0] <= figures["ours"]["ratio"] <= figures["ours"]["spread"][1]
    assert line.title in row and f"≤ {line.target:g}" in row
    assert bench.verdict(line, figures) == row.split()[-1]
    json.dumps(bench.report([(line, figures)]))


def test_an_absent_engine_is_a_dash(monkeypatch, capsys):
    """An engine without a figure shows as a dash, and `present` leaves it out."""
    monkeypatch.setitem(bench.MODULES, "hips", None)
    bench.show(TIMED[0], {"ours": {"time": 1.0, "ratio": None, "to_torch": None}})

    assert "hips" not in bench.present()
    assert 4 == capsys.readouterr().out.split().count("-")


@pytest.mark.parametrize("ratio, expected", [(0.6, "ok"), (0.61, "misses")])
def test_the_verdict_compares_with_the_target(ratio, expected):
    """A figure equal to the target reaches it, a larger one does not."""
    assert expected == bench.verdict(SimpleNamespace(target=0.6), {"ours": {"ratio": ratio}})


def test_the_long_chain_is_measured():
    """It gives bytes, growth and garbage: here with 2,000 operations."""
    found = bench.run_program(bench.MILLION, NAME="ours", N=2000)

    assert {"bytes", "growth", "left"} == set(found)
    assert 0 == found["left"]


@pytest.mark.parametrize("program, options, least, most", [
    (bench.INSTRUMENT, {"WHAT": "draw", "N": 40, "TIMES": 1}, 1, 60_000),  # milliseconds
    (bench.INSTRUMENT, {"WHAT": "step", "N": 40, "TIMES": 1}, 1, 60_000),
    (bench.INSTRUMENT, {"WHAT": "ledger", "N": 1}, 0.02, 100),  # a step with it by one without
    *((bench.OFF, {"WHAT": what, "SIZE": 30, "N": 1}, 0.1, 10) for what in ("hooks", "modes", "instruments")),
])  # fmt: skip
def test_measurements_in_programs_of_their_own_run(program, options, least, most):
    """Instruments are timed, used and put away. How large a figure is, `make bench` says: here others may interrupt."""
    assert least < bench.run_program(program, NAME="ours", **options) < most


@pytest.mark.parametrize("unit, shown", [("×", "12.35 ×"), ("ms", "12 ms"), ("B", "12 B"), ("", "12")])
def test_figures_have_units(unit, shown):
    """Ratios show two decimals, everything else whole numbers with its unit."""
    line = bench.Measured("n", "t", ("ours",), None, unit, 1)

    assert shown == bench.cell(line, "ours", {"ours": {"ratio": 12.345678}})


def test_a_failing_program_says_why():
    """What the program wrote before it died stands in the error."""
    with pytest.raises(RuntimeError, match="(?s)failed.*ZeroDivisionError"):
        bench.run_program("1 / 0")


def test_names_of_lines_are_unique():
    """--only and the JSON file tell lines apart by their names."""
    names = [line.name for line in LINES]

    assert len(names) == len(set(names))


def test_the_committed_table_has_these_lines():
    """docs/bench.json was written by the lines that the command has now, with figures of ours in each."""
    data = json.loads((paths.ROOT / "docs" / "bench.json").read_text(encoding="utf-8"))

    assert [line.name for line in LINES] == [each["name"] for each in data["lines"]]
    for line, each in zip(LINES, data["lines"], strict=True):
        assert line.target == each["target"], line.name
        assert each["verdict"] == bench.verdict(line, each["figures"]), line.name


def test_the_plot_is_drawn_from_the_table(tmp_path):
    """The plot names every timed line of the data."""
    if importlib.util.find_spec("matplotlib") is None:
        pytest.fail("matplotlib is among the packages that the course needs")
    data = json.loads((paths.ROOT / "docs" / "bench.json").read_text(encoding="utf-8"))
    bench.draw(data, tmp_path / "bench.svg")

    svg = (tmp_path / "bench.svg").read_text(encoding="utf-8")
    for line in data["lines"]:
        if line["kind"] == "time":
            assert f"<!-- {line['title']} -->" in svg
