"""torch.random: the source of random numbers that all share.

PyTorch: torch/random.py.
"""

import contextlib
from collections.abc import Iterator

from course_lib.surface import left_out
from course_lib.surface.generator import default_generator as _source


@contextlib.contextmanager
def fork_rng(devices: object = None, enabled: bool = True) -> Iterator:
    """Leave the random numbers after a block as they were, whatever is drawn or begun anew inside."""
    place = _source.place
    try:
        yield
    finally:
        if enabled:
            _source.place = place


__all__ = ["fork_rng"]
__getattr__, __dir__ = left_out.doors("torch.random", __all__)
