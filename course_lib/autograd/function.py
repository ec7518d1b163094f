"""torch.autograd.function: Function and what helps to write one.

PyTorch: torch/autograd/function.py.
"""

from course_lib.function import Function, FunctionCtx, once_differentiable

__all__ = ["Function", "FunctionCtx", "once_differentiable"]
