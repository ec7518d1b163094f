"""The advice of explain() is true: each program fails with its row's error, and runs once the cure is applied."""

import warnings
from importlib import import_module

import pytest
from explain_cures import CURES

import course_lib
from course_lib.teach.explain.report import ROWS, explain


def run(torch, program):
    """The error, or the warning, that a program ends with; None."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    known = {"torch": torch, "x": x, "module": lambda name: import_module(f"{torch.__name__}.{name}")}
    known["F"] = known["module"]("nn.functional")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Anomaly Detection")
        try:
            exec(program, known)
        except Exception as error:
            return error
    return None


@pytest.mark.parametrize("row, broken, cured", CURES, ids=lambda part: part[:40] if isinstance(part, str) else "")
def test_what_a_row_says_cures_it(torch, row, broken, cured):
    """Without the cure: the error of this row. With it: no error, no warning, and what the asserts say."""
    error = run(torch, broken)

    assert error is not None
    assert explain(error).row is not None and explain(error).row.key == row, error
    for program in cured:
        assert run(torch, program) is None, program


@pytest.mark.parametrize(
    "broken, cured",
    [
        ("x.detach().int()", "x.detach().long()"),
        ("torch.compile(abs)(x)", "abs(x)"),
        ("x.to('cuda')", "x.to('cpu')"),
        ("torch.ones(2, dtype=torch.int8)", "torch.ones(2, dtype=torch.int64)"),
    ],
)
def test_what_is_not_here_says_what_to_do_instead(broken, cured):
    """The row for this engine alone: PyTorch has these, and the engine's message names what works here."""
    error = run(course_lib, broken)

    assert error is not None and explain(error).row.key == "not here", error
    assert run(course_lib, cured) is None


def test_every_row_has_an_executed_cure():
    """A row that is added brings a program that fails and one that does not; "not here" has its own, above."""
    assert {row.key for row in ROWS} - {key for key, _, _ in CURES} == {"not here"}
