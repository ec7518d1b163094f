"""torch.nn: modules, layers, losses and their functions.

PyTorch: torch/nn/__init__.py. Read parameter.py and module.py; the rest is made of them.
"""

from course_lib.nn import functional, init, utils
from course_lib.nn.activations import (
    CELU,
    ELU,
    GELU,
    SELU,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    PReLU,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Softmin,
    Softplus,
    Softsign,
    Tanh,
    Tanhshrink,
    Threshold,
)
from course_lib.nn.containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from course_lib.nn.layers import (
    AvgPool2d,
    BatchNorm1d,
    BatchNorm2d,
    Bilinear,
    Conv1d,
    Conv2d,
    Dropout,
    Embedding,
    Flatten,
    GRUCell,
    Identity,
    LayerNorm,
    Linear,
    LSTMCell,
    MaxPool2d,
    RNNCell,
    Unflatten,
)
from course_lib.nn.losses import (
    BCELoss,
    BCEWithLogitsLoss,
    CosineEmbeddingLoss,
    CrossEntropyLoss,
    HingeEmbeddingLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MarginRankingLoss,
    MSELoss,
    NLLLoss,
    SmoothL1Loss,
    TripletMarginLoss,
)
from course_lib.nn.module import Module
from course_lib.nn.parameter import Buffer, Parameter

__all__ = [name for name in dir() if not name.startswith("_")]
