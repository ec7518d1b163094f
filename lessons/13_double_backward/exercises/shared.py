"""Helpers that several exercises of lesson 13 share."""

import contextlib
import gc
import warnings

from lessons import shared

IN_PLACE = "modified by an inplace operation"
NO_HISTORY = "does not require grad"


def near(found, wanted, tolerance=1e-6):
    """Two tensors have one shape and agree."""
    return shared.alike(found, wanted, tolerance)


@contextlib.contextmanager
def no_collector():
    """Without the garbage collector, so that a ring is still there when we look; collected afterwards."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@contextlib.contextmanager
def quiet():
    """Without the warning that PyTorch gives of backward(create_graph=True): the checks say it in their own words."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*")
        yield
