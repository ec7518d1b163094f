"""The functions behind the layers: activations, losses, linear maps, convolution, normalisation, dropout.

PyTorch: torch/nn/functional.py, aten/src/ATen/native (Linear.cpp, Loss.cpp, Dropout.cpp, Convolution.cpp).

As in functions.py, each function sorts out its arguments and picks rows of the table, no more.
"""

import math
import warnings

import numpy as np

from course_lib.arrays import dtypes, kernels, kernels_nn  # noqa: F401
from course_lib.arrays.memory import check_cast
from course_lib.arrays.messages import type_name
from course_lib.autograd.grad_mode import no_grad
from course_lib.engine.arguments import broadcast_error, number_of, promote, rank
from course_lib.engine.build import rows
from course_lib.engine.grad_mode import state
from course_lib.engine.tensor import Tensor, memory_of, new_tensor
from course_lib.engine.views import requires_grad
from course_lib.surface import creation, derivatives_nn  # noqa: F401
from course_lib.surface import functions as composites
from course_lib.surface.joint import joint
from course_lib.surface.left_out import doors
from course_lib.surface.parsing import asking_later, whole_number

# --- activations -------------------------------------------------------------------------------------------


def relu(input, inplace=False):
    """max(input, 0); its slope at 0 is 0."""
    return rows.relu_(input) if inplace else rows.relu(input)


def relu_(input):
    """relu, written into its input."""
    return rows.relu_(input)


def tanh(input):
    """The hyperbolic tangent."""
    return rows.tanh(input)


def sigmoid(input):
    """1 / (1 + exp(-input))."""
    return rows.sigmoid(input)


@asking_later
def leaky_relu(input, negative_slope=0.01, inplace=False):
    """input where it is positive, negative_slope * input elsewhere."""
    return (rows.leaky_relu_over_ if inplace else rows.leaky_relu)(input, negative_slope)


@asking_later
def elu(input, alpha=1.0, inplace=False):
    """input where it is positive, alpha * (exp(input) - 1) elsewhere."""
    return (rows.elu_over_ if inplace else rows.elu)(input, alpha)


def gelu(input, approximate="none"):
    """input times the chance that a standard normal number is below it."""
    if approximate == "none":
        return rows.gelu(input)
    if approximate != "tanh":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return rows.gelu_tanh(input)


def silu(input, inplace=False):
    """input * sigmoid(input)."""
    return rows.silu_(input) if inplace else rows.silu(input)


@asking_later
def threshold(input, threshold, value, inplace=False):
    """input where it is above the threshold, `value` elsewhere."""
    return (rows.threshold_over_ if inplace else rows.threshold)(input, threshold, value)


@asking_later
def softplus(input, beta=1, threshold=20):
    """log(1 + exp(beta * input)) / beta; input itself where beta * input is above the threshold."""
    return rows.softplus(input, beta, threshold)


@asking_later
def glu(input, dim=-1):
    """One half of a dimension times the sigmoid of the other."""
    if input.dim() == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    dim = composites.dimension(input, dim)
    if input.shape[dim] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim % input.dim()} is size {input.shape[dim]}"
        )
    return rows.glu(input, dim)


def logsigmoid(input):
    """log(sigmoid(input)), without overflow."""
    return rows.log_sigmoid(input)[0]


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(input) divided by its sum along dim. (PyTorch's third argument is for its warning.)"""
    return composites.softmax(input, chosen_dim("softmax", input, dim), dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of softmax, without overflow."""
    return composites.log_softmax(input, chosen_dim("log_softmax", input, dim), dtype)


def chosen_dim(name, input, dim):
    """The dimension to normalise along; without one, PyTorch's old guess, with its warning."""
    if dim is not None:
        if type(dim) is not int and whole_number(dim) is None:
            raise TypeError(f"{name}(): argument 'dim' (position 1) must be int, not {type_name(dim)}")
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if input.dim() in (0, 1, 3) else 1


# --- linear maps -------------------------------------------------------------------------------------------


def linear(input, weight, bias=None):
    """input @ weight.T + bias, for any number of leading dimensions."""
    if not isinstance(input, Tensor) or not isinstance(weight, Tensor):
        first = not isinstance(input, Tensor)
        name = "'input' (position 1)" if first else "'weight' (position 2)"
        raise TypeError(f"linear(): argument {name} must be Tensor, not {type_name(input if first else weight)}")
    x, w = input.array.shape, weight.array.shape
    if len(x) == len(w) == 2 and x[1] == w[1] and bias is not None and input.array.dtype is weight.array.dtype:
        try:
            return rows.addmm(bias, input, rows.t(weight))
        except TypeError:
            check_weight("linear", bias, "bias")
            raise
    if not x or not w:
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are {len(x)}D and {len(w)}D")
    turned = composites.t(weight)
    if bias is None:
        return composites.matmul(input, turned)
    if input.array.ndim == 2:
        return composites.addmm(bias, input, turned)
    if bias.array.ndim != 1 or not input.is_contiguous():
        return composites.matmul(input, turned).add_(bias)
    flat = composites.reshape(input, (math.prod(input.array.shape[:-1]), input.array.shape[-1]))
    return composites.view(composites.addmm(bias, flat, turned), (*input.shape[:-1], weight.shape[0]))


def named(result, name):
    """A result whose node has the name that PyTorch's has, there made by another operation or in another form."""
    if result.node is not None:
        composites.rename_node(result.node, name)
    return result


def plus(x, value):
    """x + a number."""
    return rows.add_number(x if x.is_floating_point() else x.to(dtypes.default), value)


@asking_later
def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """The rows of weight that the integers in input name. IndexError for a row that is not there."""
    if not isinstance(input, Tensor):
        raise TypeError(f"embedding(): argument 'indices' (position 2) must be Tensor, not {type(input).__name__}")
    if not isinstance(weight, Tensor):
        raise TypeError(f"embedding(): argument 'weight' (position 1) must be Tensor, not {type_name(weight)}")
    if weight.dim() != 2:
        raise RuntimeError("'weight' must be 2-D")
    if input.array.dtype.kind != "i":
        got = input.type() if input.is_floating_point() else "CPUBoolType"
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{got} instead (while checking arguments for embedding)"
        )
    if padding_idx is None:
        padding_idx = -1
    elif not -len(weight) <= padding_idx < len(weight):
        raise AssertionError("Padding_idx must be within num_embeddings")
    else:
        padding_idx %= len(weight)
    if max_norm is not None:
        shorten_rows(weight, input, max_norm, norm_type)
    return rows.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def shorten_rows(weight, places, max_norm, norm_type):
    """Scale the rows named, where they lie, so that none is longer than max_norm: one write, whatever it changes."""
    factors = np.ones((len(weight), 1), weight.array.dtype)
    with no_grad():
        for place in set(places.flatten().tolist()):
            length = weight[place].norm(norm_type).item()
            if length > max_norm:
                factors[place] = max_norm / (length + 1e-7)
        weight.mul_(creation.tensor(factors))


def check_weight(name, weight, argument="weight", position=3):
    """TypeError for a weight that is neither None nor a tensor."""
    if not isinstance(weight, Tensor | None):
        place = f"'{argument}' (position {position})"
        raise TypeError(f"{name}(): argument {place} must be Tensor, not {type_name(weight)}")


def check_number(name, argument, value, kind, position):
    """TypeError for an argument that is not of a kind of number."""
    number = whole_number(value) if kind is int else number_of(value)
    if not isinstance(number, int | float):
        got = type_name(value)
        raise TypeError(f"{name}(): argument '{argument}' (position {position}) must be {kind.__name__}, not {got}")


def check_tensors(name, input, *target):
    """TypeError for an input, or a target behind it, that is no tensor."""
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type_name(input)}")
    if target and not isinstance(target[0], Tensor):
        raise TypeError(f"{name}(): argument 'target' (position 2) must be Tensor, not {type_name(target[0])}")


def one_hot(tensor, num_classes=-1):
    """For each class number a row of zeros with a single 1 at its place."""
    check_tensors("one_hot", tensor)
    if whole_number(num_classes) is None or isinstance(num_classes, Tensor):
        raise TypeError(f"one_hot(): argument 'num_classes' (position 2) must be int, not {type_name(num_classes)}")
    classes = tensor.array
    if classes.dtype.kind != "i":
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if np.any(classes < 0):
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(classes.max()) + 1
    if np.any(classes >= num_classes):
        raise RuntimeError("Class values must be smaller than num_classes.")
    return creation.tensor((classes[..., None] == np.arange(num_classes)).astype(np.int64))


# --- convolution -------------------------------------------------------------------------------------------


def per_dimension(value, dimensions):
    """One number for each dimension."""
    if isinstance(value, int):
        return (value,) * dimensions
    return tuple(value) * dimensions if len(value) == 1 else tuple(value)


def convolve(dimensions, input, weight, bias, stride, padding, dilation, groups):
    """Convolution over one or two dimensions; an input without a batch dimension gets one for a moment."""
    if not (isinstance(input, Tensor) and isinstance(weight, Tensor)):
        got = ", ".join(type(value).__name__ for value in (input, weight))
        raise TypeError(f"conv{dimensions}d() received an invalid combination of arguments - got ({got})")
    unbatched = input.dim() == dimensions + 1
    if unbatched:
        input = composites.unsqueeze(input, 0)
    check_weight(f"conv{dimensions}d", bias, "bias")
    if weight.dim() < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if weight.dim() != dimensions + 2:
        raise RuntimeError(
            f"Expected {weight.dim()}-dimensional input for {weight.dim()}-dimensional weight{list(weight.shape)}, but "
            f"got {input.dim()}-dimensional input of size {list(input.shape)} instead"
        )
    stride, dilation = for_convolution(dimensions, stride=stride, dilation=dilation)
    if isinstance(padding, str) and padding not in ("valid", "same"):
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if padding == "valid":
        padding = 0
    elif padding == "same":
        spans = [d * (k - 1) for k, d in zip(weight.shape[2:], dilation, strict=True)]
        if any(s != 1 for s in stride):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        if any(span % 2 for span in spans):
            uneven = [n for span in reversed(spans) for n in (span // 2, span - span // 2)]
            input, spans = pad(input, uneven), [0] * dimensions
        padding = [span // 2 for span in spans]
    (padding,) = for_convolution(dimensions, padding=padding)
    check_steps(stride, padding, dilation, groups)
    check_convolution(dimensions, input, weight, padding, dilation, groups)
    check_kinds(input, weight, bias)
    result = rows.convolution(input, weight, bias, stride, padding, dilation, groups)
    return composites.squeeze(result, 0) if unbatched else result


def for_convolution(dimensions, **given):
    """One number for each dimension. TypeError for what is no number, RuntimeError when there are others."""
    found = []
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | tuple | list):
            got = f"(Tensor, Tensor, {name}={type_name(value)})"
            raise TypeError(
                f"conv{dimensions}d() received an invalid combination of arguments - got {got}, but expected one of:"
            )
        found.append(per_dimension(value, dimensions))
        if len(found[-1]) != dimensions:
            raise RuntimeError(
                f"expected {name} to be a single integer value or a list of {dimensions} values to match the "
                f"convolution dimensions, but got {name}={list(value)}"
            )
    return found


def check_steps(stride, padding, dilation, groups):
    """RuntimeError for steps that lead nowhere."""
    if any(n <= 0 for n in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(n < 0 for n in padding):
        raise RuntimeError("negative padding is not supported")
    if any(n <= 0 for n in dilation):
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")


def check_groups(groups, weight):
    """RuntimeError unless the first dimension of a weight can be dealt out to so many groups."""
    sizes = list(weight.shape)
    if sizes[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{sizes} instead"
        )
    if sizes[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
            f"size [{sizes}] instead"
        )


def check_kinds(input, weight, bias):
    """RuntimeError for a bias of another shape, and unless input, weight and bias are of one element type."""
    if bias is not None and bias.shape != weight.shape[:1]:
        raise RuntimeError(
            f"Given weight of size {list(weight.shape)}, expected bias to be 1-dimensional with {weight.shape[0]} "
            f"elements, but got bias of size {list(bias.shape)} instead"
        )
    if bias is not None and bias.dtype != input.dtype:
        kinds = f"Input type ({input.dtype.c_name}) and bias type ({bias.dtype.c_name})"
        raise RuntimeError(f"{kinds} should be the same")
    if weight.dtype != input.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.title} but found {weight.dtype.title}")


def check_convolution(dimensions, input, weight, padding, dilation, groups):
    """RuntimeError, in PyTorch's words, for shapes that do not go together."""
    if input.dim() != dimensions + 2:
        raise RuntimeError(
            f"Expected {dimensions + 1}D (unbatched) or {dimensions + 2}D (batched) input to "
            f"conv{dimensions}d, but got "
            f"input of size: {list(input.shape)}"
        )
    check_groups(groups, weight)
    channels = weight.shape[1] * groups
    if input.shape[1] != channels:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(weight.shape)}, expected input{list(input.shape)} to have "
            f"{channels} channels, but got {input.shape[1]} channels instead"
        )
    padded = [n + 2 * p for n, p in zip(input.shape[2:], padding, strict=True)]
    kernel = [d * (k - 1) + 1 for k, d in zip(weight.shape[2:], dilation, strict=True)]
    if any(k > n for k, n in zip(kernel, padded, strict=True)):
        sizes = [" x ".join(map(str, numbers)) for numbers in (padded, kernel)]
        raise RuntimeError(
            f"Calculated padded input size per channel: ({sizes[0]}). Kernel size: ({sizes[1]}). Kernel size can't be "
            "greater than actual input size"
        )


@asking_later
def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Convolution over one dimension: input (N, C, L), weight (out, C / groups, K)."""
    return convolve(1, input, weight, bias, stride, padding, dilation, groups)


@asking_later
def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Convolution over two dimensions: input (N, C, H, W), weight (out, C / groups, KH, KW)."""
    return convolve(2, input, weight, bias, stride, padding, dilation, groups)


# --- pooling -----------------------------------------------------------------------------------------------


def two_numbers(name, value, parameter):
    """One number for each of the two dimensions; RuntimeError, in the words that PyTorch has, when there are others."""
    found = per_dimension(value, 2)
    if len(found) != 2:
        either = {"stride": "either be omitted, a", "dilation": "be either a"}.get(parameter, "either be a")
        raise RuntimeError(f"{name}: {parameter} must {either} single int, or a tuple of two ints")
    return found


def check_pooling(name, input, kernel, stride, padding, dilation=1):
    """The arguments, one number a dimension. RuntimeError for shapes and steps that PyTorch refuses."""
    kernel = two_numbers(name, kernel, "kernel_size")
    stride = kernel if stride is None or stride in ([], ()) else two_numbers(name, stride, "stride")
    padding, dilation = two_numbers(name, padding, "padding"), two_numbers(name, dilation, "dilation")
    if any(k <= 0 for k in kernel):
        raise RuntimeError(f"kernel size should be greater than zero, but got kH: {kernel[0]} kW: {kernel[1]}")
    if any(d <= 0 for d in dilation):
        sizes = f"dilationH: {dilation[0]} dilationW: {dilation[1]}"
        raise RuntimeError(f"dilation should be greater than zero, but got {sizes}")
    if any(s <= 0 for s in stride):
        raise RuntimeError("stride should not be zero")
    for p, k, d in zip(padding, kernel, dilation, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and "
                f"dilation={d}"
            )
    if input.dim() not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError("non-empty 3D or 4D (batch mode) tensor expected for input")
    return kernel, stride, padding, dilation


def check_output(input, lengths):
    """RuntimeError for windows that do not fit at all."""
    if min(lengths) < 1:
        sizes = ["x".join(map(str, sizes)) for sizes in (input.shape[-3:], (input.shape[-3], *lengths))]
        raise RuntimeError(
            f"Given input size: ({sizes[0]}). Calculated output size: ({sizes[1]}). Output size is too small"
        )


@asking_later
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest element of each patch; the first of equal ones gets the gradient. On request with its place."""
    check_tensors("max_pool2d", input)
    kernel, stride, padding, dilation = check_pooling(
        "max_pool2d", input, kernel_size, stride, padding, dilation
    )
    lengths = [
        kernels_nn.pooled_length(*each, ceil_mode)
        for each in zip(input.shape[-2:], kernel, stride, padding, dilation, strict=True)
    ]
    check_output(input, lengths)
    result, places = rows.max_pool2d(input, kernel, stride, padding, dilation, ceil_mode)
    return (result, places) if return_indices else result


@asking_later
def avg_pool2d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """The mean of each patch."""
    check_tensors("avg_pool2d", input)
    kernel, stride, padding, _ = check_pooling("avg_pool2d", input, kernel_size, stride, padding)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    if input.array.dtype.kind == "b":
        raise NotImplementedError("\"avg_pool2d\" not implemented for 'Bool'")
    taps, divisor = kernels_nn.average_taps(
        input.shape[-2:], kernel, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    check_output(input, [places.shape[1] for (places, _) in taps])
    return named(rows.pooled(input, taps, divisor.astype(input.array.dtype)), "AvgPool2DBackward0")


# --- padding -----------------------------------------------------------------------------------------------


@asking_later
def pad(input, pad, mode="constant", value=None):
    """The input with more, or for negative numbers less, at its edges.

    pad: (before, after) for the last dimension, then for the one in front of it, and so on
    mode: what is added: "constant" the value (0), "replicate" the edge, "reflect" its mirror image without the edge,
    "circular" the other end
    """
    check_tensors("pad", input)
    if not isinstance(pad, list | tuple):
        raise TypeError(f"pad(): argument 'pad' (position 2) must be tuple of ints, not {type(pad).__name__}")
    for place, n in enumerate(pad):
        if whole_number(n) is None:
            raise TypeError(
                f"pad(): argument 'pad' (position 2) must be tuple of ints, but found element of type {type_name(n)} "
                f"at pos {place}"
            )
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * input.dim():
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {input.dim()}"
        )
    if mode == "constant":
        for back, (before, after) in enumerate(zip(pad[::2], pad[1::2], strict=True), 1):
            if input.shape[-back] + min(before, 0) + min(after, 0) < 0:
                raise RuntimeError("narrow(): length must be non-negative.")
        return rows.constant_pad_nd(input, tuple(pad), value or 0)
    if mode not in ("replicate", "reflect", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if input.dim() not in (len(pad) // 2 + 1, len(pad) // 2 + 2):
        raise NotImplementedError(f"Padding size {len(pad)} is not supported for {input.dim()}D input tensor.")
    return pad_circular(input, pad) if mode == "circular" else pad_by_places(input, pad, mode)


def unpadded(whole, pad):
    """The part of a padded tensor that the input takes."""
    for back, (before, after) in enumerate(zip(pad[::2], pad[1::2], strict=True), 1):
        whole = whole.narrow(-back, before, whole.shape[-back] - before - after)
    return whole


def pad_by_places(input, pad, mode):
    """The input with "replicate" its edge, or "reflect" its mirror image without the edge, around it."""
    n = len(pad) // 2
    taps = []
    for back in range(n):
        length, before, after = input.shape[-1 - back], *pad[2 * back : 2 * back + 2]
        if mode == "reflect" and max(before, after) >= length:
            raise RuntimeError(
                f"Argument #{4 + 2 * back}: Padding size should be less than the corresponding input dimension, but "
                f"got: padding ({before}, {after}) at dimension {input.dim() - 1 - back} of input "
                f"{list(input.shape)}"
            )
        places = np.arange(-before, length + after)
        if mode == "reflect":
            places = length - 1 - np.abs(length - 1 - np.abs(places))
        taps.insert(0, (np.clip(places, 0, length - 1)[None], None))
    if input.array.dtype.kind == "b":
        kernel = {"reflect": "reflection_pad", "replicate": "replication_pad"}[mode]
        raise NotImplementedError(f"\"{kernel}{n}d\" not implemented for 'Bool'")
    name = {"reflect": "Reflection", "replicate": "Replication"}[mode]
    return named(rows.pooled(input, tuple(taps), None), f"{name}Pad{n}DBackward0")


def pad_circular(input, pad):
    """The input with its other end before and after it; what is cut is cut first."""
    n = len(pad) // 2
    sizes = list(input.shape)
    sides = [(pad[2 * back], pad[2 * back + 1], input.dim() - 1 - back) for back in range(n)]
    for before, after, dim in sides:
        sizes[dim] += before + after
        if max(before, after) > input.shape[dim]:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if sizes[dim] < 0 or before + after + input.shape[dim] < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
    whole = creation.empty(*sizes, dtype=input.dtype)
    place, part = whole, input
    for before, after, dim in reversed(sides):
        place = rows.slice_dim(place, dim, max(before, 0), sizes[dim] - max(after, 0), 1)
        part = rows.slice_dim(part, dim, max(-before, 0), input.shape[dim] - max(-after, 0), 1)
    rows.copy_(place, part)
    for before, after, dim in sides:
        if before > 0:
            end = sizes[dim] - max(after, 0)
            end_part = rows.slice_dim(whole, dim, end - before, end, 1)
            rows.copy_(rows.slice_dim(whole, dim, 0, before, 1), end_part)
        if after > 0:
            begin = rows.slice_dim(whole, dim, max(before, 0), max(before, 0) + after, 1)
            rows.copy_(rows.slice_dim(whole, dim, sizes[dim] - after, sizes[dim], 1), begin)
    return whole


# --- normalising and dropping ------------------------------------------------------------------------------


@asking_later
def batch_norm(
    input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05
):
    """(input - mean) / sqrt(variance + eps) * weight + bias, channel by channel.

    training: use the batch's own mean and (biased) variance, and move the running ones towards them. ValueError for
    a batch with one value a channel, RuntimeError for running statistics of another length or missing.
    """
    if eps < 0 or training and eps == 0:
        wanted = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {wanted}, but got {eps}")
    if training:
        composites.dimension(input, 1)  # raises when there is none
    channels = input.shape[1] if input.dim() > 1 else sum(input.shape)
    if training and math.prod((input.shape[0], *input.shape[2:])) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    if not training and (running_mean is None or running_var is None):
        name = "running_mean" if running_mean is None else "running_var"
        raise RuntimeError(f"{name} must be defined in evaluation mode")
    vectors = dict(running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    for name, vector in vectors.items():
        if vector is not None and vector.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {vector.numel()}")
    check_floats(input, "batch_norm")
    refuse_gradients("native_batch_norm", running_mean=running_mean, running_var=running_var)
    order = (running_mean, running_var, bias) if training else (bias, running_mean, running_var)
    check_one_kind(input, (weight, bias, running_mean, running_var), order)
    if not input.numel():  # nothing to normalise, and no statistics of it
        result = input.clone() if weight is None else input.clone() * weight[0]
        return result if bias is None else result + bias[0]
    return rows.native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


def check_one_kind(input, parameters, then):
    """RuntimeError unless input and parameters are of one element type: PyTorch looks at the first of them first."""
    given = [p for p in parameters if p is not None]
    if given and given[0].array.dtype is not input.array.dtype:
        if all(p.array.dtype is dtypes.F32 for p in given):
            raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    for parameter in then:
        if parameter is not None and parameter.array.dtype is not input.array.dtype:
            raise RuntimeError(f"expected scalar type {input.dtype.title} but found {parameter.dtype.title}")


def check_floats(input, kernel):
    """NotImplementedError for integers."""
    if input.array.dtype.kind != "f":
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.dtype.title}'")


@asking_later
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05):
    """(input - mean) / sqrt(variance + eps) * weight + bias over the last dimensions."""
    check_tensors("layer_norm", input)
    if isinstance(normalized_shape, int):
        raise TypeError("layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not int")
    shape = tuple(normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    if tuple(input.shape[input.dim() - len(shape) :]) != shape or len(shape) > input.dim():
        expected = ", ".join(["*", *map(str, shape)])
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [{expected}], but got input of "
            f"size{list(input.shape)}"
        )
    for name, vector in (("weight", weight), ("bias", bias)):
        if vector is not None and tuple(vector.shape) != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(vector.shape)} and normalized_shape = {list(shape)}"
            )
    if weight is not None and not input.is_floating_point():
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
    check_floats(input, "LayerNormKernelImpl")
    check_one_kind(input, (weight, bias), (bias,))
    return rows.native_layer_norm(input, shape, weight, bias, eps)[0]


@asking_later
def rms_norm(input, normalized_shape, weight=None, eps=None):
    """The input divided by the root of the mean of its squares over the last dimensions, times weight."""
    if isinstance(normalized_shape, int):
        raise TypeError("rms_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not int")
    if not normalized_shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    kernels.floats(input.array, "rms_norm")
    shape, sizes = list(normalized_shape), list(input.shape)
    if sizes[len(sizes) - len(shape) :] != shape:
        wanted = ", ".join(map(str, shape))
        raise RuntimeError(
            f"Given normalized_shape={shape}, expected input with shape [*{wanted}], but got input of size{sizes}"
        )
    if weight is not None and list(weight.shape) != shape:
        raise RuntimeError(
            f"Expected weight to be of same shape as normalized_shape, but got weight of shape {list(weight.shape)} "
            f"and normalized_shape = {shape}"
        )
    dims = tuple(range(-len(normalized_shape), 0))
    eps = float(np.finfo(input.array.dtype).eps) if eps is None else eps
    scaled = input * rows.rsqrt(plus(composites.mean(composites.pow(input, 2), dims, True), eps))
    return scaled if weight is None else scaled * weight


def kept_with_chance(chance, input):
    """Ones with the given chance, else zeros, in the shape and type of `input`."""
    (draw, source), like = creation.source_of(), memory_of(input)
    drawn = draw.in_memory_order(draw.fractions(source, like.size, np.float64), like, creation.layout(input))
    return creation.finish((drawn < chance).astype(like.dtype))


def dropout(input, p=0.5, training=True, inplace=False):
    """Each element set to zero with chance p, the others divided by 1 - p. Does nothing unless training."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    check_tensors("dropout", input)
    if not isinstance(training, bool):
        raise TypeError(f"dropout(): argument 'train' (position 3) must be bool, not {type_name(training)}")
    if p == 0 or not training or input.numel() == 0:
        return input
    check_cast(dtypes.F32, input.array.dtype)
    mask = creation.zeros_like(input.detach()) if p == 1 else kept_with_chance(1 - p, input) / (1 - p)
    return rows.mul_(input, mask) if inplace else rows.mul(input, mask)


@asking_later
def normalize(input, p=2.0, dim=1, eps=1e-12):
    """input divided by its p-norm along dim (but at least eps)."""
    length = rows.clamp_min(input.norm(p, dim, True), eps)
    return input / composites.expand(length, input.shape)


@asking_later
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The inner product of two tensors along dim, each scaled to length 1 first."""
    if eps < 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    common = dtypes.FROM_NUMPY[dtypes.result_type([(x.array.dtype, rank(x)) for x in (x1, x2)])]
    if not common.is_floating_point:
        raise RuntimeError(
            f"expected common dtype to be floating point, yet common dtype is {common.title}"
        )
    x1, x2 = (x if x.is_floating_point() else x.to(common) for x in (x1, x2))
    if x1.array.shape != x2.array.shape:  # then both are expanded, also the one that has the shape already
        shape = common_shape(x1, x2)
        x1, x2 = composites.expand(x1, shape), composites.expand(x2, shape)
    lengths = [rows.clone(x.norm(2, dim, True)) for x in (x1, x2)]
    with no_grad():
        for length in lengths:
            rows.clamp_min_(length, eps)
    second = x2 / lengths[1]  # first, as in PyTorch: hooks on saved tensors see it
    return composites.sum((x1 / lengths[0]) * second, dim)


@asking_later
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    """softmax(query @ key.T * scale + mask) @ value; a bool mask says where to look."""
    dims = [x.dim() for x in (query, key, value)]
    if min(dims) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{dims[0]} key.dim: {dims[1]} and value.dim: {dims[2]} instead."
        )
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    scale = 1 / math.sqrt(query.shape[-1] or 1) if scale is None else scale
    bias = attn_mask
    if is_causal:
        attn_mask = rows.tril(creation.ones(query.shape[-2], key.shape[-2])) == 1
    if attn_mask is not None and attn_mask.dtype.name == "bool":
        bias = composites.where(attn_mask, creation.zeros((), dtype=query.dtype), -math.inf)
    if not dropout_p and one_kernel_attends(query, key, value, bias):
        inputs, parts = {"query": query, "key": key, "value": value}, [t.array for t in (query, key, value)]
        bias = None if is_causal else bias
        result, sums = kernels_nn.attention(*parts, None if bias is None else bias.array, is_causal, scale)
        more = {"logsumexp": new_tensor(sums), "attn_mask": bias, "is_causal": is_causal, "scale": scale}
        name, kept = "ScaledDotProductFlashAttentionForCpuBackward0", ("output",)
        return joint(name, "attention_bend", inputs, [result, None], kept_results=kept, **more)[0]
    root = math.sqrt(abs(scale))
    query, turned = rows.mul_number(query, math.copysign(root, scale)), rows.mul_number(composites.mT(key), root)
    scores = composites.matmul(query, turned)
    if bias is not None:
        scores = rows.add_(scores, bias)
    return composites.matmul(dropout(rows.safe_softmax(scores, scores.dim() - 1), dropout_p), value)


def one_kernel_attends(query, key, value, mask):
    """True where PyTorch has one operation for all: four dimensions, of one kind, and no gradient for the mask."""
    sizes = [t.array.shape for t in (query, key, value)]
    return (
        all(len(shape) == 4 and 0 not in shape and shape[:2] == sizes[0][:2] for shape in sizes)
        and len({shape[3] for shape in sizes}) == 1 and sizes[1] == sizes[2]
        and all(t.array.strides[3] == t.array.itemsize for t in (query, key, value))
        and query.array.dtype == key.array.dtype == value.array.dtype and query.array.dtype.kind == "f"
        and (mask is None or not requires_grad(mask) and mask.array.dtype == query.array.dtype)
    )


# --- losses ------------------------------------------------------------------------------------------------


REDUCTIONS = ("none", "mean", "sum")


def reduction_number(reduction):
    """reduction as the nodes keep it: 0, 1 or 2."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return REDUCTIONS.index(reduction)


def reduced(losses, reduction):
    """The losses, their mean, or their sum."""
    reduction_number(reduction)
    return {"none": lambda x: x, "mean": composites.mean, "sum": composites.sum}[reduction](losses)


def same_size(input, target):
    """input and target broadcast to one shape, with PyTorch's warning when they differ."""
    if input.size() == target.size():
        return input, target
    warnings.warn(
        f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will likely "
        "lead to incorrect results due to broadcasting. Please ensure they have the same size.", stacklevel=3,
    )
    return broadcast(input, target)


def broadcast(*tensors):
    """The tensors expanded to one shape; those that have it already are left alone."""
    shape = common_shape(*tensors)
    return tuple(t if t.array.shape == shape else composites.expand(t, shape) for t in tensors)


def common_shape(*tensors):
    """The shape that tensors are broadcast to; RuntimeError when there is none."""
    try:
        return np.broadcast_shapes(*(t.array.shape for t in tensors))
    except ValueError:
        raise broadcast_error(*tensors) from None


def old_reduction(size_average, reduce):
    """The reduction that old programs ask for with two truth values, of which None means True."""
    chosen = "none" if reduce is False else "sum" if size_average is False else "mean"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{chosen}' instead.", stacklevel=3
    )
    return chosen


def mse_loss(input, target, *, reduction="mean", size_average=None, reduce=None):
    """The squared differences: their mean, their sum, or all of them."""
    if size_average is not None or reduce is not None:
        reduction = old_reduction(size_average, reduce)
    input, target = same_size(input, target)
    if not (input.is_floating_point() or target.is_floating_point()):
        kind = dtypes.of_array(promote(input, target)[0]).title
        raise NotImplementedError(f"\"mse_cpu\" not implemented for '{kind}'")
    return rows.mse_loss(input, target, reduction_number(reduction))


def l1_loss(input, target, *, reduction="mean", size_average=None, reduce=None):
    """The magnitudes of the differences: their mean, their sum, or all of them."""
    if size_average is not None or reduce is not None:
        reduction = old_reduction(size_average, reduce)
    input, target = same_size(input, target)
    return reduced(rows.abs(input - target), reduction)


@asking_later
def smooth_l1_loss(input, target, *, reduction="mean", beta=1.0, size_average=None, reduce=None):
    """Squared differences (divided by 2 beta) below beta, magnitudes beyond."""
    if size_average is not None or reduce is not None:
        reduction = old_reduction(size_average, reduce)
    input, target = same_size(input, target)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    return rows.smooth_l1_loss(input, target, reduction_number(reduction), beta)


@asking_later
def huber_loss(input, target, *, reduction="mean", delta=1.0):
    """Half squared differences up to delta, straight lines of slope delta beyond."""
    delta = number_of(delta)
    if not isinstance(delta, int | float):
        raise TypeError(f"huber_loss(): argument 'delta' (position 4) must be float, not {type_name(delta)}")
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    input, target = same_size(input, target)
    check_cast(promote(input, target)[0].dtype, input.array.dtype)
    return rows.huber_loss(input, target, reduction_number(reduction), delta)


def binary_cross_entropy(input, target, weight=None, *, reduction="mean", size_average=None, reduce=None):
    """-log of the probability given to a yes/no target; input must lie in [0, 1]."""
    if size_average is not None or reduce is not None:
        reduction = old_reduction(size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
            "deprecated. "
            "Please ensure they have the same size."
        )
    if weight is not None:
        weight = expanded_weight(weight, target)
    refuse_gradients("binary_cross_entropy", weight=weight)
    kernels_nn.alike(input, target)
    check_floats(input, "binary_cross_entropy")
    return rows.binary_cross_entropy(input, target, weight, reduction_number(reduction))


def expanded_weight(weight, target):
    """The weight in the shape of the target, or one to which the target could be expanded."""
    shape, wanted = weight.array.shape, target.array.shape
    for back, (n, m) in enumerate(zip(shape[::-1], wanted[::-1], strict=False), 1):
        if n != m and 1 not in (n, m):
            raise RuntimeError(
                f"Attempting to broadcast a dimension of length {n} at -{back}! Mismatching argument at index 1 had "
                f"{weight.shape}; but expected shape should be broadcastable to {list(wanted)}"
            )
    return composites.expand(weight, np.broadcast_shapes(shape, wanted))


def refuse_gradients(function, **arguments):
    """RuntimeError for an argument that requires grad, where the function has no gradient for it."""
    for name, tensor in arguments.items():
        if tensor is not None and state.recording > 0 and requires_grad(tensor):
            raise RuntimeError(
                f"The function '{function}' is not differentiable with respect to argument '{name}'. This input cannot "
                "have requires_grad True."
            )


def binary_cross_entropy_with_logits(
    input, target, weight=None, *, reduction="mean", pos_weight=None, size_average=None, reduce=None
):
    """binary_cross_entropy of sigmoid(input), computed from input so that nothing overflows."""
    if size_average is not None or reduce is not None:
        reduction = old_reduction(size_average, reduce)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    check_weight("binary_cross_entropy_with_logits", weight)
    check_weight("binary_cross_entropy_with_logits", pos_weight, "pos_weight", 4)
    refuse_gradients("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    kernels.floats(input.array, "log_sigmoid_cpu")
    if pos_weight is not None:
        kernels.check_difference(pos_weight.array, 1)
    kernels.check_difference(target.array, target.array)
    check_cast(promote(input, target)[0].dtype, target.array.dtype)
    return rows.bce_with_logits(input, target, weight, pos_weight, reduction_number(reduction))


def nll_loss(input, target, weight=None, *, ignore_index=-100, reduction="mean", size_average=None, reduce=None):
    """Minus the entries of input (log probabilities) at the target classes.

    input (C), (N, C) or (N, C, ...), target the same without C. The mean is weighted, and leaves out targets equal to
    ignore_index. IndexError for a class that is not there.
    """
    if size_average is not None or reduce is not None:
        reduction = old_reduction(size_average, reduce)
    if type(input) is not Tensor or type(target) is not Tensor:
        check_tensors("nll_loss_nd", input, target)
    dims, sizes, number = input.array.ndim, target.array.shape, reduction_number(reduction)
    usual = dims == 2 and weight is None and type(ignore_index) is int
    if usual and input.array.shape[:1] == sizes and target.array.dtype is dtypes.I64:
        return rows.nll_loss(input, target, None, number, ignore_index)[0]  # all is as it should be
    check_weight("nll_loss_nd", weight)
    check_number("nll_loss_nd", "ignore_index", ignore_index, int, 5)
    if dims == 0:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    samples = sizes[0] if sizes else 0
    if dims > 1 and input.array.shape[0] != samples:
        raise ValueError(f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({samples}).")
    refuse_gradients("nll_loss_forward" if dims <= 2 else "nll_loss2d_forward", weight=weight)
    check_target(input, target, weight)
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.title} but found {weight.dtype.title}")
    if dims <= 2:
        return rows.nll_loss(input, target, weight, number, ignore_index)[0]
    places = target.shape
    if input.dim() != 4:  # PyTorch has one operation for images; others are given that form for a moment
        input = composites.reshape(input, (*input.shape[:2], 1, -1))
        target = composites.reshape(target, (input.shape[0], 1, -1))
    loss = rows.nll_loss2d(input, target, weight, number, ignore_index)[0]
    return composites.reshape(loss, places) if number == 0 and loss.shape != places else loss


def check_target(input, target, weight):
    """RuntimeError for targets that are no class numbers, and for shapes that do not go together."""
    sizes = input.array.shape
    if len(sizes) > 2:
        check_places(sizes, target, weight)
        return
    if target.array.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    check_class_numbers(target)
    if len(sizes) == 1 and target.array.size != 1:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.array.size}")
    classes = sizes[-1]
    if weight is not None and (weight.dim() != 1 or len(weight) != classes):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {list(weight.shape)}"
        )


def check_places(sizes, target, weight):
    """The same for an input with a class number for each of several places: PyTorch has its own words for images."""
    images = len(sizes) == 4
    expected = [sizes[0], *sizes[2:]]
    fits = list(target.shape) == expected
    if images and target.dim() != 3:
        raise RuntimeError(
            f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {target.dim()}"
        )
    if not images and not fits:
        raise RuntimeError(f"Expected target size {expected}, got {list(target.shape)}")
    check_class_numbers(target)
    if weight is not None and weight.numel() != sizes[1]:
        raise RuntimeError("weight tensor should be defined either for all or no classes")
    if not fits:
        raise RuntimeError(f"size mismatch (got input: {list(sizes)} , target: {list(target.shape)}")


def check_class_numbers(target):
    """RuntimeError for targets that are no class numbers."""
    if target.array.dtype.kind != "i":
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {target.dtype.title}")


def cross_entropy(
    input, target, weight=None, *, ignore_index=-100, reduction="mean", label_smoothing=0.0, size_average=None,
    reduce=None,
):
    """nll_loss of log_softmax(input); target holds class numbers, or a probability for each class."""
    if size_average is not None or reduce is not None:
        reduction = old_reduction(size_average, reduce)
    if type(input) is not Tensor or type(target) is not Tensor:
        check_tensors("cross_entropy_loss", input, target)
    if weight is not None:
        check_weight("cross_entropy_loss", weight)
    if type(ignore_index) is not int or type(label_smoothing) is not float:
        check_number("cross_entropy_loss", "ignore_index", ignore_index, int, 5)
        check_number("cross_entropy_loss", "label_smoothing", label_smoothing, float, 6)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    dim = 0 if input.array.ndim == 1 else 1
    probabilities = target.array.shape == input.array.shape
    if probabilities and target.array.dtype.kind != "f":
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {target.dtype.title}"
        )
    log_probabilities = composites.log_softmax(input, dim)
    if probabilities:
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return soft_cross_entropy(log_probabilities, target, weight, reduction, label_smoothing, dim)
    hard = nll_loss(log_probabilities, target, weight, ignore_index=ignore_index, reduction=reduction)
    if label_smoothing == 0:
        return hard
    even = spread_loss(log_probabilities, target, weight, ignore_index, reduction, dim)
    even = rows.mul_number(even, label_smoothing / input.shape[dim])  # first: C++ computes from right to left
    return rows.mul_number(hard, 1 - label_smoothing) + even


def along_classes(weight, input, dim):
    """A vector of one number a class, in a shape that broadcasts against input."""
    return composites.reshape(weight, [-1 if d == dim else 1 for d in range(input.dim())])


def soft_cross_entropy(log_probabilities, target, weight, reduction, label_smoothing, dim):
    """Cross entropy with a probability for each class as target."""
    if label_smoothing:
        target = rows.mul_number(target, 1 - label_smoothing)
        target = rows.add_number(target, label_smoothing / log_probabilities.shape[dim])
    products = log_probabilities * target
    if weight is not None:
        if list(weight.shape) != [input_classes := products.shape[dim]]:
            raise RuntimeError(
                f"cross_entropy: weight tensor should be defined either for all {input_classes} classes or no classes "
                f"but got weight tensor of shape: {list(weight.shape)}"
            )
        products = products * along_classes(weight, products, dim)
    if reduction_number(reduction) == 0:
        return -composites.sum(products, dim)
    if reduction == "sum":
        return -composites.sum(products)
    if not products.numel():
        return -composites.sum(products).fill_(math.nan)
    return rows.div_number(-composites.sum(products), products.numel() // products.shape[dim])


def spread_loss(log_probabilities, target, weight, ignore_index, reduction, dim):
    """What label smoothing adds: the loss with every class equally right."""
    if weight is not None:
        log_probabilities = log_probabilities * along_classes(weight, log_probabilities, dim)
    losses = -composites.sum(log_probabilities, dim)
    ignored = target == ignore_index
    losses = rows.masked_fill(losses, ignored, 0.0)
    if reduction != "mean":
        return reduced(losses, reduction)
    if weight is None:
        count = int((~ignored).sum())
        return composites.sum(losses) / count
    chosen = weight[rows.masked_fill(target, ignored, 0)]
    return composites.sum(losses) / composites.sum(rows.masked_fill(chosen, ignored, 0.0))


def kl_div(input, target, *, reduction="mean", log_target=False, size_average=None, reduce=None):
    """target * (log(target) - input), with input as log probabilities."""
    if size_average is not None or reduce is not None:
        reduction, asked_for = old_reduction(size_average, reduce), None
    else:
        asked_for = reduction
    check_tensors("kl_div", input, target)
    if "f" != input.array.dtype.kind or "f" != target.array.dtype.kind:
        raise RuntimeError("kl_div: Integral inputs not supported.")
    if asked_for == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.", stacklevel=2,
        )
    if log_target:
        difference = target - input  # first: C++ computes operands from right to left
        losses = rows.exp(target) * difference
    else:
        product = target * input  # first, as in PyTorch: hooks on saved tensors see it
        losses = rows.xlogy(target, target) - product
    if reduction == "batchmean":
        return composites.sum(losses) / input.shape[0] if input.dim() else composites.sum(losses)
    return reduced(losses, reduction)


__all__ = """
    Tensor avg_pool2d batch_norm binary_cross_entropy binary_cross_entropy_with_logits conv1d conv2d
    cosine_similarity cross_entropy dropout elu embedding gelu glu huber_loss kl_div l1_loss layer_norm leaky_relu
    linear log_softmax logsigmoid max_pool2d mse_loss nll_loss normalize one_hot pad relu relu_ rms_norm
    scaled_dot_product_attention sigmoid silu smooth_l1_loss softmax softplus tanh threshold
""".split()
__getattr__, __dir__ = doors("torch.nn.functional", __all__)
