"""The advice of explain() is true: each program fails with its row's error, and runs once the cure is applied."""

import warnings
from importlib import import_module

import pytest
from explain_cures import CURES

from course_lib.teach.explain import explain


def run(torch, program):
    """The error, or the warning, that a program ends with; None."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    known = {"torch": torch, "F": import_module(torch.__name__ + ".nn.functional"), "x": x}
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
