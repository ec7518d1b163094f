"""torch.backends: switches of libraries for GPUs, which programs set in their first lines. Here they change nothing.

PyTorch: torch/backends/__init__.py.
"""

from types import SimpleNamespace

from course_lib.backends import cudnn

cuda = SimpleNamespace(matmul=SimpleNamespace(allow_tf32=False), is_built=lambda: False)
mps = SimpleNamespace(is_available=lambda: False, is_built=lambda: False)

__all__ = ["cuda", "cudnn", "mps"]
