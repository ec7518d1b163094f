"""Every claim is tested twice, on our engine and on real PyTorch, by the same lines."""

import importlib
import importlib.util
import os

import pytest

WHY = "torch is not installed: `pip install -e .[torch]` to test the claims on real PyTorch too"


@pytest.fixture(params=["course_lib", "torch"])
def torch(request):
    """The library under test, under the name that lessons use."""
    if request.param == "torch" and importlib.util.find_spec("torch") is None:
        if os.environ.get("COURSE_REQUIRE_TORCH") == "1":
            pytest.fail("COURSE_REQUIRE_TORCH=1, but " + WHY)
        pytest.skip(WHY)
    library = importlib.import_module(request.param)
    yield library
    assert library.is_grad_enabled(), "the test left grad mode switched off for the tests after it"
