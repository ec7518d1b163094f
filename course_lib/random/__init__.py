"""torch.random: the source of random numbers that all share.

PyTorch: torch/random.py.
"""

import contextlib

from course_lib.surface import left_out
from course_lib.surface.generator import default_generator as _source


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True):
    """What is drawn, or begun anew, inside leaves the numbers after it as they were."""
    place = _source.place
    try:
        yield
    finally:
        if enabled:
            _source.place = place


__all__ = ["fork_rng"]
__getattr__, __dir__ = left_out.doors("torch.random", __all__)
