"""Give every test the two libraries, our engine and real PyTorch, and choose the tests of a tier.

COURSE_TIER says how much is run. `make test` sets "test": our engine alone, no test marked `check` or `ci`.
`make check` and a plain pytest run "check": PyTorch too, where it is installed. `.ci/run` sets "ci": everything.
"""

import importlib
import importlib.util
import os

import pytest

TIERS = ["test", "check", "ci"]
TIER = os.environ.get("COURSE_TIER", "check")
# COURSE_REQUIRE_TORCH=1 says that PyTorch must be there: its tests are then made, and fail where it is missing.
HAS_TORCH = importlib.util.find_spec("torch") is not None or os.environ.get("COURSE_REQUIRE_TORCH") == "1"
WITH_TORCH = HAS_TORCH and TIER != "test"
LIBRARIES = ["course_lib", "torch"] if WITH_TORCH else ["course_lib"]


def pytest_collection_modifyitems(config, items):
    """Drop the tests of a later tier, and those that compare with PyTorch where it has no part in the run."""
    later = TIERS[TIERS.index(TIER) + 1 :]
    dropped = {item for item in items if any(item.get_closest_marker(tier) for tier in later)}
    if not WITH_TORCH:
        dropped |= {item for item in items if "real_torch" in getattr(item, "fixturenames", ())}
    if dropped:
        items[:] = [item for item in items if item not in dropped]
        config.hook.pytest_deselected(items=list(dropped))


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
