"""finfo and iinfo: what the numbers of a type reach. Read when first asked for.

PyTorch: torch/csrc/TypeInfo.cpp.
"""

import numpy as np

from course_lib.arrays import dtypes


class Limits:
    """The limits of a type's numbers. TypeError for a type of the other kind."""

    def __init__(self, type=dtypes.float32):
        try:
            limits = self.numpys(type.numpy)
        except (AttributeError, ValueError):
            raise TypeError(f"torch.{self.__class__.__name__} cannot use {type}; use the other of the two") from None
        for name in self.shown:
            limit = getattr(limits, name)
            setattr(self, name, self.number(str(limit) if name == "resolution" else limit))
        self.bits, self.dtype = 8 * type.itemsize, type.name

    def __repr__(self):
        limits = [f"{name}={getattr(self, name):g}" for name in self.shown]
        return f"{self.__class__.__name__}({', '.join(limits)}, dtype={self.dtype})"


class finfo(Limits):
    """The limits of a floating type: `eps`, `max`, `min`, `tiny`, and how many decimals can be trusted."""

    numpys, number = np.finfo, float
    shown = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")


class iinfo(Limits):
    """The limits of an integer type: `max`, `min`."""

    numpys, number = np.iinfo, int
    shown = ("min", "max")
