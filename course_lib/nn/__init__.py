"""torch.nn: modules, layers, losses and their functions.

PyTorch: torch/nn/__init__.py. Read parameter.py and module.py; the rest is made of them.
"""

from course_lib.native.messages import no_such_name as _no_such_name
from course_lib.nn import functional, init, modules, utils
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


def __getattr__(name):
    """Layers of pictures and sequences are read when the first of them is used: layers_more.py."""
    if name.startswith("_") or name in ("layers_more", "functional_more"):
        raise AttributeError(name)
    layers_more = _layers_more()
    if name in layers_more.__all__:
        globals()[name] = getattr(layers_more, name)
        return globals()[name]
    raise _no_such_name(__name__, name)


def _layers_more():
    import importlib

    return importlib.import_module("course_lib.nn.layers_more")


def __dir__():
    return sorted({*globals(), *_layers_more().__all__})


__all__ = [name for name in list(globals()) if not name.startswith("_")]
