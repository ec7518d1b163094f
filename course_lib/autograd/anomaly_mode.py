"""torch.autograd.anomaly_mode: the switch of anomaly mode. What it does is in course_lib/anomaly.py.

PyTorch: torch/autograd/anomaly_mode.py.
"""

import warnings

from course_lib.grad_mode import state


class set_detect_anomaly:
    """Switch anomaly mode on or off: errors then say more, and a gradient with NaN is an error."""

    def __init__(self, mode, check_nan=True):
        self.previous = state.anomaly, state.anomaly_check_nan
        state.anomaly, state.anomaly_check_nan = mode, check_nan
        state.update()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        state.anomaly, state.anomaly_check_nan = self.previous
        state.update()


class detect_anomaly(set_detect_anomaly):
    """Anomaly mode inside a block."""

    def __init__(self, check_nan=True):
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.", stacklevel=2,
        )
        self.check_nan = check_nan

    def __enter__(self):
        super().__init__(True, self.check_nan)  # not before the block begins
