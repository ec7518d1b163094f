"""finfo and iinfo: what the numbers of a type reach. Read when first asked for.

PyTorch: torch/csrc/TypeInfo.cpp.
"""

import numpy as np

from course_lib.arrays import dtypes


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
