"""torch.device: there is one, the CPU.

PyTorch: c10/core/Device.h.
"""

from types import ModuleType

from course_lib.arrays import dtypes, errors
from course_lib.surface.left_out import doors


class device:
    """The place where a tensor lives. There is one device: the CPU."""

    def __init__(self, name="cpu"):
        self.type = str(name)
        self.index = None
        if self.type != "cpu":
            raise errors.not_supported(f"the device {self.type!r}", "Everything is computed on the CPU.")

    def __repr__(self):
        return "device(type='cpu')"

    def __str__(self):
        return self.type

    def __eq__(self, other):
        return isinstance(other, device) or other == "cpu"

    def __hash__(self):
        return hash(self.type)


cuda = ModuleType("course_lib.cuda", "torch.cuda, for programs that ask whether there is a GPU. There is none.")
cuda.is_available = lambda: False
cuda.__getattr__, cuda.__dir__ = doors("torch.cuda", ["is_available"])


def get_default_dtype() -> dtypes.dtype:
    """Return the type of new floating tensors: float32."""
    return dtypes.default


class layout:
    """The way in which a tensor's elements are kept. There is one: at equal steps in memory."""

    def __repr__(self):
        return "torch.strided"


strided = layout()


def get_num_threads() -> int:
    """Return 1: this engine computes in the thread that asks."""
    return 1


def set_num_threads(n: int) -> None:
    """Accept the call of programs that set it; there is always one. RuntimeError for less than one."""
    if n < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
