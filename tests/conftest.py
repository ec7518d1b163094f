"""Fixtures for all tests: the two libraries, our engine and real PyTorch, under the name that lessons use."""

import importlib
import importlib.util
import os

import pytest

WHY = "real PyTorch is not installed (`python3 course.py setup --torch` to compare with it)"


def import_real_torch():
    """Real PyTorch. Without it the test is skipped, or fails when COURSE_REQUIRE_TORCH=1 says it must be there."""
    if importlib.util.find_spec("torch") is None:
        if os.environ.get("COURSE_REQUIRE_TORCH") == "1":
            pytest.fail("COURSE_REQUIRE_TORCH=1, but " + WHY)
        pytest.skip(WHY)
    return importlib.import_module("torch")


@pytest.fixture(autouse=True, scope="session")
def every_warning():
    """Warnings that are given once a process are given each time, or each test would depend on those before it."""
    library = importlib.import_module("course_lib")
    library.set_warn_always(True)
    yield
    library.set_warn_always(False)


@pytest.fixture
def real_torch():
    """Real PyTorch, for tests that compare two results."""
    return import_real_torch()


@pytest.fixture(params=["course_lib", "torch"])
def torch(request):
    """The library under test: each test that asks for it runs on our engine and on real PyTorch."""
    library = import_real_torch() if request.param == "torch" else importlib.import_module("course_lib")
    yield library
    assert library.is_grad_enabled(), "the test left grad mode switched off for the tests after it"
