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

import course_lib
from tests.engine.program_comparison import Difference, difference_of, run_random, shrink
from tests.engine.random_programs import BYTES_A_LINE

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
    ["r0 = torch.tensor([1.0, 0.5, 3.0])", "r1 = (r0 * 4).exp().sin()"],
    ["r0 = torch.tensor([True, False, True])", "r1 = r0.atan2(r0)", "r2 = Both.apply(r1)[1]", "r3 = r2.tan()"],
    ["r0 = torch.tensor([[0.0], [-0.0]])", "r1 = r0.amin(0)", "r2 = r1.reciprocal()"],
    *(["r0 = torch.tensor([1.0, 0.5, 3.0], requires_grad=True)",
       f"r0.grad_fn; r0.register_hook(lambda g: {hook})", "r1 = r0.log_softmax(0)", "r1.exp().sum().backward()"]
      for hook in ("seen(g) * 1e7", "seen(g).log()", "seen(g).reciprocal()")),
])  # fmt: skip
def test_rounding_that_is_made_much_of_is_no_difference(libraries, statements):
    """Numbers that differ by rounding are no difference, nor is what the next statement, or the same, makes of it."""
    for kind in ("value", "grad"):
        assert difference_of(statements, *libraries, kind) is None


@pytest.mark.filterwarnings("ignore")
def test_views_are_not_asked_before_a_statement(libraries):
    """A view whose base was written to gets its new node in the statement: PyTorch would make it when it is asked."""
    statements = ["r0 = torch.tensor([1.0, 0.5], requires_grad=True)", "r1 = torch.zeros(2)", "r2 = r1.view(-1)",
                  "r1.view(1, 2).mul_(r0)", "r2.add_(r2)"]  # fmt: skip

    assert difference_of(statements, *libraries, kind="error") is None


class Jumping:
    """Our engine, but it rounds whole numbers down to the next lower one."""

    __name__ = "course_lib"

    def __getattr__(self, name):
        return getattr(course_lib, name) if name != "floor" else lambda x: course_lib.floor(x - 1e-9)


@pytest.mark.filterwarnings("ignore")
def test_a_jump_is_not_taken_for_rounding(libraries):
    """A number that is wrong where PyTorch's answer jumps is a difference, though the smallest push makes it jump."""
    statements = ["r0 = torch.tensor([1.0, 0.5, 3.0], dtype=torch.float64)", "r1 = torch.floor(r0)"]

    assert difference_of(statements, Jumping(), libraries[1], kind="value") is not None
