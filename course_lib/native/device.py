"""torch.device: there is one, the CPU.

PyTorch: c10/core/Device.h.
"""

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

    is_initialized = is_available
    memory_allocated = max_memory_allocated = device_count

    @staticmethod
    def manual_seed(seed):
        """Nothing: there are no random numbers but the CPU's."""
        int(seed)

    manual_seed_all = manual_seed

    @staticmethod
    def empty_cache():
        """Nothing: there is no cache."""


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
legacy_contiguous_format = contiguous_format


class layout:
    """How a tensor's elements are kept. There is one way: at equal steps in memory."""

    def __repr__(self):
        return "torch.strided"


strided = layout()
