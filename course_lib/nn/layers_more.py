"""Layers of pictures and sequences, and the modules of the functions in functional_more.py. Read when first used.

PyTorch: torch/nn/modules (conv.py, pooling.py, padding.py, normalization.py, instancenorm.py, dropout.py, fold.py,
pixelshuffle.py, upsampling.py, distance.py, loss.py, rnn.py).
"""

import math
import warnings

from course_lib.native import composites, creation
from course_lib.native.building import rows
from course_lib.native.joining import cat, stack
from course_lib.nn import functional as F
from course_lib.nn import functional_more as more
from course_lib.nn import init
from course_lib.nn.activations import activation
from course_lib.nn.layers import Dropout, _BatchNorm, _Convolution, make
from course_lib.nn.losses import loss
from course_lib.nn.module import Module


class _Plain(Module):
    """A module whose constructor's arguments are attributes, printed and passed on to a function in their order."""

    function, options, dimensions, spread, shown = None, {}, 0, (), None

    def __init__(self, *args, **kwargs):
        super().__init__()
        given = dict(zip(self.options, args, strict=False)) | kwargs
        unknown = next((name for name in given if name not in self.options), None)
        missing = [name for name, default in self.options.items() if default is ... and name not in given]
        if unknown is not None or len(args) > len(self.options):
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{unknown}'")
        if missing:
            count = f"{len(missing)} required positional argument{'s' * (len(missing) > 1)}"
            raise TypeError(f"{type(self).__name__}.__init__() missing {count}: '{missing[0]}'")
        for name, default in self.options.items():
            value = given.get(name, default)
            spread = name in self.spread and value is not None
            setattr(self, name, F.per_dimension(value, self.dimensions) if spread else value)

    def forward(self, input):
        """What the function makes of the input."""
        return type(self).function(input, **{name: getattr(self, name) for name in self.options})

    def extra_repr(self):
        names = self.options if self.shown is None else self.shown
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


def plain(name, function, shown=None, dimensions=0, spread=(), **options):
    """A module class for one function; an option of ... must be given."""
    made = {
        "function": staticmethod(function), "options": options, "shown": shown, "dimensions": dimensions,
        "spread": spread, "__doc__": function.__doc__, "__module__": __name__,
    }  # fmt: skip
    return type(name, (_Plain,), made)


# --- convolution -------------------------------------------------------------------------------------------


class Conv3d(_Convolution):
    """Convolution over three dimensions."""

    dimensions = 3


class _Transposed(_Convolution):
    """What the transposed convolutions share: their weight is (in_channels, out_channels / groups, ...)."""

    transposed = True

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True,
        dilation=1, padding_mode="zeros", device=None, dtype=None,
    ):  # fmt: skip
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype
        )
        self.output_padding = F.per_dimension(output_padding, self.dimensions)

    def forward(self, input, output_size=None):
        """(N, in_channels, ...) -> (N, out_channels, ...), larger; output_size chooses among the possible ones."""
        more_at_end = self.output_padding if output_size is None else self.fitting(input, output_size)
        return more.conv_transpose(
            self.dimensions, input, self.weight, self.bias, self.stride, self.padding, more_at_end, self.groups,
            self.dilation,
        )  # fmt: skip

    def fitting(self, input, output_size):
        """How much to add at the end of each dimension, so that the result has a size."""
        n = self.dimensions
        rank, sizes = input.dim(), input.shape[-n:]
        if len(output_size) not in (n, rank):
            raise ValueError(
                f"ConvTranspose{n}D: for {rank}D input, output_size must have {n} or {rank} elements (got "
                f"{len(output_size)})"
            )
        wanted = output_size if len(output_size) == n else output_size[-n:]
        spans = [d * (k - 1) + 1 for d, k in zip(self.dilation, self.kernel_size, strict=True)]
        least = [(sizes[d] - 1) * self.stride[d] - 2 * self.padding[d] + spans[d] for d in range(n)]
        most = [least[d] + self.stride[d] - 1 for d in range(n)]
        if not all(least[d] <= wanted[d] <= most[d] for d in range(n)):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {least} to {most} (for an input of "
                f"{sizes})"
            )
        return [wanted[d] - least[d] for d in range(n)]


class ConvTranspose1d(_Transposed):
    """Transposed convolution over one dimension."""

    dimensions = 1


class ConvTranspose2d(_Transposed):
    """Transposed convolution over two dimensions."""

    dimensions = 2


class ConvTranspose3d(_Transposed):
    """Transposed convolution over three dimensions."""

    dimensions = 3


# --- pooling, padding, resizing ----------------------------------------------------------------------------


class _Pool(_Plain):
    """A pooling layer: without a stride its windows lie side by side."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if self.stride is None:
            self.stride = self.kernel_size
        for name in self.spread:
            setattr(self, name, F.per_dimension(getattr(self, name), self.dimensions))


def pool(name, function, shown, spread=(), dimensions=0, **options):
    """A module class for one function of pooling."""
    made = plain(name, function, shown, dimensions, **({"kernel_size": ..., "stride": None} | options))
    return type(name, (_Pool,), {**vars(made), "spread": spread})


_MAX = {"padding": 0, "dilation": 1, "return_indices": False, "ceil_mode": False}
_SHOWN = ("kernel_size", "stride", "padding")
MaxPool1d, MaxPool3d = (
    pool(f"MaxPool{n}d", function, (*_SHOWN, "dilation", "ceil_mode"), **_MAX)
    for n, function in ((1, more.max_pool1d), (3, more.max_pool3d))
)
AvgPool1d = pool(
    "AvgPool1d", more.avg_pool1d, _SHOWN, _SHOWN, 1, padding=0, ceil_mode=False, count_include_pad=True
)
AvgPool3d = pool(
    "AvgPool3d", more.avg_pool3d, _SHOWN, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
)
AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d = (
    plain(f"AdaptiveAvgPool{n}d", getattr(more, f"adaptive_avg_pool{n}d"), output_size=...) for n in (1, 2, 3)
)
AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d = (
    plain(
        f"AdaptiveMaxPool{n}d", getattr(more, f"adaptive_max_pool{n}d"), ("output_size",), output_size=...,
        return_indices=False,
    )  # fmt: skip
    for n in (1, 2, 3)
)
_LP_SHOWN = ("norm_type", "kernel_size", "stride", "ceil_mode")
_LP = {"norm_type": ..., "kernel_size": ..., "stride": None, "ceil_mode": False}
LPPool1d, LPPool2d = (
    plain(f"LPPool{n}d", function, _LP_SHOWN, **_LP) for n, function in ((1, more.lp_pool1d), (2, more.lp_pool2d))
)


class _Pad(Module):
    """A layer that pads the last dimensions."""

    mode, dimensions = "constant", 0

    def __init__(self, padding, value=0.0):
        super().__init__()
        self.padding = (padding,) * (2 * self.dimensions) if isinstance(padding, int) else tuple(padding)
        if self.mode == "constant":
            self.value = value

    def forward(self, input):
        """The input with more around it."""
        n = self.dimensions
        if self.mode == "circular" and input.dim() not in (n + 1, n + 2):
            raise ValueError(f"expected {n + 1}D or {n + 2}D input (got {input.dim()}D input)")
        return F.pad(input, self.padding, self.mode, self.value if self.mode == "constant" else None)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}" if type(self).__name__[0] == "C" and (
            self.mode == "constant"
        ) else f"{self.padding}"


def _pads(name, mode, text):
    for n in (1, 2, 3):
        made = {"mode": mode, "dimensions": n, "__doc__": f"{text} around the last {n}.", "__module__": __name__}
        yield type(f"{name}{n}d", (_Pad,), made)


ConstantPad1d, ConstantPad2d, ConstantPad3d = _pads("ConstantPad", "constant", "A value")
ZeroPad1d, ZeroPad2d, ZeroPad3d = _pads("ZeroPad", "constant", "Zeros")
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = _pads("ReflectionPad", "reflect", "The mirror image")
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = _pads("ReplicationPad", "replicate", "The edge")
CircularPad1d, CircularPad2d, CircularPad3d = _pads("CircularPad", "circular", "The other end")

PixelShuffle = plain("PixelShuffle", more.pixel_shuffle, upscale_factor=...)
PixelUnshuffle = plain("PixelUnshuffle", more.pixel_unshuffle, downscale_factor=...)
ChannelShuffle = plain("ChannelShuffle", more.channel_shuffle, groups=...)
Unfold = plain("Unfold", more.unfold, kernel_size=..., dilation=1, padding=0, stride=1)
Fold = plain("Fold", more.fold, output_size=..., kernel_size=..., dilation=1, padding=0, stride=1)


class Upsample(Module):
    """Pictures of another size: interpolate, as a layer."""

    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
        super().__init__()
        self.name, self.size, self.mode, self.align_corners = type(self).__name__, size, mode, align_corners
        self.recompute_scale_factor = recompute_scale_factor
        if isinstance(scale_factor, tuple):
            self.scale_factor = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None

    def forward(self, input):
        """(N, C, ...) -> (N, C, other sizes)."""
        return more.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )

    def extra_repr(self):
        size = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{size}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample by the nearest pixel."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample by straight lines between the corners."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


# --- normalisation -----------------------------------------------------------------------------------------


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (N, C, D, H, W)."""

    input_dimensions = (5,)


class GroupNorm(Module):
    """Normalises groups of channels of each sample."""

    def __init__(self, num_groups, num_channels, eps=1e-05, affine=True, device=None, dtype=None, *, bias=True):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self.register_parameter("weight", make(num_channels, dtype=dtype) if affine else None)
        self.register_parameter("bias", make(num_channels, dtype=dtype) if affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Weights of one, biases of zero."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input):
        """(N, C, ...) -> the same shape."""
        return more.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        text = f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"
        return f"{text}, bias={self.bias is not None}"


class RMSNorm(Module):
    """Divides each sample by the root of the mean of its squares over the last dimensions."""

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps, self.elementwise_affine = shape, eps, elementwise_affine
        self.register_parameter("weight", make(*shape, dtype=dtype) if elementwise_affine else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Weights of one."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x):
        """(..., *normalized_shape) -> the same shape."""
        return more.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class _InstanceNorm(_BatchNorm):
    """Normalises each channel of each sample by itself; one dimension less is a sample without a batch."""

    def __init__(
        self, num_features, eps=1e-05, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None,
        *, bias=True,
    ):  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input):
        """(N, C, ...) or (C, ...) -> the same shape."""
        n = self.input_dimensions[0]
        if input.dim() not in (n - 1, n):
            raise ValueError(f"expected {n - 1}D or {n}D input (got {input.dim()}D input)")
        channels = input.shape[input.dim() - n + 1]
        if channels != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={input.dim() - n + 1} to match num_features ({self.num_features}), "
                    f"but got: {channels}."
                )
            warnings.warn(
                f"input's size at dim={input.dim() - n + 1} does not match num_features. You can silence this warning "
                "by not passing in num_features, which is not used because affine=False", stacklevel=2,
            )  # fmt: skip
        lines = input if input.dim() == n else composites.unsqueeze(input, 0)
        result = more.instance_norm(
            lines, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats, 0.0 if self.momentum is None else self.momentum, self.eps,
        )  # fmt: skip
        return result if input.dim() == n else composites.squeeze(result, 0)

    def extra_repr(self):
        return super().extra_repr()


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of (N, C, L)."""

    input_dimensions = (3,)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of (N, C, H, W)."""

    input_dimensions = (4,)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of (N, C, D, H, W)."""

    input_dimensions = (5,)


class LocalResponseNorm(_Plain):
    """Divides by a power of the sum of squares over neighbouring channels."""

    function, options = staticmethod(more.local_response_norm), {"size": ..., "alpha": 1e-4, "beta": 0.75, "k": 1.0}

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


# --- activations, dropping, distances ----------------------------------------------------------------------


class _Shown(_Plain):
    """A module that prints its options without their names."""

    def extra_repr(self):
        return ", ".join(f"{getattr(self, name)}" for name in self.options)


Hardshrink = type("Hardshrink", (_Shown,), {"function": staticmethod(more.hardshrink), "options": {"lambd": 0.5}})
Softshrink = type("Softshrink", (_Shown,), {"function": staticmethod(more.softshrink), "options": {"lambd": 0.5}})
GLU = activation("GLU", more.glu, module=__name__, dim=-1)


class RReLU(Module):
    """leaky_relu with random slopes while training."""

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input):
        """Element by element."""
        return more.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self):
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class Softmax2d(Module):
    """softmax over the channels of pictures."""

    def forward(self, input):
        """(N, C, H, W) or (C, H, W) -> the same shape."""
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)


def _dropout(name, function):
    def forward(self, input):
        return function(input, self.p, self.training, self.inplace)

    forward.__doc__ = function.__doc__
    return type(name, (Dropout,), {"forward": forward, "__doc__": function.__doc__, "__module__": __name__})


Dropout1d, Dropout2d = _dropout("Dropout1d", more.dropout1d), _dropout("Dropout2d", more.dropout2d)
Dropout3d, AlphaDropout = _dropout("Dropout3d", more.dropout3d), _dropout("AlphaDropout", more.alpha_dropout)


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along a dimension."""

    def __init__(self, dim=1, eps=1e-08):
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1, x2):
        """Two tensors -> one without the dimension."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of differences along the last dimension."""

    def __init__(self, p=2.0, eps=1e-06, keepdim=False):
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1, x2):
        """Two tensors -> one without the last dimension."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


SoftMarginLoss = loss("SoftMarginLoss", more.soft_margin_loss, module=__name__)
MultiLabelSoftMarginLoss = loss(
    "MultiLabelSoftMarginLoss", more.multilabel_soft_margin_loss, "weight", module=__name__
)
PoissonNLLLoss = loss(
    "PoissonNLLLoss", more.poisson_nll_loss, module=__name__, log_input=True, full=False, eps=1e-8
)
GaussianNLLLoss = loss("GaussianNLLLoss", more.gaussian_nll_loss, module=__name__, full=False, eps=1e-6)


class MultiMarginLoss(loss("MultiMarginLoss", more.multi_margin_loss, "weight", p=1, margin=1.0)):
    """How far other classes come within a margin of the right one."""

    def __init__(self, p=1, margin=1.0, weight=None, reduction="mean"):
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        super().__init__(p=p, margin=margin, weight=weight, reduction=reduction)


class TripletMarginWithDistanceLoss(
    loss(
        "TripletMarginWithDistanceLoss", more.triplet_margin_with_distance_loss, distance_function=None, margin=1.0,
        swap=False,
    )  # fmt: skip
):
    """The triplet loss by a distance of one's own."""

    def __init__(self, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
        if margin <= 0:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead"
            )
        chosen = PairwiseDistance() if distance_function is None else distance_function
        super().__init__(distance_function=chosen, margin=margin, swap=swap, reduction=reduction)


# --- recurrent networks ------------------------------------------------------------------------------------


class _Recurrent(Module):
    """What RNN, LSTM and GRU share: layers of cells, run over a sequence forwards and, if asked to, backwards.

    Parameters are named as in PyTorch: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, then l0_reverse, l1 ...
    """

    gates, states = 1, 1

    def __init__(
        self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
        proj_size=0, device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        for name, value, kind in (
            ("input_size", input_size, int), ("hidden_size", hidden_size, int), ("bias", bias, bool),
            ("batch_first", batch_first, bool),
        ):  # fmt: skip
            if not isinstance(value, kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
        for name, value in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
            if value <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if proj_size:
            raise composites.errors.not_supported("LSTM with proj_size", "Put a Linear layer behind it.")
        if not isinstance(dropout, int | float) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}", stacklevel=2,
            )  # fmt: skip
        self.mode = type(self).__name__
        self.input_size, self.hidden_size, self.num_layers, self.bias = input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional = batch_first, float(dropout), bidirectional
        self.proj_size = 0
        width = self.gates * hidden_size
        for layer in range(num_layers):
            for end in ("", "_reverse")[: 1 + bidirectional]:
                inputs = hidden_size * (1 + bidirectional) if layer else input_size
                shapes = {"weight_ih": (width, inputs), "weight_hh": (width, hidden_size)}
                shapes |= {"bias_ih": (width,), "bias_hh": (width,)} if bias else {}
                for name, shape in shapes.items():
                    self.register_parameter(f"{name}_l{layer}{end}", make(*shape, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        """Draw new starting values, evenly spread within 1 / sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def flatten_parameters(self):
        """Does nothing: it is for GPUs."""

    @property
    def all_weights(self):
        """The parameters of each layer in each direction, in one list each."""
        ways = [(layer, end) for layer in range(self.num_layers) for end in ("", "_reverse")[: 1 + self.bidirectional]]
        return [[w for w in self.weights(*way) if w is not None] for way in ways]

    def weights(self, layer, end):
        """The parameters of one layer in one direction; None for missing biases."""
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        return [getattr(self, f"{name}_l{layer}{end}", None) for name in names]

    def forward(self, input, hx=None):
        """(L, N, input_size), or (N, L, input_size) with batch_first -> (outputs, last state)."""
        if input.dim() not in (2, 3):
            name, what = self.mode.partition("_")[0], " tensor" * self.mode.startswith("RNN")
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D{what} instead")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )
        kind = self.weight_ih_l0.dtype
        if input.dtype is not kind:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({kind}). Convert input: "
                f"input.to({kind}), or convert model: model.to({input.dtype})"
            )
        batched = input.dim() == 3
        if hx is not None:
            hx = (hx[0], hx[1]) if self.states > 1 else hx
            self.check_dimensions(hx if self.states > 1 else (hx,), 3 if batched else 2)
        if not batched:
            input = composites.unsqueeze(input, 0 if self.batch_first else 1)
            hx = None if hx is None else self.of_each(hx, lambda h: composites.unsqueeze(h, 1))
        if self.batch_first:
            input = composites.transpose(input, 0, 1)
        directions = 1 + self.bidirectional
        shape = (self.num_layers * directions, input.shape[1], self.hidden_size)
        if hx is None:
            state = [creation.zeros(*shape, dtype=input.dtype)] * self.states
        else:
            state = list(hx) if self.states > 1 else [hx]
        for number, h in enumerate(state):
            if tuple(h.shape) != shape:
                which = f"hidden[{number}]" if self.states > 1 else "hidden"
                raise RuntimeError(f"Expected {which} size {shape}, got {list(h.shape)}")
        outputs, last = self.run(input, state)
        if self.batch_first:  # as PyTorch: in place where it can be
            outputs = composites.transpose(outputs, 0, 1) if self.states > 1 else outputs.transpose_(0, 1)
        if not batched:
            outputs = composites.squeeze(outputs, 0 if self.batch_first else 1)
            last = [composites.squeeze(h, 1) for h in last]
        return outputs, tuple(last) if self.states > 1 else last[0]

    def check_dimensions(self, state, wanted):
        """RuntimeError unless the state comes in batches exactly when the input does."""
        got = [f"{h.dim()}-D" for h in state]
        if all(h.dim() == wanted for h in state):
            return
        start = f"For {'batched 3-D' if wanted == 3 else 'unbatched 2-D'} input,"
        if self.states > 1:
            raise RuntimeError(f"{start} hx and cx should also be {wanted}-D but got ({', '.join(got)}) tensors")
        raise RuntimeError(f"{start} hx should also be {wanted}-D but got {got[0]} tensor")

    def of_each(self, hx, function):
        """The state, or each of its parts, changed."""
        return tuple(map(function, hx)) if self.states > 1 else function(hx)

    def run(self, sequence, state):
        """All layers, one after the other: (outputs of the last, final state of all)."""
        directions, last = 1 + self.bidirectional, []
        for layer in range(self.num_layers):
            outputs = []
            for way in range(directions):
                weights, start = self.weights(layer, "_reverse" * way), [h[layer * directions + way] for h in state]
                steps, end = self.along(sequence, start, weights, backwards=way == 1)
                outputs.append(steps)
                last.append(end)
            sequence = outputs[0] if directions == 1 else cat(outputs, -1)
            if self.dropout and self.training and layer < self.num_layers - 1:
                sequence = F.dropout(sequence, self.dropout)
        return sequence, [stack([end[i] for end in last], 0) for i in range(self.states)]

    def along(self, sequence, state, weights, backwards):
        """One layer over the sequence in one direction."""
        weight_ih, weight_hh, bias_ih, bias_hh = weights
        from_inputs, outputs = F.linear(sequence, weight_ih, bias_ih), []
        for step in composites.unbind(from_inputs.flip(0) if backwards else from_inputs, 0):
            state = self.step(step, F.linear(state[0], weight_hh, bias_hh), *state)
            outputs.append(state[0])
        return stack(outputs[::-1] if backwards else outputs, 0), state

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        for name, usual in dict(
            num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False
        ).items():
            text += "" if getattr(self, name) == usual else f", {name}={getattr(self, name)}"
        return text


class RNN(_Recurrent):
    """tanh (or relu) of a linear map of the input plus one of the state."""

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", *args, **kwargs):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        self.__dict__["nonlinearity"] = nonlinearity
        super().__init__(input_size, hidden_size, num_layers, *args, **kwargs)
        self.mode = f"RNN_{nonlinearity.upper()}"

    def step(self, from_input, from_state, state):
        """The next state."""
        return [(rows.tanh if self.nonlinearity == "tanh" else rows.relu)(from_input + from_state)]


class LSTM(_Recurrent):
    """A cell state that is partly forgotten and partly written to, and an output gate."""

    gates, states = 4, 2

    def step(self, from_input, from_state, hidden, cell):
        """The next (hidden, cell)."""
        write, forget, new, output = (from_input + from_state).chunk(4, -1)
        cell = rows.sigmoid(forget) * cell + rows.sigmoid(write) * rows.tanh(new)
        return [rows.sigmoid(output) * rows.tanh(cell), cell]


class GRU(_Recurrent):
    """A state that is a mixture of its old value and a new one."""

    gates = 3

    def step(self, from_input, from_state, state):
        """The next state."""
        reset_i, update_i, new_i = from_input.chunk(3, -1)
        reset_s, update_s, new_s = from_state.chunk(3, -1)
        reset, update = rows.sigmoid(reset_i + reset_s), rows.sigmoid(update_i + update_s)
        new = rows.tanh(new_i + reset * new_s)
        return [(state - new) * update + new]


__all__ = [
    name for name, value in list(globals().items())
    if isinstance(value, type) and issubclass(value, Module) and not name.startswith("_")
    and name not in ("Dropout", "Module")
]  # fmt: skip
