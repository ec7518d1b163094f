"""torch.device: there is one, the CPU.

PyTorch: c10/core/Device.h.
"""

from course_lib import errors


class device:
    """Where a tensor lives. There is one device: the CPU."""

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
