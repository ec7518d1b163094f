"""torch.autograd.Variable: what tensors with a history were called before they were tensors.

PyTorch: torch/autograd/variable.py.
"""

from course_lib.tensor import Tensor


class VariableMeta(type):
    """Every tensor is a Variable."""

    def __instancecheck__(cls, value):
        return isinstance(value, Tensor)

    def __call__(cls, data, requires_grad=False):
        return data.detach().requires_grad_(requires_grad)


class Variable(metaclass=VariableMeta):
    """`Variable(tensor, requires_grad=True)`: a leaf on the tensor's memory."""
