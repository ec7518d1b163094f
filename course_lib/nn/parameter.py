"""Parameter and Buffer: tensors that a Module recognises as its own when they are assigned to it.

PyTorch: torch/nn/parameter.py.
"""

from course_lib.arrays.printing import format_tensor
from course_lib.engine.grad_mode import state
from course_lib.engine.tensor import Tensor, alias, allocate, meta_of, new_tensor


class Parameter(Tensor):
    """A leaf that requires grad and, assigned to a Module, appears in its `parameters()`.

    It looks at the memory of `data` (and shares its version counter). What is computed from a Parameter is a plain
    tensor. A deep copy leaves `.grad` behind.
    """

    keeps_grad_when_copied = False
    writes_when_copied = 0

    def __new__(cls, data=None, requires_grad=True):
        self = allocate(cls)
        if data is None:
            empty = new_tensor(_no_elements())
            self.array, self.version = empty.array, None
        else:
            twin = alias(data.detach())
            self.array, self.version = twin.array, twin.version
        self.node = self.meta = None
        if state.inference if data is None else data.is_inference():
            meta_of(self).inference = True
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
            grad_fn_name=None if grad_fn is None else type(grad_fn).__name__,
            is_parameter=True,
        )


def _no_elements():
    from course_lib.surface.creation import empty

    return empty(0).array


class Buffer(Tensor):
    """A tensor that belongs to a Module's state without being trained: assigned to a Module, it is registered.

    persistent: False keeps it out of the state dict.
    """

    def __new__(cls, data=None, persistent=True):
        self = allocate(cls)
        self.array = _no_elements() if data is None else data.detach().array
        self.version = None if data is None else alias(data).version
        self.node = self.meta = None
        self.persistent = persistent
        if data is not None and data.requires_grad:
            self.requires_grad_(True)
        return self

