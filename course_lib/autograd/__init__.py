"""torch.autograd: backward, grad, Function, anomaly mode, gradcheck, and the functional interface.

PyTorch: torch/autograd/__init__.py.
"""

from course_lib.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from course_lib.engine.backward import backward, grad
from course_lib.engine.grad_mode import state

__all__ = """
    Function backward detect_anomaly enable_grad function functional grad gradcheck gradgradcheck graph inference_mode
    no_grad set_detect_anomaly set_grad_enabled
""".split()


_ELSEWHERE = {"Function": "function", **dict.fromkeys(("detect_anomaly", "set_detect_anomaly"), "anomaly_mode")}


def __getattr__(name):
    """Function, `graph`, `functional`, the switches and the checks are imported when first asked for."""
    if name in _ELSEWHERE:
        import importlib

        globals()[name] = getattr(importlib.import_module("course_lib.autograd." + _ELSEWHERE[name]), name)
        return globals()[name]
    if name in ("anomaly_mode", "graph", "function", "functional", "gradcheck", "gradgradcheck"):
        import importlib

        module = importlib.import_module("course_lib.autograd." + name.replace("gradgrad", "grad"))
        if not name.endswith("check"):
            return module
        globals().update(gradcheck=module.gradcheck, gradgradcheck=module.gradgradcheck)  # not the module of that name
        return globals()[name]
    from course_lib.surface.left_out import missing

    raise missing("torch.autograd", name)


def __dir__():
    return sorted(__all__)
