"""Layers: modules with parameters, and Dropout, which asks whether it is training.

PyTorch: torch/nn/modules (linear.py, conv.py, batchnorm.py, normalization.py, sparse.py, dropout.py).
"""

import math

from course_lib.arrays.errors import not_supported
from course_lib.autograd.grad_mode import no_grad
from course_lib.engine.tensor import Tensor
from course_lib.nn import functional as F
from course_lib.nn import init
from course_lib.nn.functional.convolution import convolve, per_dimension, usual_form
from course_lib.nn.functional.linear import known_row
from course_lib.nn.module import Module, settings_text
from course_lib.nn.parameter import Parameter
from course_lib.surface import creation


def make(*shape, dtype: object = None) -> Tensor:
    """Return a parameter whose values are still to be chosen."""
    return Parameter(creation.empty(*shape, dtype=dtype))


class _Layer(Module):
    """A module with a weight and a bias, either of which may be None."""

    def make_parameters(self, weight: tuple | None, bias: tuple | None, dtype: object) -> None:
        """Make parameters of these shapes, or None; then draw their starting values."""
        self.register_parameter("weight", weight and make(*weight, dtype=dtype))
        self.register_parameter("bias", bias and make(*bias, dtype=dtype))
        self.reset_parameters()


class Identity(Module):
    """Returns its input; arguments to the constructor are ignored."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """Return the input itself."""
        return input


class _Map(_Layer):
    """The base of Linear and convolutions: weight and bias start evenly spread within 1 / sqrt(fan in)."""

    def reset_parameters(self) -> None:
        """Draw new starting values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = init.fans(self.weight)[0]
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)


class Linear(_Map):
    """input @ weight.T + bias, with weight (out_features, in_features)."""

    _shown = "in_features", "out_features", "bias"

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.make_parameters((out_features, in_features), (out_features,) if bias else None, dtype)

    def forward(self, input: Tensor | list) -> Tensor:
        """Return input (..., in_features) -> (..., out_features)."""
        return F.linear(input, self.weight, self.bias)


class Dropout(Module):
    """Sets elements to zero with chance p while training; nothing in eval mode. ValueError for p outside [0, 1]."""

    _shown = "p", "inplace"

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        """Return the input with elements dropped, the others scaled up."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Embedding(Module):
    """A table of vectors, looked up by number. The row padding_idx starts at zero and gets no gradient."""

    def __init__(
        self, num_embeddings, embedding_dim, padding_idx=None, *, sparse=False, _weight=None, _freeze=False,
        device=None, dtype=None,
    ):
        super().__init__()
        if sparse:
            raise not_supported("Embedding with sparse=True", "Leave it out: the gradient is then dense.")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = None if padding_idx is None else known_row(padding_idx, num_embeddings)
        table = creation.empty(num_embeddings, embedding_dim, dtype=dtype) if _weight is None else _weight
        self.weight = Parameter(table, not _freeze)
        if _weight is None:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new normal starting values; the padding row is zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None) -> Module:
        """Return a layer around an existing table, frozen unless told otherwise."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        return cls(*embeddings.shape, padding_idx, _weight=embeddings, _freeze=freeze)

    def forward(self, input: Tensor) -> Tensor:
        """Map integers (...) to vectors (..., embedding_dim)."""
        return F.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


# --- convolution -------------------------------------------------------------------------------------------


class _Convolution(_Map):
    """The base of Conv1d and Conv2d."""

    dimensions = 0

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
        device=None, dtype=None,
    ):
        super().__init__()
        usual_form(type(self).__name__, padding, dilation, groups)
        n = self.dimensions
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, per_dimension(kernel_size, n)
        self.stride, self.padding = per_dimension(stride, n), per_dimension(padding, n)
        self.make_parameters((out_channels, in_channels, *self.kernel_size), (out_channels,) if bias else None, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """Return (N, in_channels, ...) -> (N, out_channels, ...)."""
        return convolve(self.dimensions, input, self.weight, self.bias, self.stride, self.padding)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, " + settings_text(self, "kernel_size", "stride")
        text += f", padding={self.padding}" if any(self.padding) else ""
        return text + (", bias=False" if self.bias is None else "")


class Conv1d(_Convolution):
    """Convolution over one dimension."""

    dimensions = 1


class Conv2d(_Convolution):
    """Convolution over two dimensions."""

    dimensions = 2


# --- normalisation -----------------------------------------------------------------------------------------


class _Normalising(_Layer):
    """The base of layers that normalise: a weight of ones and a bias of zeros, or None for what they do without."""

    def reset_parameters(self) -> None:
        """Set weights to one and biases to zero."""
        for name, parameter in self.named_parameters(recurse=False):
            init.constant_(parameter, float(name == "weight"))


class _BatchNorm(_Normalising):
    """The base of BatchNorm1d and BatchNorm2d.

    In training mode the batch's own statistics are used and the running ones move towards them, also under no_grad;
    in eval mode the running ones are used. momentum=None averages over all batches.
    """

    _shown = "eps", "momentum", "affine", "bias", "track_running_stats"
    input_dimensions = ()

    def __init__(
        self, num_features, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None
    ):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        tracked = track_running_stats
        self.register_buffer("running_mean", creation.zeros(num_features, dtype=dtype) if tracked else None)
        self.register_buffer("running_var", creation.ones(num_features, dtype=dtype) if tracked else None)
        self.register_buffer("num_batches_tracked", creation.tensor(0) if tracked else None)
        shape = (num_features,) if affine else None
        self.make_parameters(shape, shape, dtype)

    def reset_running_stats(self) -> None:
        """Begin the running statistics anew."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Set weights to one and biases to zero, and begin the running statistics anew."""
        self.reset_running_stats()
        super().reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """Return (N, C, ...) -> the same shape, each channel normalised."""
        if input.dim() not in self.input_dimensions:
            expected = " or ".join(f"{n}D" for n in self.input_dimensions)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")
        momentum, tracked = self.momentum, self.track_running_stats
        if self.training and tracked and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            momentum = 1.0 / float(self.num_batches_tracked) if momentum is None else momentum
        running = (self.running_mean, self.running_var) if tracked or not self.training else (None, None)
        own_statistics = self.training or (self.running_mean is None and self.running_var is None)
        return F.batch_norm(input, *running, self.weight, self.bias, own_statistics, momentum or 0.0, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_features}, " + super().extra_repr()


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (N, C) or (N, C, L)."""

    input_dimensions = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W)."""

    input_dimensions = (4,)


class LayerNorm(_Normalising):
    """Normalises each sample over its last dimensions; the same in training and evaluation."""

    _shown = "eps", "elementwise_affine", "bias"

    def __init__(
        self, normalized_shape, eps=1e-05, elementwise_affine=True, bias=True, device=None, dtype=None
    ):
        super().__init__()
        self.normalized_shape, self.eps = per_dimension(normalized_shape, 1), eps
        self.elementwise_affine = elementwise_affine
        shape = self.normalized_shape if elementwise_affine else None
        self.make_parameters(shape, shape if bias else None, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """Return (..., *normalized_shape) -> the same shape."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, " + super().extra_repr()
