"""The version counter: how many times one piece of memory has been written to.

PyTorch: c10/core/TensorImpl.h (VariableVersion), torch/csrc/autograd/VariableTypeUtils.h (increment_version).
"""


class VersionCounter:
    """One number, shared by every tensor that looks at the same memory.

    A tensor and its views hold the *same* VersionCounter object, and so does `x.detach()`. `x.data` and
    `x.clone()` get one of their own. Only in-place operations raise it; backward compares it with the number
    noted when a tensor was saved (saved.py).
    """

    __slots__ = ("value", "lines")

    def __init__(self, value=0):
        self.value = value
        self.lines = None  # anomaly mode: which line of the program made each version


# Note [Counters are made late]
# Most tensors are never written to and never share their memory. Such a tensor has `version = None`, which
# means "0, and no other tensor shares this counter". The counter is made by `counter_of` (tensor.py) the first time a
# second tensor looks at the memory or somebody writes to it. Making it at birth costs 3 % on a chain of
# one-element operations, and 48 bytes a tensor.
