"""torch.random: the source of random numbers that all share.

PyTorch: torch/random.py.
"""

import contextlib

from course_lib.native.creation import manual_seed
from course_lib.native.generator import default_generator, get_rng_state, initial_seed, seed, set_rng_state

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True):
    """What is drawn, or begun anew, inside leaves the numbers after it as they were."""
    place = default_generator.place
    try:
        yield
    finally:
        if enabled:
            default_generator.place = place
