"""torch.device: there is one, the CPU.

PyTorch: c10/core/Device.h.
"""

import numpy as np

from course_lib import dtypes, errors


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


class cuda:
    """torch.cuda, for programs that ask whether there is a GPU. There is none."""

    @staticmethod
    def is_available():
        """False: everything is computed on the CPU."""
        return False

    @staticmethod
    def device_count():
        """0: everything is computed on the CPU."""
        return 0


class _Limits:
    """What a type's numbers reach. Two are equal when they are about the same type."""

    def __init__(self, type):
        if not isinstance(type, dtypes.dtype):
            name, given = self.__class__.__name__, type.__class__.__name__
            raise TypeError(f"{name}(): argument 'type' (position 1) must be torch.dtype, not {given}")
        self.dtype, self.bits = type.name, 8 * type.itemsize

    def __eq__(self, other):
        return self.__class__ is other.__class__ and self.dtype == other.dtype

    def __hash__(self):
        return hash(self.dtype)

    def __repr__(self):
        limits = [f"{name}={getattr(self, name):g}" for name in self.shown]
        return f"{self.__class__.__name__}({', '.join(limits)}, dtype={self.dtype})"


class finfo(_Limits):
    """The limits of a floating type: `eps`, `max`, `min`, `tiny`, and how many decimals can be trusted."""

    shown = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")

    def __init__(self, type=dtypes.float32):
        super().__init__(type)
        if not type.is_floating_point:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        limits = np.finfo(type.numpy)
        for name in self.shown:
            setattr(self, name, float(str(getattr(limits, name)) if name == "resolution" else getattr(limits, name)))


class iinfo(_Limits):
    """The limits of an integer type: `max`, `min`."""

    shown = ("min", "max")

    def __init__(self, type):
        super().__init__(type)
        if type.is_floating_point:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        if type is dtypes.bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        limits = np.iinfo(type.numpy)
        self.min, self.max = int(limits.min), int(limits.max)


def get_default_dtype():
    """The type of new floating tensors: float32."""
    return dtypes.default


class memory_format:
    """How a copy is laid out: in rows, or as the original."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"


contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
