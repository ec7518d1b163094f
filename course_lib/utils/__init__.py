"""torch.utils: checkpointing and data loading.

PyTorch: torch/utils.
"""

from course_lib.utils import checkpoint, data

__all__ = ["checkpoint", "data"]
