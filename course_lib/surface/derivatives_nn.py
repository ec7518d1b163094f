"""THE TABLE, continued: the operations of neural networks. Loaded when course_lib.nn is first used.

PyTorch: tools/autograd/derivatives.yaml (the rows of nll_loss, convolution, native_batch_norm ...).

Read a row as in derivatives.py. `weight=None` marks an argument that may be left out.
"""

import numpy as np

from course_lib.arrays import kernels_nn
from course_lib.engine.build import KERNELS, ON_TENSORS, OPERATION_NAMES, rows
from course_lib.engine.grad_mode import state
from course_lib.engine.ops import ROWS, row
from course_lib.engine.tensor import Tensor, new_tensor
from course_lib.engine.views import gradient_edge
from course_lib.surface import creation
from course_lib.surface import functions as composites
from course_lib.surface.joining import cat
from course_lib.surface.joint import joint

KERNELS.append(kernels_nn)  # formulas find the functions they call there too
OPERATION_NAMES["kernels_nn"] = kernels_nn

# --- losses: reduction is 0, 1 or 2 for "none", "mean" or "sum" ---------------------------------------------

row("mse_loss(self, target, reduction=1)", "kernels_nn.mse_loss(self, target, reduction)",
    elementwise=("self", "target"), in_place=False,
    self="mse_loss_backward(grad, self, target, reduction)",
    target="mse_loss_backward(grad, target, self, reduction)")
row("mse_loss_backward(grad_output, self, target, reduction)",
    "2 * kernels_nn.gap(self, target) * kernels_nn.per_element(grad_output, self, reduction)",
    node="MseLossBackwardBackward0", elementwise=False, broadcasts=("grad_output", "self", "target"),
    keeps=("grad_output", "self", "target"),
    recorded={"self": "mean_of(mul_number(grad * grad_output, 2), self, reduction)",
              "target": "-mean_of(mul_number(grad * grad_output, 2), self, reduction)"},
    grad_output="mse_loss_backward(grad, self, target, reduction)",
    self="2 * grad * per_element(grad_output, self, reduction)",
    target="-2 * grad * per_element(grad_output, self, reduction)")
row("smooth_l1_loss(self, target, reduction=1, beta=1.0)",
    "kernels_nn.smooth_l1_loss(self, target, reduction, beta)", node="SmoothL1LossBackward0",
    elementwise=("self", "target"), in_place=False,
    self="smooth_l1_loss_backward(grad, self, target, reduction, beta)",
    target="smooth_l1_loss_backward(grad, target, self, reduction, beta)")
row("smooth_l1_loss_backward(grad_output, self, target, reduction, beta)",
    "kernels_nn.smooth_l1_backward(grad_output, self, target, reduction, beta)", node="SmoothL1LossBackwardBackward0",
    elementwise=False, broadcasts=("grad_output", "self", "target"), keeps=("grad_output", "self", "target"),
    recorded={"self": "mean_of(bent_smoothly(grad * grad_output, self, target, beta), self, reduction)",
              "target": "-mean_of(bent_smoothly(grad * grad_output, self, target, beta), self, reduction)"},
    grad_output="smooth_l1_loss_backward(grad, self, target, reduction, beta)",
    self="grad * per_element(grad_output, self, reduction) * (abs(gap(self, target)) < beta) / beta",
    target="-grad * per_element(grad_output, self, reduction) * (abs(gap(self, target)) < beta) / beta")
row("huber_loss(self, target, reduction=1, delta=1.0)", "kernels_nn.huber_loss(self, target, reduction, delta)",
    elementwise=False,
    self="huber_loss_backward(grad, self, target, reduction, delta)",
    target="huber_loss_backward(grad, target, self, reduction, delta)")
row("huber_loss_backward(grad_output, self, target, reduction, delta)",
    "kernels_nn.huber_backward(grad_output, self, target, reduction, delta)", node="HuberLossBackwardBackward0",
    elementwise=False, broadcasts=("grad_output",), keeps=("grad_output", "self", "target"),
    recorded={
        "grad_output": "huber_loss_backward(ones_like(grad_output), self, target, reduction, delta) * grad",
        "self": "mean_of(grad * grad_output * closer(self, target, delta), self, reduction)",
        "target": "-mean_of(grad * grad_output * closer(self, target, delta), self, reduction)",
    },
    grad_output="huber_loss_backward(grad, self, target, reduction, delta)",
    self="grad * per_element(grad_output, self, reduction) * (abs(self - target) < delta)",
    target="-grad * per_element(grad_output, self, reduction) * (abs(self - target) < delta)")
row("binary_cross_entropy(self, target, weight: Tensor=None, reduction=1)",
    "kernels_nn.binary_cross_entropy(self, target, weight, reduction)", elementwise=False, keeps=("self", "target"),
    recorded={"self": "bce_backward(grad, self, target, weight, reduction)",
              "target": "mean_of(weighted(times_(neg_(logit_of(self)), grad), weight), self, reduction)"},
    self="bce_grad(grad, self, target, weight, reduction)",
    target="typed(weighted(bce_target_slope(self), weight) * per_element(grad, self, reduction), target)")
row("bce_backward(grad_output, self, target, weight: Tensor=None, reduction=1)",
    "kernels_nn.bce_grad(grad_output, self, target, weight, reduction)",
    node="BinaryCrossEntropyBackwardBackward0", elementwise=False, broadcasts=("grad_output",),
    keeps=("grad_output", "self", "target"),
    grad_output="mean_of(weighted(bce_slope_near(self, target) * grad, weight), self, reduction)",
    self="mean_of(weighted(bce_bend(self, target) * (grad * grad_output), weight), self, reduction)",
    target="mean_of(weighted(-grad * grad_output, weight) / (one_minus(self) * self), self, reduction)")
row("bce_with_logits(self, target, weight: Tensor=None, pos_weight: Tensor=None, reduction=1)",
    "kernels_nn.bce_with_logits(self, target, weight, pos_weight, reduction)",
    node="BinaryCrossEntropyWithLogitsBackward0", elementwise=False, keeps=("self", "target"),
    recorded={"self": "mean_of(weighted(bce_logits_slope(self, target, pos_weight) * grad, weight), self, reduction)",
              "target": "mean_of(weighted(bce_logits_target_grad(grad, self, pos_weight), weight), self, reduction)"},
    self="typed(weighted(bce_logits_slope(self, target, pos_weight), weight) * per_element(grad, self, reduction), "
         "self)",
    target="typed(weighted(bce_logits_target_slope(self, pos_weight), weight) * per_element(grad, self, reduction), "
           "target)")
for _dimensions in ("", "2d"):
    row(f"nll_loss{_dimensions}(self, target: Tensor, weight: Tensor=None, reduction=1, ignore_index=-100)",
        "kernels_nn.nll_loss(self, target, weight, reduction, ignore_index)",
        node=f"NllLoss{_dimensions.upper()}Backward0", outputs=("output", "total_weight"),
        self=f"nll_loss{_dimensions}_backward(grad, self, target, total_weight, weight, reduction, ignore_index)")

# --- activations -------------------------------------------------------------------------------------------

row("log_sigmoid(self)", "kernels_nn.log_sigmoid(self)", outputs=("output", "buffer"), keeps=("buffer",),
    self="log_sigmoid_backward(grad, self, buffer)")
row("log_sigmoid_backward(grad_output, self, buffer)", "kernels_nn.log_sigmoid_backward(grad_output, self, buffer)",
    node="LogSigmoidBackwardBackward0", elementwise=False,
    grad_output="log_sigmoid_backward(grad, self, buffer)",
    self="bent_log_sigmoid(grad, grad_output, self)")
row("gelu(self, approximate='none')", "kernels_nn.gelu(self)", recorded={"self": "gelu_backward(grad, self)"},
    self="grad * gelu_slope(self)")
row("gelu_backward(grad_output, self)", "grad_output * kernels_nn.gelu_slope(self)", node="GeluBackwardBackward0",
    elementwise=False, keeps=("grad_output", "self"),
    grad_output="gelu_backward(grad, self)",
    self="grad * grad_output * gelu_bend(self)")
row("softplus(self, beta=1, threshold=20)", "kernels_nn.softplus(self, beta, threshold)",
    recorded={"self": "softplus_backward(grad, self, beta, threshold)"},
    self="where(self * beta > threshold, grad, grad * sigmoid(self * beta))")
row("softplus_backward(grad_output, self, beta, threshold)",
    "kernels.where(self * beta > threshold, grad_output, grad_output * kernels.logistic(self * beta))",
    node="SoftplusBackwardBackward0", elementwise=False, keeps=("grad_output", "self"),
    grad_output="softplus_backward(grad, self, beta, threshold)",
    self="softplus_bend(grad * grad_output, self, beta, threshold)")
row("leaky_relu(self, negative_slope=0.01)",
    "np.where(kernels.floats(self, 'leaky_relu_cpu') > 0, self, self * negative_slope)",
    recorded={"self": "named_after(node, leaky_relu_backward(grad, self, negative_slope))"},
    self="leaky_relu_backward(grad, self, negative_slope)")
row("leaky_relu_backward(grad_output, self, negative_slope)",
    "np.where(self > 0, grad_output, grad_output * negative_slope)", elementwise=False, keeps=("self",),
    recorded={"grad_output": "named_like(node, leaky_relu_backward(grad, self, negative_slope))"},
    grad_output="leaky_relu_backward(grad, self, negative_slope)",
    self="zeros_like(grad)")
row("silu(self)", "kernels.floats(self, 'silu_cpu') * kernels.logistic(self)",
    recorded={"self": "silu_grad(grad, self)"},
    self="grad * (sigmoid(self) * (1 + self * (1 - sigmoid(self))))")
row("elu(self, alpha=1.0)",
    "np.where(kernels.floats(self, 'elu_cpu') > 0, self, alpha * np.expm1(self))",
    self="elu_backward(grad, alpha, 1, 1, False, self)")
row("elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result)",
    "kernels_nn.elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result)",
    node="EluBackwardBackward0", elementwise=False, keeps=("grad_output", "alpha", "scale", "self_or_result"),
    grad_output="elu_backward(grad, alpha, scale, input_scale, is_result, self_or_result)",
    self_or_result="elu_bend(mul_number(grad * grad_output, input_scale), "
                   "alpha, scale, input_scale, is_result, self_or_result)")
row("threshold(self, threshold, value)", "kernels_nn.threshold(self, threshold, value)",
    self="threshold_backward(grad, self, threshold)")
for _name, _slope in dict(  # overwriting self, these get their slope from the result: nothing of self is kept
    leaky_relu="leaky_relu_backward(grad, result, negative_slope)",
    elu="elu_backward(grad, alpha, 1, 1, True, result)",
).items():
    row(f"{_name}_over({', '.join(ROWS[_name].parameters)})", ROWS[_name].forward, in_place="only",
        node=ROWS[_name].node.replace("0", "1"),
        self=_slope)
row("threshold_over(self, threshold, value)", ROWS["threshold"].forward, in_place="only",
    node="ThresholdBackward1",
    self="threshold_backward(grad, self, threshold)")
row("gelu_tanh(self, approximate='tanh')", "kernels_nn.gelu_tanh(self)", node="GeluBackward0",
    recorded={"self": "gelu_tanh_backward(grad, self)"},
    self="grad * gelu_tanh_slope(self)")
row("gelu_tanh_backward(grad_output, self)", "grad_output * kernels_nn.gelu_tanh_slope(self)",
    node="GeluBackwardBackward0", elementwise=False, keeps=("grad_output", "self"),
    grad_output="gelu_tanh_backward(grad, self)",
    self="grad * grad_output * gelu_tanh_bend(self)")
row("xlogy(self, other)", "kernels_nn.xlogy(self, other)", floating=True, in_place=False,
    self="zero_where((self == 0) & (other <= 0), xlogy(grad, other))",
    other="grad * self / other")
row("glu(self, dim)", "kernels_nn.glu(kernels.floats(self, 'glu_cpu'), dim)", elementwise=False,
    self="glu_backward(grad, self, dim)")
row("glu_backward(grad_output, self, dim)", "kernels_nn.glu_grad(grad_output, self, dim)", elementwise=False,
    node="GluBackwardBackward0", keeps=("grad_output", "self"),
    grad_output="glu_slopes(grad, self, dim)",
    self="glu_bend(grad, grad_output, self, dim)")
row("safe_softmax(self, dim)", "kernels_nn.safe_softmax(self, dim)", elementwise=False,
    self="softmax_backward(grad, result, dim)")
row("constant_pad_nd(self, pad, value)", "kernels_nn.padded(self, pad, value)", elementwise=False,
    self="unpadded(grad, pad)")

# --- convolution: each of the three has its gradients in terms of the other two ----------------------------

row("convolution(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1)",
    "kernels_nn.convolution(input, weight, bias, stride, padding, dilation, groups)", elementwise=False,
    keeps=("input", "weight"),
    recorded={"all": "convolution_grads(grad, input, weight, stride, padding, dilation, groups, "
                     "input_edge, weight_edge, bias_edge)"},
    input="conv_input_grad(grad, weight, input.shape, stride, padding, dilation, groups)",
    weight="conv_weight_grad(grad, input, weight.shape, stride, padding, dilation, groups)",
    bias="conv_bias_grad(grad)")
row("conv_input_grad(grad_output, weight, sizes, stride, padding, dilation, groups)",
    "kernels_nn.conv_input_grad(grad_output, weight, sizes, stride, padding, dilation, groups)",
    node="ConvolutionBackwardBackward0", elementwise=False,
    grad_output="convolution(grad, weight, None, stride, padding, dilation, groups)",
    weight="conv_weight_grad(grad_output, grad, weight.shape, stride, padding, dilation, groups)")
row("conv_weight_grad(grad_output, input, sizes, stride, padding, dilation, groups)",
    "kernels_nn.conv_weight_grad(grad_output, input, sizes, stride, padding, dilation, groups)",
    node="ConvolutionBackwardBackward0", elementwise=False,
    grad_output="convolution(input, grad, None, stride, padding, dilation, groups)",
    input="conv_input_grad(grad_output, grad, input.shape, stride, padding, dilation, groups)")
row("max_pool2d(self, kernel_size, stride, padding, dilation, ceil_mode=False)",
    "kernels_nn.max_pool(self, kernel_size, stride, padding, dilation, ceil_mode)",
    node="MaxPool2DWithIndicesBackward0", outputs=("result0", "result1"),
    keeps=("stride", "padding", "dilation", "ceil_mode"),
    recorded={"self": "named_after(node, max_pool_backward(grad, self, result1, kernel_size))"},
    self="max_pool_backward(grad, self, result1, kernel_size)")
row("pooled(self, taps, divisor)", "kernels_nn.pooled(self, taps, divisor)", elementwise=False,  # means, and padding
    recorded={"self": "named_after(node, pooled_back(grad, self, taps, divisor))"},
    self="pooled_back(grad, self, taps, divisor)")
row("pooled_back(grad_output, self, taps, divisor)",
    "kernels_nn.pooled_back(grad_output, self, taps, divisor)", elementwise=False,
    recorded={"grad_output": "named_before(node, pooled(grad, taps, divisor))"},
    grad_output="pooled(grad, taps, divisor)",
    self="zeros_like(grad)")

# --- gradients with rows of their own ----------------------------------------------------------------------
# Their slope in `self` is 0 almost everywhere. As rows they say so: the second derivative is zeros, as in PyTorch,
# and not an error about a gradient without history.

for _dimensions in ("", "2d"):
    row(f"nll_loss{_dimensions}_backward(grad_output, self, target: Tensor, total_weight: Tensor, weight: Tensor=None, "
        "reduction=1, ignore_index=-100)",
        "kernels_nn.nll_loss_backward(grad_output, self, target, total_weight, weight, reduction, ignore_index)",
        node=f"NllLoss{_dimensions.upper()}BackwardBackward0", elementwise=False, keeps=("target", "weight"),
        grad_output=f"nll_loss{_dimensions}(grad, target, weight, reduction, ignore_index)[0]",
        self="zeros_like(grad)")
row("max_pool_backward(grad_output, self, indices: Tensor, kernel_size)",
    "kernels_nn.max_pool_backward(grad_output, self, indices, kernel_size)",
    node="MaxPool2DWithIndicesBackwardBackward0", elementwise=False, keeps=("indices",),
    grad_output="max_pool_pick(grad, indices, kernel_size)",
    self="zeros_like(grad)")

# --- looking up and normalising ----------------------------------------------------------------------------

row("embedding(weight, indices: Tensor, padding_idx=-1, scale_grad_by_freq=False, sparse=False)",
    "kernels_nn.embedding(weight, indices)", elementwise=False, keeps=("sparse",),
    recorded={
        "weight": "embedding_dense_backward(grad, indices, weight_sym_sizes, padding_idx, scale_grad_by_freq)"
    },
    weight="embedding_grad(grad, weight_sym_sizes, indices, padding_idx, scale_grad_by_freq)")
row("embedding_dense_backward(grad_output, indices: Tensor, sizes, padding_idx, scale_grad_by_freq)",
    "kernels_nn.embedding_grad(grad_output, sizes, indices, padding_idx, scale_grad_by_freq)",
    node="EmbeddingDenseBackwardBackward0", elementwise=False,
    grad_output="looked_up(grad, indices, padding_idx, scale_grad_by_freq)")
row("native_batch_norm(input, weight=None, bias=None, running_mean: Tensor=None, running_var: Tensor=None, "
    "training=False, momentum=0.1, eps=1e-05)",
    "kernels_nn.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)",
    outputs=("result0", "result1", "result2"),
    keeps=("input", "weight", "running_mean", "running_var", "result1", "result2"),
    recorded={"all": "batch_norm_grads(grad, input, weight, running_mean, running_var, result1, result2, training, "
                     "eps, input_edge, weight_edge, bias_edge)"},
    input="batch_norm_grad(grad, input, weight, running_mean, running_var, result1, result2, training, eps)",
    weight="batch_norm_weight_grad(grad, input, running_mean, running_var, result1, result2, training, eps)",
    bias="conv_bias_grad(grad)")
row("native_layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05)",
    "kernels_nn.layer_norm(input, normalized_shape, weight, bias, eps)",
    outputs=("result0", "result1", "result2"), keeps=("input", "weight", "bias", "result1", "result2"),
    recorded={"all": "layer_norm_grads(grad, input, normalized_shape, weight, bias, result1, result2, eps, "
                     "input_edge, weight_edge, bias_edge)"},
    input="layer_norm_grad(grad, input, normalized_shape, weight, result1, result2, eps)",
    weight="layer_norm_weight_grad(grad, input, normalized_shape, result1, result2, eps)",
    bias="sum_to(grad, normalized_shape)")


# --- the forms that take tensors, where a function of arrays cannot simply be read again: Note in kernels.py -


def _lookup_shares(grad, indices, padding_idx, by_frequency):
    return new_tensor(kernels_nn.lookup_shares(grad.array, indices.array, padding_idx, by_frequency))


def _looked_up(grad, indices, padding_idx, by_frequency):
    found = rows.index_select(grad, 0, composites.reshape(indices, -1))
    if padding_idx >= 0 or by_frequency:
        found = found * _lookup_shares(grad, indices, padding_idx, by_frequency)
    return found if indices.array.ndim == 1 else composites.reshape(found, (*indices.array.shape, -1))


def _convolution_grads(grad, input, weight, stride, padding, dilation, groups, *edges):
    numbers = stride, padding, dilation, groups
    g, x, w = grad.array, input.array, weight.array
    parts = [
        kernels_nn.conv_input_grad(g, w, x.shape, *numbers) if edges[0] else None,
        kernels_nn.conv_weight_grad(g, x, w.shape, *numbers) if edges[1] else None,
        kernels_nn.conv_bias_grad(g) if edges[2] else None,
    ]
    inputs = {"grad_output": grad, "input": input, "weight": weight}
    numbers = dict(zip(("stride", "padding", "dilation", "groups"), numbers, strict=True))
    constants = {"transposed": False, "output_padding": (0,) * (x.ndim - 2)}
    return joint("ConvolutionBackwardBackward0", "convolution_bend", inputs, parts, constants=constants, **numbers)


def _batch_norm_grads(grad, x, weight, mean, var, center, inverse, training, eps, *edges):
    w, *arrays = (None if each is None else each.array for each in (weight, mean, var, center, inverse))
    g = grad.array
    parts = [
        kernels_nn.batch_norm_grad(g, x.array, w, *arrays, training, eps) if edges[0] else None,
        kernels_nn.batch_norm_weight_grad(g, x.array, *arrays, training, eps) if edges[1] else None,
        kernels_nn.conv_bias_grad(g) if edges[2] else None,
    ]
    inputs = {"grad_out": grad, "input": x, "weight": weight, "save_mean": center, "save_invstd": inverse}
    numbers = {"running_mean": mean, "running_var": var, "train": training, "eps": eps}
    return joint("NativeBatchNormBackwardBackward0", "batch_norm_bend", inputs, parts, **numbers)


def _layer_norm_grads(grad, x, normalized_shape, weight, bias, mean, rstd, eps, *edges):
    g, w, statistics = grad.array, None if weight is None else weight.array, (mean.array, rstd.array)
    parts = [
        kernels_nn.layer_norm_grad(g, x.array, normalized_shape, w, *statistics, eps) if edges[0] else None,
        kernels_nn.layer_norm_weight_grad(g, x.array, normalized_shape, *statistics, eps) if edges[1] else None,
        kernels_nn.sum_to(g, normalized_shape) if edges[2] else None,
    ]
    inputs = {"grad_out": grad, "input": x, "mean": mean, "rstd": rstd, "weight": weight, "bias": bias}
    numbers = {"normalized_shape": normalized_shape, "eps": eps}
    return joint("NativeLayerNormBackwardBackward0", "layer_norm_bend", inputs, parts, unkept=("bias",), **numbers)


def _attention_bend(grads, edges, *kept):
    """The gradients of attention, which PyTorch cannot differentiate again."""
    from course_lib.surface.functions import without_derivative

    arrays = [each.array if isinstance(each, Tensor) else each for each in kept]
    tensors = grads[0], *kept[:4]
    leads = tuple(gradient_edge(t) for t in tensors) if state.recording > 0 else ()
    results = [new_tensor(a) for a in kernels_nn.attention_bend([grads[0].array, None], edges, *arrays)]
    if any(leads):
        node = without_derivative("aten::_scaled_dot_product_flash_attention_for_cpu_backward", leads)
        for result in results:
            result.node = node
    return results


def _channel_statistics(x, running_mean, running_var, center, inverse, training, eps):
    """Computed anew from the input, so that the second derivative sees how the statistics depend on it."""
    shape = kernels_nn.channel_shape(x.array.ndim)
    if not training and running_mean is not None:
        return composites.reshape(running_mean, shape), rows.rsqrt(composites.reshape(running_var, shape) + eps)
    return _statistics(x, kernels_nn.other_axes(x.array.ndim), eps)


def _layer_statistics(x, normalized_shape, center, inverse, eps):
    axes = tuple(range(x.array.ndim - len(normalized_shape), x.array.ndim))
    return _statistics(x, axes, eps)


def _statistics(x, axes, eps):
    center = composites.mean(x, axes, True)
    return center, rows.rsqrt(composites.mean((x - center) ** 2, axes, True) + eps)


def _closer(x, target, distance):
    return new_tensor(np.abs(_gap(x.detach(), target.detach()).array) < distance)


def _silu_grad(grad, x):
    """In the order in which PyTorch makes the nodes: operands from right to left."""
    s = rows.sigmoid(x)
    slope = rows.add_number(x * ON_TENSORS["one_minus"](s), 1)
    return grad * s * slope


def _bce_logits_slope(x, target, pos_weight):
    if pos_weight is None:
        return rows.sigmoid(x) - target
    t = pos_weight * target
    return (rows.add_number(t, 1) - target) * rows.sigmoid(x) - t


def _bce_logits_target_grad(grad, x, pos_weight):
    if pos_weight is None:
        return -x * grad
    slope = rows.sub_(rows.log_sigmoid(-x)[0], rows.log_sigmoid(x)[0] * pos_weight)
    return rows.mul_(slope, grad)


def _gap(a, b):
    a, b = (x.to(y.dtype) if x.array.dtype.kind == "b" else x for x, y in ((a, b), (b, a)))
    return a - b


ON_TENSORS.update(
    gap=_gap,
    silu_grad=_silu_grad,
    closer=_closer,
    ones_like=creation.ones_like,
    bent_smoothly=lambda grad, x, target, beta: rows.div_number(grad * _closer(x, target, beta), beta),
    bce_logits_slope=_bce_logits_slope,
    bce_logits_target_grad=_bce_logits_target_grad,
    times_=lambda x, other: rows.mul_(x, other),
    neg_=lambda x: rows.neg_(x),
    mean_of=lambda losses, x, reduction: rows.div_number(losses, x.array.size or 1) if reduction == 1 else losses,
    softplus_of=lambda x: -rows.log_sigmoid(x)[0],  # whose slope at 0 is one half
    padded=lambda x, pad, value: rows.constant_pad_nd(x, pad, value),
    lookup_shares=_lookup_shares,
    looked_up=_looked_up,
    attention_bend=_attention_bend,
    convolution_grads=_convolution_grads,
    batch_norm_grads=_batch_norm_grads,
    layer_norm_grads=_layer_norm_grads,
    channel_statistics=_channel_statistics,
    layer_statistics=_layer_statistics,
    at_least=lambda x, low: rows.clamp(x, low, None),
    first_half=lambda x, dim: x.narrow(dim, 0, x.array.shape[dim] // 2),
    second_half=lambda x, dim: x.narrow(dim, x.array.shape[dim] // 2, x.array.shape[dim] // 2),
    join_halves=lambda a, b, dim: cat([a, b], dim),
)
