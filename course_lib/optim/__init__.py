"""torch.optim: optimizers and learning-rate schedulers.

PyTorch: torch/optim/__init__.py.
"""

from course_lib.optim import lr_scheduler
from course_lib.optim.algorithms import SGD, Adagrad, Adam, AdamW, RMSprop
from course_lib.optim.optimizer import Optimizer
from course_lib.surface import left_out as _left_out

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]
__getattr__, __dir__ = _left_out.doors("torch.optim", __all__)
