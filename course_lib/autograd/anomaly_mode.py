"""torch.autograd.anomaly_mode: the switch of anomaly mode. What it does is in course_lib/engine/anomaly.py.

PyTorch: torch/autograd/anomaly_mode.py.
"""

import warnings

from course_lib.engine.grad_mode import ThreadState, state


def set_anomaly(mode, check_nan):
    """Switch anomaly mode. Another thread that runs already notes lines from when it next switches something."""
    ThreadState.anomaly, ThreadState.anomaly_check_nan = mode, check_nan
    state.update()


class set_detect_anomaly:
    """Switch anomaly mode on or off: errors then say more, and a gradient with NaN is an error."""

    def __init__(self, mode, check_nan=True):
        self.previous = state.anomaly, state.anomaly_check_nan
        for position, (name, value) in enumerate((("enabled", mode), ("check_nan", check_nan)), 1):
            if not isinstance(value, bool):
                where = f"set_anomaly_enabled(): argument '{name}' (position {position})"
                raise TypeError(f"{where} must be bool, not {type(value).__name__}")
        set_anomaly(mode, check_nan)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        set_anomaly(*self.previous)


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
