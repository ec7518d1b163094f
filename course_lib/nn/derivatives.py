"""THE TABLE, continued: the operations of neural networks. Loaded when course_lib.nn is first used.

PyTorch: tools/autograd/derivatives.yaml (the rows of nll_loss, convolution, native_batch_norm ...).

Read a row as in derivatives.py. `weight=None` marks an argument that may be left out.
"""

from course_lib.arrays.kernels import activations, convolving, losses, normalizing
from course_lib.engine.build import KERNELS, ON_TENSORS, OPERATION_NAMES, rows
from course_lib.engine.ops import ROWS, row
from course_lib.surface import functions as composites

for _module in (activations, convolving, losses, normalizing):  # formulas find the functions they call there too
    KERNELS.append(_module)
    OPERATION_NAMES[_module.__name__.rpartition(".")[2]] = _module

# --- losses: reduction is 0, 1 or 2 for "none", "mean" or "sum" ---------------------------------------------

row("mse_loss(self, target, reduction=1)", "losses.mse_loss(self, target, reduction)",
    elementwise=("self", "target"), in_place=False,
    self="mse_loss_backward(grad, self, target, reduction)",
    target="mse_loss_backward(grad, target, self, reduction)")
row("mse_loss_backward(grad_output, self, target, reduction)",
    "2 * (self - target) * losses.per_element(grad_output, self, reduction)",
    node="MseLossBackwardBackward0", elementwise=False, broadcasts=("grad_output", "self", "target"),
    keeps=("grad_output", "self", "target"),
    grad_output="mse_loss_backward(grad, self, target, reduction)",
    self="2 * grad * per_element(grad_output, self, reduction)",
    target="-2 * grad * per_element(grad_output, self, reduction)")
row("huber_loss(self, target, reduction=1, delta: Number=1.0)", "losses.huber_loss(self, target, reduction, delta)",
    elementwise=("self", "target"), in_place=False,
    self="clamp(self - target, -delta, delta) * per_element(grad, self, reduction)",
    target="clamp(target - self, -delta, delta) * per_element(grad, self, reduction)")
row("binary_cross_entropy(self, target, weight: Tensor=None, reduction=1)",
    "losses.binary_cross_entropy(self, target, weight, reduction)", elementwise=False, keeps=("self", "target"),
    self="weighted((self - target) / clamp((1 - self) * self, 1e-12), weight) * per_element(grad, self, reduction)",
    target="weighted(log(1 - self) - log(self), weight) * per_element(grad, self, reduction)")
row("bce_with_logits(self, target, weight: Tensor=None, pos_weight: Tensor=None, reduction=1)",
    "losses.bce_with_logits(self, target, weight, pos_weight, reduction)",
    node="BinaryCrossEntropyWithLogitsBackward0", elementwise=False, broadcasts=("self", "target"),
    keeps=("self", "target"),
    self="typed(weighted(bce_logits_slope(self, target, pos_weight), weight) * per_element(grad, self, reduction), "
         "self)",
    target="typed(weighted(bce_logits_target_slope(self, pos_weight), weight) * per_element(grad, self, reduction), "
           "target)")
for _dimensions in ("", "2d"):  # PyTorch has two, by the number of dimensions
    row(f"nll_loss{_dimensions}(self, target: Tensor, weight: Tensor=None, reduction=1, ignore_index=-100)",
        "losses.nll_loss(self, target, weight, reduction, ignore_index)",
        node=f"NllLoss{_dimensions.upper()}Backward0", outputs=("output", "total_weight"),
        self=f"nll_loss{_dimensions}_backward(grad, self, target, total_weight, weight, reduction, ignore_index)")

# --- activations -------------------------------------------------------------------------------------------

row("log_sigmoid(self)", "activations.log_sigmoid(self)", outputs=("output", "buffer"), keeps=("buffer",),
    self="grad * sigmoid(-self)")
row("gelu(self, approximate='none')", "activations.gelu(self, approximate)",
    self="grad * gelu_slope(self, approximate)")
row("softplus(self, beta: Number=1, threshold: Number=20)", "activations.softplus(self, beta, threshold)",
    self="where(self * beta > threshold, grad, grad * sigmoid(self * beta))")
row("silu(self)", "kernels.floats(self, 'silu_cpu') * kernels.logistic(self)",
    self="grad * (sigmoid(self) * (1 + self * (1 - sigmoid(self))))")
row("safe_softmax(self, dim)", "activations.safe_softmax(self, dim)", elementwise=False,
    self="softmax_backward(grad, result, dim)")
row("leaky_relu(self, negative_slope: Number=0.01)",
    "np.where(kernels.floats(self, 'leaky_relu_cpu') > 0, self, self * negative_slope)",
    self="leaky_relu_backward(grad, self, negative_slope)")
# overwriting self, it gets its slope from the result: nothing of self is kept
row(f"leaky_relu_over({', '.join(ROWS['leaky_relu'].parameters)})", ROWS["leaky_relu"].forward, in_place="only",
    node="LeakyReluBackward1", self="leaky_relu_backward(grad, result, negative_slope)")

# --- convolution: each of the three has its gradients in terms of the other two ----------------------------

row("convolution(input, weight, bias=None, stride=1, padding=0)",
    "convolving.convolution(input, weight, bias, stride, padding)", elementwise=False, keeps=("input", "weight"),
    input="conv_input_grad(grad, weight, input.shape, stride, padding)",
    weight="conv_weight_grad(grad, input, weight.shape, stride, padding)",
    bias="conv_bias_grad(grad)")
row("conv_input_grad(grad_output, weight, sizes, stride, padding)",
    "convolving.conv_input_grad(grad_output, weight, sizes, stride, padding)",
    node="ConvolutionBackwardBackward0", elementwise=False,
    grad_output="convolution(grad, weight, None, stride, padding)",
    weight="conv_weight_grad(grad_output, grad, weight.shape, stride, padding)")
row("conv_weight_grad(grad_output, input, sizes, stride, padding)",
    "convolving.conv_weight_grad(grad_output, input, sizes, stride, padding)",
    node="ConvolutionBackwardBackward0", elementwise=False,
    grad_output="convolution(input, grad, None, stride, padding)",
    input="conv_input_grad(grad_output, grad, input.shape, stride, padding)")
row("max_pool2d(self, kernel_size, stride, padding)", "convolving.max_pool(self, kernel_size, stride, padding)",
    node="MaxPool2DWithIndicesBackward0", outputs=("result0", "result1"), keeps=("kernel_size", "stride", "padding"),
    self="max_pool_backward(grad, self, result1)")
row("avg_pool2d(self, kernel_size, stride, padding)", "convolving.avg_pool(self, kernel_size, stride, padding)",
    node="AvgPool2DBackward0", elementwise=False, keeps=("self",),
    self="avg_pool_backward(grad, self_sym_sizes, kernel_size, stride, padding)")
row("avg_pool_backward(grad_output, sizes, kernel_size, stride, padding)",
    "convolving.avg_pool_backward(grad_output, sizes, kernel_size, stride, padding)",
    node="AvgPool2DBackwardBackward0", elementwise=False,
    grad_output="avg_pool2d(grad, kernel_size, stride, padding)")
row("constant_pad_nd(self, pad, value: Number)", "convolving.padded(self, pad, value)", elementwise=False,
    self="unpadded(grad, pad)")

# --- gradients with rows of their own ----------------------------------------------------------------------
# Their slope in `self` is 0 almost everywhere. As rows they say so: the second derivative is zeros, as in PyTorch,
# and not an error about a gradient without history.

row("leaky_relu_backward(grad_output, self, negative_slope: Number)",
    "np.where(self > 0, grad_output, grad_output * negative_slope)", elementwise=False, keeps=("self",),
    grad_output="leaky_relu_backward(grad, self, negative_slope)",
    self="zeros_like(grad)")
for _dimensions in ("", "2d"):
    row(f"nll_loss{_dimensions}_backward(grad_output, self, target: Tensor, total_weight: Tensor, weight: Tensor=None, "
        "reduction=1, ignore_index=-100)",
        "losses.nll_loss_backward(grad_output, self, target, total_weight, weight, reduction, ignore_index)",
        node=f"NllLoss{_dimensions.upper()}BackwardBackward0", elementwise=False, keeps=("target", "weight"),
        grad_output=f"nll_loss{_dimensions}(grad, target, weight, reduction, ignore_index)[0]",
        self="zeros_like(grad)")
row("max_pool_backward(grad_output, self, indices: Tensor)",
    "convolving.max_pool_backward(grad_output, self, indices)",
    node="MaxPool2DWithIndicesBackwardBackward0", elementwise=False, keeps=("indices",),
    grad_output="max_pool_pick(grad, indices)",
    self="zeros_like(grad)")

# --- looking up and normalising ----------------------------------------------------------------------------

row("embedding(weight, indices: Tensor, padding_idx=-1)", "normalizing.embedding(weight, indices)", elementwise=False,
    weight="embedding_grad(grad, weight_sym_sizes, indices, padding_idx)")
row("native_batch_norm(input, weight=None, bias=None, running_mean: Tensor=None, running_var: Tensor=None, "
    "training=False, momentum: Number=0.1, eps: Number=1e-05)",
    "normalizing.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)",
    outputs=("result0", "result1", "result2"),
    keeps=("input", "weight", "running_mean", "running_var", "result1", "result2"),
    input="batch_norm_grad(grad, input, weight, running_mean, running_var, result1, result2, training, eps)",
    weight="batch_norm_weight_grad(grad, input, running_mean, running_var, result1, result2, training, eps)",
    bias="conv_bias_grad(grad)")
row("native_layer_norm(input, normalized_shape, weight=None, bias=None, eps: Number=1e-05)",
    "normalizing.layer_norm(input, normalized_shape, weight, bias, eps)",
    outputs=("result0", "result1", "result2"), keeps=("input", "weight", "bias", "result1", "result2"),
    input="layer_norm_grad(grad, input, normalized_shape, weight, result1, result2, eps)",
    weight="layer_norm_weight_grad(grad, input, normalized_shape, result1, result2, eps)",
    bias="sum_to(grad, normalized_shape)")


# --- the forms that take tensors, where a function of arrays cannot simply be read again: engine/build.py, twin_of


def _channel_statistics(x, running_mean, running_var, center, inverse, training, eps):
    if not training and running_mean is not None:
        shape = normalizing.channel_shape(x.array.ndim)
        return composites.reshape(running_mean, shape), rows.rsqrt(composites.reshape(running_var, shape) + eps)
    return _statistics(x, normalizing.other_axes(x.array.ndim), eps)


def _statistics(x, axes, eps):
    center = composites.mean(x, axes, True)
    return center, rows.rsqrt(composites.mean((x - center) ** 2, axes, True) + eps)


ON_TENSORS.update(
    padded=lambda x, pad, value: rows.constant_pad_nd(x, pad, value),
    channel_statistics=_channel_statistics,
    layer_statistics=lambda x, shape, center, inverse, eps: _statistics(
        x, normalizing.last_axes(x.array.ndim, shape), eps
    ),
)
