"""THE TABLE, continued: pooling, resizing, padding, transposed convolution. Loaded when the first of them is used.

PyTorch: tools/autograd/derivatives.yaml (the rows of avg_pool2d, upsample_bilinear2d, native_group_norm ...).

Read a row as in derivatives.py. `mapped` is one row for all that is a weighted sum of neighbours: Note [Taps].
"""

from course_lib.native import (  # noqa: F401  (derivatives_nn fills the table)
    composites,
    creation,
    derivatives_nn,
    kernels_images,
    kernels_nn,
)
from course_lib.native.building import KERNELS, ON_TENSORS, OPERATION_NAMES, rows
from course_lib.native.joining import cat
from course_lib.native.joint import joint
from course_lib.ops import row

KERNELS.append(kernels_images)
OPERATION_NAMES["images"] = kernels_images

row("mapped(self, taps, divisor)", "images.mapped(self, taps, divisor)", elementwise=False,
    recorded={"self": "named_after(node, mapped_back(grad, self_sym_sizes, taps, divisor))"},
    self="mapped_back(grad, self_sym_sizes, taps, divisor)")
row("mapped_back(grad_output, sizes, taps, divisor)", "images.mapped_back(grad_output, sizes, taps, divisor)",
    elementwise=False, recorded={"grad_output": "named_before(node, mapped(grad, taps, divisor))"},
    grad_output="mapped(grad, taps, divisor)")
row("pooled(self, taps, divisor)", "images.mapped(self, taps, divisor)", elementwise=False,  # PyTorch keeps the input
    recorded={"self": "named_after(node, pooled_back(grad, self, taps, divisor))"},
    self="pooled_back(grad, self, taps, divisor)")
row("pooled_back(grad_output, self, taps, divisor)",
    "images.mapped_back(grad_output, self.shape, taps, divisor)", elementwise=False,
    recorded={"grad_output": "named_before(node, pooled(grad, taps, divisor))"},
    grad_output="pooled(grad, taps, divisor)",
    self="zeros_like(grad)")
row("adaptive_max_pool(self, lengths)", "images.adaptive_max_pool(self, lengths)",
    node="AdaptiveMaxPool2DBackward0", outputs=("result0", "result1"),
    recorded={"self": "named_after(node, max_pool_backward(grad, self, result1, lengths))"},
    self="max_pool_backward(grad, self, result1, lengths)")
row("conv_transposed(input, weight, bias=None, sizes=(), stride=1, padding=0, dilation=1, groups=1)",
    "kernels_nn.plus_bias(kernels_nn.conv_input_grad(input, weight, sizes, stride, padding, dilation, groups), bias)",
    node="ConvolutionBackward0", elementwise=False, keeps=("input", "weight"),
    recorded={"all": "transposed_grads(grad, input, weight, stride, padding, dilation, groups, "
                     "input_edge, weight_edge, bias_edge)"},
    input="first_of(convolution(grad, weight, None, stride, padding, dilation, groups), input.shape)",
    weight="conv_weight_grad(input, grad, weight.shape, stride, padding, dilation, groups)",
    bias="conv_bias_grad(grad)")
row("im2col(self, kernel_size, dilation, padding, stride)",
    "images.im2col(self, kernel_size, dilation, padding, stride)", node="Im2ColBackward0", elementwise=False,
    self="col2im(grad, picture_sizes(self_sym_sizes), kernel_size, dilation, padding, stride)")
row("col2im(self, output_size, kernel_size, dilation, padding, stride)",
    "images.col2im(self, output_size, kernel_size, dilation, padding, stride)", node="Col2ImBackward0",
    elementwise=False,
    self="im2col(grad, kernel_size, dilation, padding, stride)")
row("pixel_shuffle(self, upscale_factor)", "images.pixel_shuffle(self, upscale_factor)", elementwise=False,
    self="pixel_unshuffle(grad, upscale_factor)")
row("pixel_unshuffle(self, downscale_factor)", "images.pixel_unshuffle(self, downscale_factor)", elementwise=False,
    self="pixel_shuffle(grad, downscale_factor)")
row("native_group_norm(input, weight=None, bias=None, group=1, eps=1e-05)",
    "images.group_norm(input, weight, bias, group, eps)", elementwise=False, keeps=("input", "weight"),
    input="group_norm_grad(grad, input, weight, group, eps)",
    weight="group_norm_weight_grad(grad, input, group, eps)",
    bias="conv_bias_grad(grad)")

# --- activations and losses --------------------------------------------------------------------------------

row("glu(self, dim)", "images.glu(kernels.floats(self, 'glu_cpu'), dim)", elementwise=False,
    self="glu_backward(grad, self, dim)")
row("glu_backward(grad_output, self, dim)", "images.glu_grad(grad_output, self, dim)", elementwise=False,
    node="GluBackwardBackward0", keeps=("grad_output", "self"),
    grad_output="glu_slopes(grad, self, dim)",
    self="glu_bend(grad, grad_output, self, dim)")
row("hardshrink(self, lambd)", "np.where(np.abs(kernels.floats(self, 'hardshrink_cpu')) <= lambd, 0, self)",
    in_place=False,
    self="hardshrink_backward(grad, self, lambd)")
row("softshrink(self, lambd)", "images.softshrink(self, lambd)", in_place=False,
    self="softshrink_backward(grad, self, lambd)")
for _name in ("hardshrink_backward", "softshrink_backward"):
    row(f"{_name}(grad_output, self, lambd)",
        "kernels.where((self >= -lambd) & (self <= lambd), 0.0, grad_output)", elementwise=False, keeps=("self",),
        grad_output=f"{_name}(grad, self, lambd)",
        self="zeros_like(grad)")
row("soft_margin_loss(self, target: Tensor, reduction=1)", "images.soft_margin_loss(self, target, reduction)",
    elementwise=False,
    self="soft_margin_loss_backward(grad, self, target, reduction)")
row("soft_margin_loss_backward(grad_output, self, target: Tensor, reduction)",
    "images.soft_margin_grad(grad_output, self, target, reduction)", node="SoftMarginLossBackwardBackward0",
    elementwise=False, broadcasts=("grad_output",), keeps=("grad_output", "self", "target"),
    grad_output="soft_margin_slope(grad, self, target, reduction)",
    self="soft_margin_bend(grad * grad_output, self, target, reduction)")


def _transposed_grads(grad, input, weight, stride, padding, dilation, groups, *edges):
    numbers = stride, padding, dilation, groups
    g, x, w = grad.array, input.array, weight.array
    parts = [
        kernels_nn.first_of(kernels_nn.convolution(g, w, None, *numbers), x.shape) if edges[0] else None,
        kernels_nn.conv_weight_grad(x, g, w.shape, *numbers) if edges[1] else None,
        kernels_nn.conv_bias_grad(g) if edges[2] else None,
    ]
    inputs = {"grad_output": grad, "input": input, "weight": weight}
    numbers = dict(zip(("stride", "padding", "dilation", "groups"), numbers, strict=True))
    return joint("ConvolutionBackwardBackward0", "transposed_bend", inputs, parts, **numbers)


def _first_of(x, sizes):
    for dim, length in enumerate(sizes):
        x = x if x.array.shape[dim] == length else x.narrow(dim, 0, length)
    return x


ON_TENSORS.update(
    first_half=lambda x, dim: x.narrow(dim, 0, x.array.shape[dim] // 2),
    second_half=lambda x, dim: x.narrow(dim, x.array.shape[dim] // 2, x.array.shape[dim] // 2),
    first_of=_first_of,
    transposed_grads=_transposed_grads,
    join_halves=lambda a, b, dim: cat([a, b], dim),
    sigmoid=lambda x: rows.sigmoid(x),
    ones_like=creation.ones_like,
)
