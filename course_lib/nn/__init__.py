"""torch.nn: modules, layers, losses and their functions.

PyTorch: torch/nn/__init__.py. Read parameter.py and module.py; the rest is made of them.
"""

from course_lib.nn import functional, init, utils
from course_lib.nn.activations import GELU, LeakyReLU, LogSoftmax, ReLU, Sigmoid, SiLU, Softmax, Softplus, Tanh
from course_lib.nn.containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from course_lib.nn.layers import (
    AvgPool2d,
    BatchNorm1d,
    BatchNorm2d,
    Conv1d,
    Conv2d,
    Dropout,
    Embedding,
    Flatten,
    Identity,
    LayerNorm,
    Linear,
    MaxPool2d,
    RMSNorm,
)
from course_lib.nn.losses import (
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
    SmoothL1Loss,
)
from course_lib.nn.module import Module
from course_lib.nn.parameter import Buffer, Parameter
from course_lib.nn.recurrent import LSTM, RNN, GRUCell, LSTMCell, RNNCell
from course_lib.surface import left_out as _left_out

__all__ = """
    AvgPool2d BCELoss BCEWithLogitsLoss BatchNorm1d BatchNorm2d Buffer Conv1d Conv2d CrossEntropyLoss Dropout
    Embedding Flatten GELU GRUCell HuberLoss Identity KLDivLoss L1Loss LSTM LSTMCell LayerNorm LeakyReLU Linear
    LogSoftmax MSELoss MaxPool2d Module ModuleDict ModuleList NLLLoss Parameter ParameterDict ParameterList RMSNorm
    RNN RNNCell ReLU Sequential SiLU Sigmoid SmoothL1Loss Softmax Softplus Tanh
    functional init utils
""".split()
__getattr__, __dir__ = _left_out.doors("torch.nn", __all__)
