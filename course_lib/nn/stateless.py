"""Modules without parameters: activations, losses, pooling, Flatten. Each keeps settings, and calls a function.

PyTorch: torch/nn/modules (activation.py, loss.py, pooling.py, flatten.py).
"""

from course_lib.engine.tensor import Tensor
from course_lib.nn import functional as F
from course_lib.nn.module import REQUIRED, Module, bind_settings, settings_text
from course_lib.surface.functions import flatten

BUFFERS = "weight", "pos_weight"  # settings that are tensors, so that they are saved and converted with the module


class _Stateless(Module):
    """A module whose constructor takes its `settings` ({name: default}) and keeps them as attributes."""

    settings = {}

    def __init__(self, *args, **kwargs):
        super().__init__()
        for name, value in bind_settings(self, self.settings, args, kwargs).items():
            (self.register_buffer if name in BUFFERS else self.__setattr__)(name, value)

    def extra_repr(self) -> str:
        """Show the settings, `inplace` only when it is on."""
        return settings_text(self, *(name for name in self.settings if name != "inplace" or self.inplace))


# --- activations -------------------------------------------------------------------------------------------


class ReLU(_Stateless):
    """max(input, 0), element by element."""

    settings = {"inplace": False}

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class Tanh(_Stateless):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class Sigmoid(_Stateless):
    """1 / (1 + exp(-input))."""

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class LeakyReLU(_Stateless):
    """The input where it is positive, negative_slope * input elsewhere."""

    settings = {"negative_slope": 0.01, "inplace": False}

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class GELU(_Stateless):
    """The input times the chance that a standard normal number is below it."""

    settings = {"approximate": "none"}

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, self.approximate)


class SiLU(_Stateless):
    """input * sigmoid(input)."""

    settings = {"inplace": False}

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Softplus(_Stateless):
    """log(1 + exp(beta * input)) / beta, a smooth ReLU."""

    settings = {"beta": 1.0, "threshold": 20.0}

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)


class Softmax(_Stateless):
    """exp(input) divided by its sum along dim."""

    settings = {"dim": None}

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)


class LogSoftmax(_Stateless):
    """The logarithm of softmax, without overflow."""

    settings = {"dim": None}

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)


# --- other shapes ------------------------------------------------------------------------------------------


class Flatten(_Stateless):
    """The dimensions from start_dim to end_dim made one; the first, of samples, stays."""

    settings = {"start_dim": 1, "end_dim": -1}

    def forward(self, input: Tensor) -> Tensor:
        return flatten(input, self.start_dim, self.end_dim)


class _Pooling(_Stateless):
    """A window that moves over images, by its own size unless a stride says otherwise."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.stride = self.kernel_size if self.stride is None else self.stride


class MaxPool2d(_Pooling):
    """The largest element of each window."""

    settings = {
        "kernel_size": REQUIRED, "stride": None, "padding": 0, "dilation": 1, "return_indices": False,
        "ceil_mode": False,
    }  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        return F.max_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )

    def extra_repr(self) -> str:
        """Show all settings but return_indices."""
        return settings_text(self, "kernel_size", "stride", "padding", "dilation", "ceil_mode")


class AvgPool2d(_Pooling):
    """The mean of each window."""

    settings = {
        "kernel_size": REQUIRED, "stride": None, "padding": 0, "ceil_mode": False, "count_include_pad": True
    }  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )

    def extra_repr(self) -> str:
        """Show the window."""
        return settings_text(self, "kernel_size", "stride", "padding")


# --- losses ------------------------------------------------------------------------------------------------


class _Loss(_Stateless):
    """A distance from a target."""

    settings = {"reduction": "mean"}

    def extra_repr(self) -> str:
        """Show nothing, as PyTorch does."""
        return ""


class MSELoss(_Loss):
    """The mean of the squared differences."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """The mean of the magnitudes of the differences."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class HuberLoss(_Loss):
    """Half squared differences up to delta, straight lines beyond."""

    settings = {"reduction": "mean", "delta": 1.0}

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class BCELoss(_Loss):
    """Minus the logarithm of the probability given to a yes/no target."""

    settings = {"weight": None, "reduction": "mean"}

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """BCELoss of sigmoid(input), without overflow."""

    settings = {"weight": None, "reduction": "mean", "pos_weight": None}

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


class NLLLoss(_Loss):
    """Minus the log probabilities at the target classes."""

    settings = {"weight": None, "reduction": "mean", "ignore_index": -100}

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(_Loss):
    """NLLLoss of log_softmax(input)."""

    settings = {"weight": None, "reduction": "mean", "ignore_index": -100, "label_smoothing": 0.0}

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )
