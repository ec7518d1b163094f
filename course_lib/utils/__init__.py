"""torch.utils: checkpointing and data loading.

PyTorch: torch/utils.
"""

from course_lib.surface import left_out as _left_out
from course_lib.utils import checkpoint, data

__all__ = ["checkpoint", "data"]
__getattr__, __dir__ = _left_out.doors("torch.utils", __all__)
