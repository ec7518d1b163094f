"""torch.optim: optimizers and learning-rate schedulers.

PyTorch: torch/optim/__init__.py.
"""

from course_lib.optim import lr_scheduler
from course_lib.optim.algorithms import SGD, Adagrad, Adam, AdamW, RMSprop
from course_lib.optim.optimizer import Optimizer

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]
