"""torch.autograd.set_multithreading_enabled, which has nothing to set: a backward pass runs in one thread.

PyTorch: torch/autograd/grad_mode.py (set_multithreading_enabled).
"""


class set_multithreading_enabled:
    """Here for programs that set it, at once or for a block: a backward pass runs in one thread in any case."""

    mode = True  # what is set now, for is_multithreading_enabled

    def __init__(self, mode):
        self.previous = set_multithreading_enabled.mode
        set_multithreading_enabled.mode = mode

    def __enter__(self):
        return None

    def __exit__(self, *error):
        set_multithreading_enabled.mode = self.previous


def is_multithreading_enabled():
    """What set_multithreading_enabled set."""
    return set_multithreading_enabled.mode
