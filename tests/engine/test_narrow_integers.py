"""In a browser, a machine of 32 bits, NumPy's own integers have 32 bits; our tensors have 64 all the same."""

import numpy as np
import pytest

import course_lib as torch
from course_lib.arrays import dtypes
from course_lib.engine import ops


@pytest.fixture
def narrow(monkeypatch):
    """As if this were such a machine."""
    monkeypatch.setattr(dtypes, "NARROW", True)


@pytest.mark.parametrize("make", [torch.tensor, torch.from_numpy], ids=lambda f: f.__name__)
def test_integers_that_numpy_chose_become_int64(narrow, make):
    """np.array([1, 2]) and np.argsort give int32 there, and a tensor of them is int64, as in PyTorch."""
    assert make(np.array([1, 2], np.int32)).dtype == torch.int64


def test_operations_of_the_table_widen_their_results(narrow):
    """A sum or a running sum of bools has 32 bits in NumPy there."""
    assert "widened(result.array)" in "\n".join(ops.write_operation(ops.ROWS["cumsum"]))


def test_elsewhere_int32_is_refused_and_nothing_is_asked():
    """Where NumPy's integers have 64 bits, one with 32 was somebody's wish, and this engine does not have it."""
    with pytest.raises(TypeError, match="int32 are not supported"):
        torch.tensor(np.array([1, 2], np.int32))
    assert "widened" not in "\n".join(ops.write_operation(ops.ROWS["cumsum"]))
