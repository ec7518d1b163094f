"""torch.optim: optimizers and learning-rate schedulers.

PyTorch: torch/optim/__init__.py.
"""

from course_lib.native.messages import no_such_name as _no_such_name
from course_lib.optim import lr_scheduler
from course_lib.optim.algorithms import SGD, Adagrad, Adam, AdamW, RMSprop
from course_lib.optim.optimizer import Optimizer

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]
_MORE = ("Adadelta", "Adamax", "NAdam", "RAdam")


def __getattr__(name):
    """Seldom algorithms are read when the first of them is used."""
    if name in _MORE:
        from course_lib.optim.algorithms_more import Adadelta, Adamax, NAdam, RAdam

        globals().update(Adadelta=Adadelta, Adamax=Adamax, NAdam=NAdam, RAdam=RAdam)
        return globals()[name]
    raise _no_such_name(__name__, name)


def __dir__():
    return sorted({*globals(), *_MORE})
