"""Parameter and Buffer: tensors that a Module recognises as its own when they are assigned to it.

PyTorch: torch/nn/parameter.py.
"""

from course_lib.arrays.printing import format_tensor
from course_lib.engine.tensor import Tensor, alias, allocate, meta_of
from course_lib.surface import creation


def as_class(cls: type, data: Tensor) -> Tensor:
    """Return a tensor of a class on the memory and version counter of `data`; without data, an empty one."""
    data = creation.empty(0) if data is None else data
    twin, self = alias(data.detach()), allocate(cls)
    self.array, self.version, self.node, self.meta = twin.array, twin.version, None, None
    if data.is_inference():
        meta_of(self).inference = True
    return self


class Parameter(Tensor):
    """A leaf that requires grad and, assigned to a Module, appears in its `parameters()`.

    It looks at the memory of `data` (and shares its version counter). What is computed from a Parameter is a plain
    tensor. A deep copy leaves `.grad` behind.
    """

    keeps_grad_when_copied = False
    writes_when_copied = 0

    def __new__(cls, data=None, requires_grad=True):
        self = as_class(cls, data)
        if requires_grad:
            if self.array.dtype.kind != "f":
                raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
            self.requires_grad_(True)
        return self

    def __repr__(self, *, tensor_contents=None):
        grad_fn = self.grad_fn
        return format_tensor(
            self.array,
            dtype_name=self.dtype.name,
            requires_grad=self.requires_grad,
            grad_fn=None if grad_fn is None else type(grad_fn).__name__,
            is_parameter=True,
        )


class Buffer(Tensor):
    """A tensor that belongs to a Module's state without being trained: assigned to a Module, it is registered.

    persistent: False keeps it out of the state dict.
    """

    def __new__(cls, data=None, persistent=True):
        self = as_class(cls, data)
        self.persistent = persistent
        if data is not None and data.requires_grad:
            self.requires_grad_(True)
        return self
