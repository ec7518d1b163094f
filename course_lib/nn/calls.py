"""Modules that keep settings and call a function with them: activations, losses, pooling, Flatten.

PyTorch: torch/nn/modules (activation.py, loss.py, pooling.py, flatten.py).
"""

from course_lib.nn import functional as F
from course_lib.nn.module import REQUIRED, Module, bound, settings
from course_lib.surface.functions import flatten

BUFFERS = "weight", "pos_weight"  # settings that are tensors


class _Call(Module):
    """A module whose constructor's arguments are attributes, and are passed on to a function by name."""

    function, options = None, {}

    def __init__(self, *args, **kwargs):
        super().__init__()
        for name, value in bound(self, self.options, args, kwargs).items():
            (self.register_buffer if name in BUFFERS else self.__setattr__)(name, value)
        if "stride" in self.options and self.stride is None:
            self.stride = self.kernel_size

    def forward(self, *inputs):
        """The function of the inputs."""
        return type(self).function(*inputs, **{name: getattr(self, name) for name in self.options})

    def extra_repr(self):
        return settings(self, *(name for name in self._shown if name != "inplace" or self.inplace))


LOSS = {"reduction": "mean"}
WINDOW = {"kernel_size": REQUIRED, "stride": None, "padding": 0}
WEIGHTED = {"weight": None, **LOSS}
CALLS = {  # name: its function, its settings, and which of them are printed (all, unless they are named)
    "ReLU": (F.relu, {"inplace": False}),
    "Tanh": (F.tanh, {}),
    "Sigmoid": (F.sigmoid, {}),
    "LeakyReLU": (F.leaky_relu, {"negative_slope": 0.01, "inplace": False}),
    "GELU": (F.gelu, {"approximate": "none"}),
    "SiLU": (F.silu, {"inplace": False}),
    "Softplus": (F.softplus, {"beta": 1.0, "threshold": 20.0}),
    "Softmax": (F.softmax, {"dim": None}),
    "LogSoftmax": (F.log_softmax, {"dim": None}),
    "Flatten": (flatten, {"start_dim": 1, "end_dim": -1}),
    "MaxPool2d": (
        F.max_pool2d, {**WINDOW, "dilation": 1, "return_indices": False, "ceil_mode": False},
        "kernel_size stride padding dilation ceil_mode",
    ),
    "AvgPool2d": (
        F.avg_pool2d, {**WINDOW, "ceil_mode": False, "count_include_pad": True}, "kernel_size stride padding",
    ),
    "MSELoss": (F.mse_loss, LOSS, ""),
    "L1Loss": (F.l1_loss, LOSS, ""),
    "SmoothL1Loss": (F.smooth_l1_loss, {**LOSS, "beta": 1.0}, ""),
    "HuberLoss": (F.huber_loss, {**LOSS, "delta": 1.0}, ""),
    "BCELoss": (F.binary_cross_entropy, WEIGHTED, ""),
    "BCEWithLogitsLoss": (F.binary_cross_entropy_with_logits, {**WEIGHTED, "pos_weight": None}, ""),
    "NLLLoss": (F.nll_loss, {**WEIGHTED, "ignore_index": -100}, ""),
    "CrossEntropyLoss": (F.cross_entropy, {**WEIGHTED, "ignore_index": -100, "label_smoothing": 0.0}, ""),
    "KLDivLoss": (F.kl_div, {**LOSS, "log_target": False}, ""),
}  # fmt: skip


def made(name, function, options, shown=None):
    """A module class of this name."""
    shown = options if shown is None else shown.split()
    fields = {"function": staticmethod(function), "options": options, "_shown": shown, "__doc__": function.__doc__}
    return type(name, (_Call,), fields | {"__module__": __name__})


for _name, _row in CALLS.items():
    globals()[_name] = made(_name, *_row)
