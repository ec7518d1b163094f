"""Layers: modules with parameters, and the ones that only reshape or drop.

PyTorch: torch/nn/modules (linear.py, conv.py, batchnorm.py, normalization.py, sparse.py, dropout.py, flatten.py,
pooling.py).
"""

import math

from course_lib.autograd.grad_mode import no_grad
from course_lib.nn import functional as F
from course_lib.nn import init
from course_lib.nn.functional.convolution import MODES, convolve, per_dimension, same_sides
from course_lib.nn.functional.linear import check_lookup, known_row
from course_lib.nn.module import Module, settings
from course_lib.nn.parameter import Parameter
from course_lib.surface import creation
from course_lib.surface import functions as composites


def make(*shape, dtype=None):
    """A parameter whose values are still to be chosen."""
    return Parameter(creation.empty(*shape, dtype=dtype))


class Identity(Module):
    """Returns its input; arguments to the constructor are ignored."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        """The input itself."""
        return input


class Linear(Module):
    """input @ weight.T + bias, with weight (out_features, in_features).

    Weights and biases start evenly spread within 1 / sqrt(in_features).
    """

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = make(out_features, in_features, dtype=dtype)
        self.register_parameter("bias", make(out_features, dtype=dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw new starting values."""
        reset_weight_and_bias(self, self.in_features)

    def forward(self, input):
        """input (..., in_features) -> (..., out_features)."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self):
        return settings(self, "in_features", "out_features") + f", bias={self.bias is not None}"


def reset_weight_and_bias(module, fan_in):
    """Start a weight and a bias, if there is one, evenly spread within 1 / sqrt(fan_in)."""
    init.kaiming_uniform_(module.weight, a=math.sqrt(5))
    if module.bias is not None:
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
        init.uniform_(module.bias, -bound, bound)


class Flatten(Module):
    """All dimensions from start_dim to end_dim made one; by default all but the batch."""

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        """(N, A, B, ...) -> (N, A * B * ...)."""
        return composites.flatten(input, self.start_dim, self.end_dim)

    def extra_repr(self):
        return settings(self, "start_dim", "end_dim")


class Dropout(Module):
    """Sets elements to zero with chance p while training; nothing in eval mode. ValueError for p outside [0, 1]."""

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input):
        """The input with elements dropped, the others scaled up."""
        return F.dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self):
        return settings(self, "p", "inplace")


class Embedding(Module):
    """A table of vectors, looked up by number. The row padding_idx starts at zero and gets no gradient."""

    def __init__(
        self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0,
        scale_grad_by_freq=False, sparse=False, _weight=None, _freeze=False, device=None, dtype=None,
    ):
        super().__init__()
        check_lookup(max_norm, scale_grad_by_freq, sparse)
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = None if padding_idx is None else known_row(padding_idx, num_embeddings)
        if _weight is not None and list(_weight.shape) != [num_embeddings, embedding_dim]:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        table = creation.empty(num_embeddings, embedding_dim, dtype=dtype) if _weight is None else _weight
        self.weight = Parameter(table, not _freeze)
        if _weight is None:
            self.reset_parameters()

    def reset_parameters(self):
        """Draw new normal starting values; the padding row is zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, **options):
        """A layer around an existing table, frozen unless told otherwise."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        return cls(*embeddings.shape, padding_idx, _weight=embeddings, _freeze=freeze, **options)

    def forward(self, input):
        """Integers (...) -> vectors (..., embedding_dim)."""
        return F.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self):
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


# --- convolution and pooling -------------------------------------------------------------------------------


class _Convolution(Module):
    """What Conv1d and Conv2d share. ValueError for groups, a padding or a padding mode that do not fit."""

    dimensions = 0

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
        padding_mode="zeros", device=None, dtype=None,
    ):
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(f"{name} must be divisible by groups")
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
        if padding_mode not in ("zeros", *MODES):
            raise ValueError(f"padding_mode must be one of {('zeros', *MODES)}, but got padding_mode={padding_mode!r}")
        n = self.dimensions
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = per_dimension(kernel_size, n), per_dimension(stride, n)
        if padding == "same" and self.stride != (1,) * n:
            raise ValueError("padding='same' is not supported for strided convolutions")
        self.padding = padding if isinstance(padding, str) else per_dimension(padding, n)
        self.padding_mode, self.dilation = padding_mode, per_dimension(dilation, n)
        self.weight = make(out_channels, in_channels // groups, *self.kernel_size, dtype=dtype)
        self.register_parameter("bias", make(out_channels, dtype=dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw new starting values."""
        reset_weight_and_bias(self, init.fans(self.weight)[0])

    def forward(self, input):
        """(N, in_channels, ...) -> (N, out_channels, ...)."""
        padding = self.padding
        if self.padding_mode != "zeros" and padding != "valid":
            sides = same_sides(self.kernel_size, self.dilation)
            if padding != "same":
                sides = [n for side in reversed(padding) for n in (side, side)]
            input, padding = F.pad(input, sides, mode=self.padding_mode), 0
        return convolve(
            self.dimensions, input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )

    def extra_repr(self):
        text = f"{self.in_channels}, {self.out_channels}, " + settings(self, "kernel_size", "stride")
        for name, usual in (("padding", 0), ("dilation", 1), ("groups", 1)):
            if getattr(self, name) not in (usual, (usual,) * self.dimensions):
                text += ", " + settings(self, name)
        text += ", bias=False" if self.bias is None else ""
        return text + ("" if self.padding_mode == "zeros" else f", padding_mode={self.padding_mode}")


class Conv1d(_Convolution):
    """Convolution over one dimension."""

    dimensions = 1


class Conv2d(_Convolution):
    """Convolution over two dimensions."""

    dimensions = 2


class MaxPool2d(Module):
    """The largest element of each patch."""

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input):
        """(N, C, H, W) -> (N, C, fewer, fewer)."""
        return F.max_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )

    def extra_repr(self):
        return settings(self, "kernel_size", "stride", "padding", "dilation", "ceil_mode")


class AvgPool2d(Module):
    """The mean of each patch."""

    def __init__(
        self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
    ):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def forward(self, input):
        """(N, C, H, W) -> (N, C, fewer, fewer)."""
        return F.avg_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self):
        return settings(self, "kernel_size", "stride", "padding")


# --- normalisation -----------------------------------------------------------------------------------------


class _Normalising(Module):
    """What the layers share that normalise: a weight of ones and a bias of zeros, or None for what they do without."""

    def make_parameters(self, shape, weight, bias, dtype):
        """The parameters of a shape that are asked for."""
        self.register_parameter("weight", make(*shape, dtype=dtype) if weight else None)
        self.register_parameter("bias", make(*shape, dtype=dtype) if bias else None)

    def reset_parameters(self):
        """Weights of one, biases of zero."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class _BatchNorm(_Normalising):
    """What BatchNorm1d and BatchNorm2d share.

    In training mode the batch's own statistics are used and the running ones move towards them, also under no_grad;
    in eval mode the running ones are used. momentum=None averages over all batches.
    """

    _version = 2
    input_dimensions = ()

    def __init__(
        self, num_features, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None,
        *, bias=True,
    ):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.make_parameters((num_features,), affine, affine and bias, dtype)
        tracked = track_running_stats
        self.register_buffer("running_mean", creation.zeros(num_features, dtype=dtype) if tracked else None)
        self.register_buffer("running_var", creation.ones(num_features, dtype=dtype) if tracked else None)
        self.register_buffer("num_batches_tracked", creation.tensor(0) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self):
        """Begin the running statistics anew."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Weights of one, biases of zero, running statistics from the beginning."""
        self.reset_running_stats()
        super().reset_parameters()

    def forward(self, input):
        """(N, C, ...) -> the same shape, each channel normalised."""
        if input.dim() not in self.input_dimensions:
            expected = " or ".join(f"{n}D" for n in self.input_dimensions)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")
        momentum = self.momentum or 0.0
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / float(self.num_batches_tracked)
        own_statistics = self.training or (self.running_mean is None and self.running_var is None)
        update = not self.training or self.track_running_stats
        return F.batch_norm(
            input, self.running_mean if update else None, self.running_var if update else None, self.weight, self.bias,
            own_statistics, momentum, self.eps,
        )

    def extra_repr(self):
        shown = settings(self, "eps", "momentum", "affine")
        return f"{self.num_features}, {shown}, bias={self.bias is not None}, " + settings(self, "track_running_stats")


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (N, C) or (N, C, L)."""

    input_dimensions = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W)."""

    input_dimensions = (4,)


class LayerNorm(_Normalising):
    """Normalises each sample over its last dimensions; the same in training and evaluation."""

    def __init__(
        self, normalized_shape, eps=1e-05, elementwise_affine=True, bias=True, device=None, dtype=None
    ):
        super().__init__()
        self.normalized_shape, self.eps = per_dimension(normalized_shape, 1), eps
        self.elementwise_affine = elementwise_affine
        self.make_parameters(self.normalized_shape, elementwise_affine, elementwise_affine and bias, dtype)
        self.reset_parameters()

    def forward(self, input):
        """(..., *normalized_shape) -> the same shape."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        shown = settings(self, "eps", "elementwise_affine")
        return f"{self.normalized_shape}, {shown}, bias={self.bias is not None}"


class RMSNorm(Module):
    """Divides each sample by the root of the mean of its squares over the last dimensions."""

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape, self.eps = per_dimension(normalized_shape, 1), eps
        self.elementwise_affine = elementwise_affine
        weight = make(*self.normalized_shape, dtype=dtype) if elementwise_affine else None
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self):
        """Weights of one."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x):
        """(..., *normalized_shape) -> the same shape."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, " + settings(self, "eps", "elementwise_affine")
