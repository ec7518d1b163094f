"""torch.nn.modules, as far as programs reach into it: `module` with the hooks on all modules, and `utils`.

PyTorch: torch/nn/modules/__init__.py.
"""

from course_lib.nn import module
from course_lib.nn.modules import utils

__all__ = ["module", "utils"]
