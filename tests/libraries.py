"""Fixtures for all tests: the two libraries, our engine and real PyTorch, under the name that lessons use."""

import importlib
import importlib.util
import os

import pytest

# COURSE_REQUIRE_TORCH=1 says that PyTorch must be there: its tests are then made, and fail where it is missing.
WITH_TORCH = importlib.util.find_spec("torch") is not None or os.environ.get("COURSE_REQUIRE_TORCH") == "1"
LIBRARIES = ["course_lib", "torch"] if WITH_TORCH else ["course_lib"]


def pytest_collection_modifyitems(config, items):
    """Where PyTorch is not installed, drop the tests that compare with it: the closing lines say so."""
    if not WITH_TORCH:
        dropped = [item for item in items if "real_torch" in getattr(item, "fixturenames", ())]
        items[:] = [item for item in items if item not in set(dropped)]
        config.hook.pytest_deselected(items=dropped)


def loud(name):
    """A library whose once-a-process warnings are given each time, or each test would depend on those before it."""
    library = importlib.import_module(name)
    library.set_warn_always(True)
    return library


@pytest.fixture(autouse=True, scope="session")
def every_warning():
    """Our engine warns each time, in tests that import it themselves too."""
    loud("course_lib")


@pytest.fixture(scope="session")
def real_torch():
    """Real PyTorch, for tests that compare two results."""
    return loud("torch")


@pytest.fixture(params=LIBRARIES)
def torch(request):
    """The library under test: each test that asks for it runs on our engine and on real PyTorch."""
    library = loud(request.param)
    yield library
    assert library.is_grad_enabled(), "the test left grad mode switched off for the tests after it"
