"""torch.nn: modules, layers, losses and their functions.

PyTorch: torch/nn/__init__.py. Read parameter.py and module.py; the rest is made of them.
"""

from course_lib.nn import functional, init, utils
from course_lib.nn.containers import ModuleDict, ModuleList, Sequential
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
)
from course_lib.nn.module import Module
from course_lib.nn.parameter import Buffer, Parameter
from course_lib.nn.recurrent import LSTM, RNN, LSTMCell
from course_lib.nn.stateless import (
    GELU,
    AvgPool2d,
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    Flatten,
    HuberLoss,
    L1Loss,
    LeakyReLU,
    LogSoftmax,
    MaxPool2d,
    MSELoss,
    NLLLoss,
    ReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
)
from course_lib.surface import left_out as _left_out

__all__ = ["functional", "init", "utils", *(name for name, value in vars().items() if isinstance(value, type))]
__getattr__, __dir__ = _left_out.doors("torch.nn", __all__)
