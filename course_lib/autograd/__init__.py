"""torch.autograd: backward, grad, Function, anomaly mode, gradcheck, and the functional interface.

PyTorch: torch/autograd/__init__.py.
"""

import importlib

from course_lib.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from course_lib.autograd.gradcheck import gradcheck, gradgradcheck  # the function, not the module of that name
from course_lib.engine.backward import backward, grad
from course_lib.surface.left_out import missing

__all__ = [
    "Function", "backward", "detect_anomaly", "enable_grad", "function", "functional", "grad", "gradcheck",
    "gradgradcheck", "graph", "inference_mode", "no_grad", "set_detect_anomaly", "set_grad_enabled",
]  # fmt: skip
_LATER = {
    "Function": "function", "function": "function", "functional": "functional", "graph": "graph",
    "detect_anomaly": "anomaly_mode", "set_detect_anomaly": "anomaly_mode",
}  # fmt: skip


def __getattr__(name):
    """Read a file, or a name in one, when first asked for it: an import of course_lib is a quarter quicker."""
    if name not in _LATER:
        raise missing("torch.autograd", name)
    module = importlib.import_module(f"course_lib.autograd.{_LATER[name]}")
    globals()[name] = getattr(module, name, module)
    return globals()[name]


def __dir__():
    return sorted(__all__)
