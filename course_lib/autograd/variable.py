"""torch.autograd.Variable: what tensors with a history were called before they were tensors.

PyTorch: torch/autograd/variable.py.
"""

from course_lib.tensor import Tensor


class VariableMeta(type):
    """Every tensor is a Variable."""

    def __instancecheck__(cls, value):
        return isinstance(value, Tensor)

    def __call__(cls, data, requires_grad=False):
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)


class Variable(metaclass=VariableMeta):
    """`Variable(tensor, requires_grad=True)`: a leaf on the tensor's memory."""
