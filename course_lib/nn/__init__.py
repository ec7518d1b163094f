"""torch.nn: modules, layers, losses and their functions.

PyTorch: torch/nn/__init__.py. Read parameter.py and module.py; the rest is made of them.
"""

from course_lib.nn import calls, functional, init, utils
from course_lib.nn.containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from course_lib.nn.layers import (
    BatchNorm1d,
    BatchNorm2d,
    Conv1d,
    Conv2d,
    Dropout,
    Embedding,
    Identity,
    LayerNorm,
    Linear,
    RMSNorm,
)
from course_lib.nn.module import Module
from course_lib.nn.parameter import Buffer, Parameter
from course_lib.nn.recurrent import LSTM, RNN, GRUCell, LSTMCell, RNNCell
from course_lib.surface import left_out as _left_out

vars().update({name: vars(calls)[name] for name in calls.CALLS})  # activations, losses, pools
__all__ = ["functional", "init", "utils", *(name for name, value in vars().items() if isinstance(value, type))]
__getattr__, __dir__ = _left_out.doors("torch.nn", __all__)
