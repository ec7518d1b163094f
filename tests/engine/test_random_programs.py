"""Random programs, run statement by statement on our engine and on real PyTorch, which must agree after each.

After a statement both libraries must have raised the same error (type and text) or made tensors with the same value,
version, flags, node and saved tensors; what hooks saw and what questions were answered must be the same too. What a
failure prints is the shortest program that shows it, ready to run. How programs are written stands in
random_programs.py; what need not agree, and why, in program_comparison.py.

COURSE_FUZZ=100000 tries that many programs, new ones each time; by default a fixed two and a half thousand.
"""

import importlib
import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from program_comparison import Difference, difference_of, run_random, shrink
from random_programs import BYTES_A_LINE

import course_lib

TRIES = int(os.environ.get("COURSE_FUZZ", "2500"))


@pytest.fixture
def libraries(real_torch):
    """Our engine and real PyTorch, with the parts that must be imported by name."""
    for library in (course_lib, real_torch):
        importlib.import_module(library.__name__ + ".utils.checkpoint")
    return course_lib, real_torch


@settings(
    max_examples=TRIES, derandomize="COURSE_FUZZ" not in os.environ, deadline=None, database=None,
    suppress_health_check=list(HealthCheck), print_blob=False, phases=[Phase.generate],
)  # fmt: skip
@given(data=st.binary(min_size=3 * BYTES_A_LINE, max_size=14 * BYTES_A_LINE))
@pytest.mark.filterwarnings("ignore")
def test_random_programs_agree(libraries, data):
    """Our engine and PyTorch agree after every statement of a random program."""
    try:
        run_random(data, *libraries)
    except Difference as difference:
        found = shrink(difference, *libraries)
        raise AssertionError(str(found)) from None


class Broken:
    """Our engine, but its larger of two is the smaller."""

    __name__ = "course_lib"

    def __getattr__(self, name):
        return getattr(course_lib, "minimum" if name == "maximum" else name)


@pytest.mark.filterwarnings("ignore")
def test_a_difference_is_found_and_cut_down(libraries):
    """A program on which an engine answers wrongly is noticed, and the statements that do not matter are left out."""
    broken, real_torch = Broken(), libraries[1]
    statements = [
        "r0 = torch.ones(3, dtype=torch.float64).requires_grad_()",
        "r1 = r0 * 2",
        "with torch.no_grad():\n    r2 = torch.maximum(r0, r1)\n    r0.add_(1)",
        "r1.sum().backward()",
        "r3 = torch.autograd.grad(r0.sum(), r0)[0].clone()",
    ]
    found = shrink(difference_of(statements, broken, real_torch, kind="value"), broken, real_torch)

    assert found.statements == [*statements[:2], "r2 = torch.maximum(r0, r1)"]
    assert "torch: ((3,), 'torch.float64', [2.0, 2.0, 2.0])" in str(found)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("statements", [
    ["r0 = torch.tensor([[1.0, 0.5, 3.0], [-1.0, 2.0, 0.25]], requires_grad=True)",
     "r0.softmax(0)[0].sum().backward()", "r1 = (r0.grad + r0.grad).sum()", "r1.log_()"],
    ["r0 = torch.tensor([1.0, 0.5, 3.0])", "r1 = (r0 * 4).exp()", "r1.sin_()"],
])  # fmt: skip
def test_rounding_that_is_made_much_of_is_no_difference(libraries, statements):
    """Numbers that differ by rounding end the comparison where their logarithm or sine would differ at once."""
    assert difference_of(statements, *libraries, kind="value") is None
