"""Functions of pictures and sequences: pooling, resizing, padding, transposed convolution. Read when first used.

PyTorch: torch/nn/functional.py, aten/src/ATen/native (AdaptiveAveragePooling.cpp, UpSample.h, Im2Col.cpp, Loss.cpp).
"""

import math
import warnings

import numpy as np

from course_lib import dtypes, grad_mode
from course_lib.native import composites, creation, derivatives_images, kernels, kernels_images  # noqa: F401
from course_lib.native.arguments import type_name, whole_number
from course_lib.native.building import rows
from course_lib.native.memory import check_cast
from course_lib.nn.functional import (
    batch_norm,
    check_groups,
    check_kinds,
    check_one_kind,
    check_steps,
    check_tensors,
    check_triplet,
    check_weight,
    dropout,
    for_convolution,
    kept_with_chance,
    leaky_relu,
    logsigmoid,
    named,
    pairwise_distance,
    per_dimension,
    plus,
    reduced,
    reduction_number,
    refuse_gradients,
)
from course_lib.nn.functional import pad as pad_with_value
from course_lib.tensor import Tensor


def mapped(input, taps, divisor, name):
    """The sums that taps describe: Note [Taps] in kernels_images.py. For resizing PyTorch keeps no input."""
    row = rows.mapped if name.startswith("Upsample") else rows.pooled
    return named(row(input, tuple(taps), divisor), name)


# --- pooling -----------------------------------------------------------------------------------------------


def lengths_of(name, n, value, parameter):
    """One number a dimension; RuntimeError when there are others, in the words that PyTorch has for each kind."""
    found = per_dimension(value, n)
    if len(found) == n:
        return found
    form = "None, an int, list of ints, or" if parameter == "stride" else "an int, list of ints or"
    if name.startswith("avg") and n == 1:
        raise RuntimeError(f"{name}() argument '{parameter}' should contain one int (got {len(found)})")
    if n == 1:
        raise RuntimeError(f"{name}() {parameter} must be {form} tuple of ints of size 1 but got size {len(found)}")
    either = {"stride": "either be omitted, a", "dilation": "be either a"}.get(parameter, "either be a")
    either = either.removeprefix("either ") if name == "avg_pool3d" else either
    raise RuntimeError(f"{name}: {parameter} must {either} single int, or a tuple of {('two', 'three')[n - 2]} ints")


def check_pooling(n, name, input, kernel, stride, padding, dilation=1):
    """The arguments, one number a dimension. RuntimeError for shapes and steps that PyTorch refuses."""
    kernel = lengths_of(name, n, kernel, "kernel_size")
    stride = kernel if stride is None or stride in ([], ()) else lengths_of(name, n, stride, "stride")
    padding, dilation = lengths_of(name, n, padding, "padding"), lengths_of(name, n, dilation, "dilation")
    if any(k <= 0 for k in kernel) and name == "max_pool1d":
        raise RuntimeError(f"max_pool1d() kernel_size must be greater than zero, but got {kernel[0]}")
    if any(k <= 0 for k in kernel):
        sizes = " ".join(f"k{axis}: {k}" for axis, k in zip("THW"[-n:], kernel, strict=True))
        raise RuntimeError(f"kernel size should be greater than zero, but got {sizes}")
    if any(d <= 0 for d in dilation) and n == 1:
        raise RuntimeError(f"{name}() dilation must be greater than zero, but got {dilation[0]}")
    if any(d <= 0 for d in dilation):
        sizes = " ".join(f"dilation{axis}: {d}" for axis, d in zip("THW"[-n:], dilation, strict=True))
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
    if input.dim() not in (n + 1, n + 2) or 0 in input.shape[input.dim() - n - 1 :]:
        raise RuntimeError(f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input")
    return kernel, stride, padding, dilation


def check_output(input, lengths):
    """RuntimeError for windows that do not fit at all."""
    if min(lengths) < 1:
        shape = [input.shape[-len(lengths) - 1], *input.shape[input.dim() - len(lengths) :]]
        sizes = ["x".join(map(str, sizes)) for sizes in (shape, (shape[0], *lengths))]
        raise RuntimeError(
            f"Given input size: ({sizes[0]}). Calculated output size: ({sizes[1]}). Output size is too small"
        )


def max_pool(n, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
    """The largest element of each patch of n dimensions, on request with its place."""
    check_tensors(f"max_pool{n}d", input)
    name = f"max_pool{n}d"
    kernel, stride, padding, dilation = check_pooling(n, name, input, kernel_size, stride, padding, dilation)
    lengths = [
        kernels_images.pooled_length(*each, ceil_mode)
        for each in zip(input.shape[input.dim() - n :], kernel, stride, padding, dilation, strict=True)
    ]
    check_output(input, lengths)
    result, places = rows.max_pool2d(input, kernel, stride, padding, dilation, ceil_mode)
    if n == 3:
        named(result, "MaxPool3DWithIndicesBackward0")
    return (result, places) if return_indices else result


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest element of each stretch of a line."""
    check_pooling(1, "max_pool1d", input, kernel_size, stride, padding, dilation)
    numbers = ((1, n) for n in (per_dimension(kernel_size, 1)[0], per_dimension(stride or kernel_size, 1)[0]))
    kernel, stride = numbers
    padding, dilation = (0, per_dimension(padding, 1)[0]), (1, per_dimension(dilation, 1)[0])
    lines = rows.unsqueeze(input, input.dim() - 1)
    pooled = max_pool(2, lines, kernel, stride, padding, dilation, ceil_mode, True)
    result, places = (composites.squeeze(each, -2) for each in pooled)
    return (result, places) if return_indices else result


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest element of each patch; the first of equal ones gets the gradient."""
    return max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest element of each block."""
    return max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def avg_pool(n, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    """The mean of each patch of n dimensions."""
    check_tensors(f"avg_pool{n}d", input)
    kernel, stride, padding, _ = check_pooling(n, f"avg_pool{n}d", input, kernel_size, stride, padding)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    if input.array.dtype.kind == "b":
        raise NotImplementedError(f"\"avg_pool{n}d\" not implemented for 'Bool'")
    sizes = input.shape[input.dim() - n :]
    taps, divisor = kernels_images.average_taps(
        sizes, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    check_output(input, [places.shape[1] for (places, _) in taps])
    return mapped(input, taps, divisor.astype(input.array.dtype), f"AvgPool{n}DBackward0")


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each stretch of a line."""
    kernel, stride, padding, _ = check_pooling(1, "avg_pool1d", input, kernel_size, stride, padding)
    lines, numbers = rows.unsqueeze(input, input.dim() - 1), [(1, *kernel), (1, *stride), (0, *padding)]
    return composites.squeeze(avg_pool(2, lines, *numbers, ceil_mode, count_include_pad, None), -2)


def avg_pool2d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """The mean of each patch."""
    return avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """The mean of each block."""
    return avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def wanted_lengths(n, kind, input, output_size):
    """The length of each pooled dimension; None leaves one as it is.

    TypeError for what are no whole numbers, RuntimeError when there are not n of them or one is negative.
    """
    name, sizes = f"adaptive_{kind}_pool{n}d", input.shape[max(input.dim() - n, 0) :]
    if not isinstance(output_size, int | list | tuple) or isinstance(output_size, bool) or n == 1 and not output_size:
        got = type_name(output_size)
        raise TypeError(f"{name}(): argument 'output_size' (position 2) must be tuple of ints, not {got}")
    given = (output_size,) * n if isinstance(output_size, int) else tuple(output_size)
    if n > 1 and not isinstance(output_size, int) and len(given) >= input.dim():
        raise ValueError(f"Input dimension should be at least {len(given) + 1}")
    for number, wanted in enumerate(given):
        if wanted is not None and whole_number(wanted) is None:
            raise TypeError(
                f"{name}(): argument 'output_size' (position 2) must be tuple of ints, but found element of type "
                f"{type_name(wanted)} at pos {number}"
            )
    if len(given) != n:
        words = {"avg": f"{name}: output_size must be {n}",
                 "max": f"{name}(): internal error: output_size.size() must be {n}"}
        one = f"{name}() argument 'output_size' should contain one int (got {len(given)})"
        raise RuntimeError(one if n == 1 else words[kind])
    check_adaptive(n, kind, input)
    lengths = tuple(m if wanted is None else wanted for wanted, m in zip(given, sizes, strict=True))
    if min(lengths) < 0 and kind == "avg":
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received "
            f"{{{', '.join(map(str, lengths))}}}"
        )
    if min(lengths) < 0:
        shape = [*input.shape[: input.dim() - n], *lengths]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(lengths)}: {shape}")
    return lengths


def adaptive_avg_pool(n, input, output_size):
    """As many means as asked for, of patches that cover the input evenly."""
    lengths = wanted_lengths(n, "avg", input, output_size)
    kernels.floats(input.array, f"adaptive_avg_pool{n}d{'_cpu' if n == 3 else ''}")
    if lengths == (1,) * n:
        return composites.mean(input, tuple(range(-n, 0)), True)
    taps, divisor = kernels_images.adaptive_taps(input.shape[input.dim() - n :], lengths)
    return mapped(input, taps, divisor.astype(input.array.dtype), f"AdaptiveAvgPool{n}DBackward0")


def adaptive_avg_pool1d(input, output_size):
    """As many means of stretches of a line as asked for."""
    length = wanted_lengths(1, "avg", input, output_size)[0]
    return composites.squeeze(adaptive_avg_pool2d(rows.unsqueeze(input, input.dim() - 1), (1, length)), -2)


def adaptive_avg_pool2d(input, output_size):
    """As many means of patches as asked for: (1, 1) is the mean of each channel."""
    return adaptive_avg_pool(2, input, output_size)


def adaptive_avg_pool3d(input, output_size):
    """As many means of blocks as asked for."""
    return adaptive_avg_pool(3, input, output_size)


def adaptive_max_pool1d(input, output_size, return_indices=False):
    """As many largest elements of stretches of a line as asked for."""
    length = wanted_lengths(1, "max", input, output_size)[0]
    pooled = adaptive_max_pool2d(rows.unsqueeze(input, input.dim() - 1), (1, length), True)
    result, places = (composites.squeeze(each, -2) for each in pooled)
    return (result, places) if return_indices else result


def adaptive_max_pool2d(input, output_size, return_indices=False):
    """As many largest elements of patches as asked for."""
    result, places = rows.adaptive_max_pool(input, wanted_lengths(2, "max", input, output_size))
    return (result, places) if return_indices else result


def adaptive_max_pool3d(input, output_size, return_indices=False):
    """As many largest elements of blocks as asked for."""
    result, places = rows.adaptive_max_pool(input, wanted_lengths(3, "max", input, output_size))
    named(result, "AdaptiveMaxPool3DBackward0")
    return (result, places) if return_indices else result


def check_adaptive(n, kind, input):
    """RuntimeError for the wrong number of dimensions."""
    if input.dim() in (n + 1, n + 2):
        return
    if n == 1:
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input.dim()}-dimensional tensor for argument #1 'self' (while "
            f"checking arguments for adaptive_{kind}_pool1d)"
        )
    got = f"but got{':' if kind == 'max' else ''} {list(input.shape)}"
    raise RuntimeError(f"adaptive_{kind}_pool{n}d(): Expected {n + 1}D or {n + 2}D tensor, {got}")


def lp_pool(n, input, norm_type, kernel_size, stride, ceil_mode):
    """The p-norm of each patch, made of the mean of p-th powers, as in PyTorch."""
    kernel = per_dimension(kernel_size, n)
    pool = avg_pool1d if n == 1 else avg_pool2d if n == 2 else avg_pool3d
    means = pool(composites.pow(input, norm_type), kernel_size, stride, 0, ceil_mode)
    powers = rows.relu(rows.abs(means)) if n > 3 else rows.sign(means) * rows.relu(rows.abs(means))
    return composites.pow(powers * math.prod(kernel), 1.0 / norm_type)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each stretch of a line."""
    return lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each patch."""
    return lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


# --- padding with its own elements -------------------------------------------------------------------------


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
    return mapped(input, taps, None, {"reflect": "Reflection", "replicate": "Replication"}[mode] + f"Pad{n}DBackward0")


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


# --- convolution the other way, patches, resizing ----------------------------------------------------------


def conv_transpose(n, input, weight, bias, stride, padding, output_padding, groups, dilation):
    """What a convolution's gradient does to its input, as an operation of its own: it makes pictures larger."""
    check_tensors(f"conv_transpose{n}d", input)
    check_weight(f"conv_transpose{n}d", bias, "bias")
    if weight.dim() < 3:
        raise RuntimeError("weight should have at least three dimensions")
    unbatched = input.dim() == n + 1
    if unbatched:
        input = composites.unsqueeze(input, 0)
    if weight.dim() != n + 2:
        dims = weight.dim()
        raise RuntimeError(
            f"Expected {dims}-dimensional input for {dims}-dimensional weight {list(weight.shape)}, but got "
            f"{input.dim()}-dimensional input of size {list(input.shape)} instead"
        )
    stride, padding, output_padding, dilation = for_convolution(
        n, stride=stride, padding=padding, output_padding=output_padding, dilation=dilation
    )
    check_steps(stride, padding, dilation, groups)
    if min(output_padding) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if input.dim() != n + 2:
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to conv_transpose{n}d, but got input of size: "
            f"{list(input.shape)}"
        )
    check_groups(groups, weight)
    if input.shape[1] != weight.shape[0]:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(weight.shape)}, expected input{list(input.shape)} to have "
            f"{weight.shape[0]} channels, but got {input.shape[1]} channels instead"
        )
    channels = weight.shape[1] * groups
    if bias is not None and bias.array.shape != (channels,):
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(weight.shape)}, expected bias to be 1-dimensional with "
            f"{channels} elements, but got bias of size {list(bias.shape)} instead"
        )
    check_kinds(input, weight, None)
    check_added(output_padding, stride, dilation)
    sizes = [
        (m - 1) * s - 2 * p + d * (k - 1) + more + 1
        for m, s, p, d, k, more in zip(
            input.shape[2:], stride, padding, dilation, weight.shape[2:], output_padding, strict=True
        )
    ]
    if min(sizes) < 1:
        before, after = (" x ".join(map(str, (1,) * (n == 1) + tuple(each))) for each in (input.shape[2:], sizes))
        raise RuntimeError(
            f"Given input size per channel: ({before}). Calculated output size per channel: ({after}). Output size is "
            "too small"
        )
    shape = (input.shape[0], channels, *sizes)
    result = rows.conv_transposed(input, weight, bias, shape, stride, padding, dilation, groups)
    return composites.squeeze(result, 0) if unbatched else result


def check_added(output_padding, stride, dilation):
    """RuntimeError for lines added to the result that no input can have reached."""
    if any(more >= s and more >= d for more, s, d in zip(output_padding, stride, dilation, strict=True)):
        numbers = dict(output_padding=output_padding, stride=stride, dilation=dilation)
        if len(stride) == 1:  # PyTorch computes a line as a picture of height 1
            numbers = {name: (int(name != "output_padding"), *pair) for name, pair in numbers.items()}
        sides = ("depth", "height", "width")[-len(numbers["stride"]) :]
        found = [(name, *pair) for name, each in numbers.items() for pair in zip(sides, each, strict=True)]
        got = " ".join(f"{name}_{side}: {n}" for name, side, n in found)
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {got}")


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Transposed convolution over one dimension: weight (in, out / groups, K)."""
    return conv_transpose(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Transposed convolution over two dimensions: weight (in, out / groups, KH, KW)."""
    return conv_transpose(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Transposed convolution over three dimensions."""
    return conv_transpose(3, input, weight, bias, stride, padding, output_padding, groups, dilation)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Every patch as a column: (N, C, H, W) -> (N, C * KH * KW, patches)."""
    check_tensors("im2col", input)
    if input.dim() not in (3, 4):
        composites.dimension(input, 2)  # raises where there is none
        raise RuntimeError(f"Input Error: Only unbatched (3D) or batched (4D) inputs are supported, got {input.dim()}D")
    kernel, dilation, padding, stride = patches_of(kernel_size, dilation, padding, stride)
    sizes = tuple(input.shape[-2:])
    counts = patch_counts(sizes, kernel, dilation, padding, stride)
    if min(counts) < 1:
        raise RuntimeError(
            f"Given input with spatial size {sizes}, kernel_size={kernel}, dilation={dilation}, padding={padding}, "
            f"calculated shape of the array of sliding blocks as {counts}, but its components must be at least one."
        )
    return rows.im2col(input, kernel, dilation, padding, stride)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns added up to pictures of a size, each at the place of its patch."""
    check_tensors("col2im", input)
    for number, n in enumerate(output_size if isinstance(output_size, list | tuple) else [output_size]):
        if whole_number(n) is None:
            raise TypeError(
                "col2im(): argument 'output_size' (position 2) must be tuple of ints, but found element of type "
                f"{type_name(n)} at pos {number}"
            )
    sizes = pair_of("output_size", output_size)
    kernel, dilation, padding, stride = patches_of(kernel_size, dilation, padding, stride)
    if input.dim() not in (2, 3) or not all(input.shape[-2:]):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(input.shape)}"
        )
    if input.shape[-2] % math.prod(kernel):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)="
            f"{input.shape[-2]} and kernel_size={kernel}."
        )
    counts = patch_counts(sizes, kernel, dilation, padding, stride)
    if min(counts) < 1 or math.prod(counts) != input.shape[-1]:
        numbers = f"kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}"
        raise RuntimeError(
            f"Given output_size={sizes}, {numbers}, expected size of input's dimension 2 to match the calculated "
            f"number of sliding blocks {counts[0]} * {counts[1]} = {math.prod(counts)}, but got "
            f"input.size(2)={input.shape[-1]}."
        )
    return rows.col2im(input, sizes, kernel, dilation, padding, stride)


def pair_of(name, value):
    """Two numbers; RuntimeError when there are others."""
    found = per_dimension(value, 2)
    if len(found) != 2 or isinstance(value, list | tuple) and len(value) != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(value)}")
    return found


def patches_of(kernel, dilation, padding, stride):
    """The four pairs that describe patches. RuntimeError for numbers that describe none."""
    numbers = dict(kernel_size=kernel, dilation=dilation, padding=padding, stride=stride)
    numbers = {name: pair_of(name, value) for name, value in numbers.items()}
    for name, pair in numbers.items():
        short = {"kernel_size": "kernel", "padding": "pad"}.get(name, name)
        got = f"but got {short}_height: {pair[0]} {short}_width: {pair[1]}"
        if min(pair) < (name != "padding"):
            what = "non-negative" if name == "padding" else "greater than zero"
            raise RuntimeError(f"{name.replace('_', ' ')} should be {what}, {got}")
    return numbers.values()


def patch_counts(sizes, kernel, dilation, padding, stride):
    """How many patches there are in each direction."""
    each = zip(sizes, kernel, dilation, padding, stride, strict=True)
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in each)


RESIZING = {  # mode -> (numbers of dimensions it is for, name of the node without them)
    "nearest": ((3, 4, 5), "UpsampleNearest{}DBackward0"),
    "nearest-exact": ((3, 4, 5), "UpsampleNearestExact{}DBackward0"),
    "linear": ((3,), "UpsampleLinear{}DBackward0"), "bilinear": ((4,), "UpsampleBilinear{}DBackward0"),
    "trilinear": ((5,), "UpsampleTrilinear{}DBackward0"), "bicubic": ((4,), "UpsampleBicubic{}DBackward0"),
    "area": ((3, 4, 5), None),
}  # fmt: skip


def interpolate(
    input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None,
    antialias=False,
):
    """Pictures of another size, given as such or as a factor, by their nearest pixels or by what lies between them."""
    n = input.dim() - 2
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    if mode not in RESIZING or input.dim() not in RESIZING[mode][0]:
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | area | nearest-exact "
            f"(got {mode})"
        )
    if antialias:
        raise composites.errors.not_supported("interpolate with antialias", "Use antialias=False.")
    if (size is None) == (scale_factor is None):
        raise ValueError(
            "either size or scale_factor should be defined" if size is None else
            "only one of size or scale_factor should be defined"
        )
    sizes, factors = input.shape[2:], [None] * n
    if size is not None:
        lengths = per_dimension(size, n) if isinstance(size, int) else tuple(size)
        check_sides(sizes, lengths, "output", "output size of", "output size in (o1, o2, ...,oK)")
    else:
        factors = list(scale_factor) if isinstance(scale_factor, list | tuple) else [scale_factor] * n
        check_sides(sizes, factors, "scale_factor", "scale_factor of shape", "scale_factor in (s1, s2, ...,sK)")
        lengths = [math.floor(m * factor) for m, factor in zip(sizes, factors, strict=True)]
        factors = [None] * n if recompute_scale_factor else factors
    if min(lengths) < 1 and mode != "area":
        sides = f"input {named_sides(sizes)} output {named_sides(lengths)}"
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got {sides}")
    if mode == "area":
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[n - 1](input, tuple(lengths))
    taps = [resizing_taps(mode, *each, bool(align_corners)) for each in zip(sizes, lengths, factors, strict=True)]
    return mapped(input, taps, None, RESIZING[mode][1].format(n))


def check_sides(sizes, given, what, of, form):
    """ValueError unless there is one length, or factor, for each side of the pictures."""
    if len(given) != len(sizes):
        raise ValueError(
            f"Input and {what} must have the same number of spatial dimensions, but got input with spatial dimensions "
            f"of {list(sizes)} and {of} {list(given)}. Please provide input tensor in (N, C, d1, d2, ...,dK) format "
            f"and {form} format."
        )


def named_sides(sizes):
    """(H: 4, W: 5), as messages about pictures write sizes."""
    return f"({', '.join(f'{side}: {n}' for side, n in zip('DHW'[-len(sizes) :], sizes, strict=True))})"


def resizing_taps(mode, n, length, factor, align_corners):
    """Which elements, and how much of each, make the elements of a resized dimension."""
    if mode.startswith("nearest"):
        return kernels_images.nearest_taps(n, length, factor, mode == "nearest-exact")
    taps = kernels_images.cubic_taps if mode == "bicubic" else kernels_images.linear_taps
    return taps(n, length, factor, align_corners)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """interpolate, by its old name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def pixel_shuffle(input, upscale_factor):
    """Channels laid out as pixels: (..., C * r * r, H, W) -> (..., C, H * r, W * r)."""
    check_pixels("pixel_shuffle", input, upscale_factor, "upscale_factor")
    if input.shape[-3] % upscale_factor**2:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={input.shape[-3]} is not divisible by {upscale_factor**2}"
        )
    return rows.pixel_shuffle(input, upscale_factor)


def check_pixels(name, input, factor, parameter):
    """TypeError for no tensor, RuntimeError for no picture, and for a factor below 1."""
    check_tensors(name, input)
    if input.dim() < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {input.dim()} dimension(s)"
        )
    if factor < 1:
        raise RuntimeError(f"{name} expects a positive {parameter}, but got {factor}")


def pixel_unshuffle(input, downscale_factor):
    """Pixels laid out as channels: the way back."""
    check_pixels("pixel_unshuffle", input, downscale_factor, "downscale_factor")
    for name, dim in (("height", -2), ("width", -1)):
        if input.shape[dim] % downscale_factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({dim})="
                f"{input.shape[dim]} is not divisible by {downscale_factor}"
            )
    return rows.pixel_unshuffle(input, downscale_factor)


def channel_shuffle(input, groups):
    """The channels of several groups dealt out in turn."""
    if input.dim() < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    n, channels, *rest = input.shape
    if groups < 1:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    apart = composites.transpose(composites.reshape(input, (n, groups, channels // groups, *rest)), 1, 2)
    return named(composites.reshape(apart, tuple(input.shape)), "ChannelShuffleBackward0")


# --- normalising -------------------------------------------------------------------------------------------


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05):
    """Each group of channels of each sample with mean 0 and variance 1, times weight plus bias by channel."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    if input.shape[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    for name, vector in dict(weight=weight, bias=bias).items():
        if vector is not None and vector.array.shape != input.array.shape[1:2]:
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(vector.shape)} and input of shape {list(input.shape)}"
            )
    if input.is_floating_point():
        check_one_kind(input, (weight, bias), (bias,))
    return rows.native_group_norm(input, weight, bias, num_groups, eps)


def instance_norm(
    input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-05
):
    """Each channel of each sample normalised by itself: batch normalisation of one sample with N * C channels."""
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {input.shape}"
        )
    n, channels, *rest = input.shape
    vectors = [None if v is None else v.repeat(n) for v in (running_mean, running_var, weight, bias)]
    flat = composites.view(input.contiguous(), (1, n * channels, *rest))
    result = batch_norm(flat, *vectors, use_input_stats, momentum, eps)
    for own, repeated in zip((running_mean, running_var), vectors, strict=False):
        if own is not None and use_input_stats:
            own.detach().copy_(composites.mean(composites.view(repeated, (n, channels)), 0))
    return composites.view(result, tuple(input.shape))


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


def local_response_norm(input, size, alpha=0.0001, beta=0.75, k=1.0):
    """The input divided by a power of the sum of squares over neighbouring channels."""
    if input.dim() < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {input.dim()} dimensions)"
        )
    squares, shape = input * input, input.shape
    if input.dim() == 3:
        lines = composites.unsqueeze(squares, 1)
    else:
        lines = composites.reshape(squares, (shape[0], 1, shape[1], math.prod(shape[2:])))
    lines = pad_with_value(lines, (0, 0, size // 2, (size - 1) // 2))
    if not squares.numel():
        return input
    means = avg_pool2d(lines, (size, 1), stride=1)
    means = composites.squeeze(means, 1) if input.dim() == 3 else composites.reshape(means, tuple(shape))
    return input / composites.pow(means * alpha + k, beta)


# --- activations and dropping ------------------------------------------------------------------------------


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


def hardshrink(input, lambd=0.5):
    """The input, and 0 within lambd of 0."""
    return rows.hardshrink(input, lambd)


def softshrink(input, lambd=0.5):
    """The input moved towards 0 by lambd, and 0 within."""
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd:g}.")
    return rows.softshrink(input, lambd)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """leaky_relu with a random slope for each element while training, and the mean slope otherwise."""
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return named(leaky_relu(input, (lower + upper) / 2, inplace), f"RreluWithNoiseBackward{int(inplace)}")
    slope, (draw, source) = creation.ones_like(input), creation.source_of()
    leaking = input.array <= 0  # for these only a number is drawn
    slope.array[leaking] = draw.fractions(source, np.count_nonzero(leaking), np.float64) * (upper - lower) + lower
    return named((rows.mul_ if inplace else rows.mul)(input, slope), f"RreluWithNoiseBackward{int(inplace)}")


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """Draws from the chances softmax(logits), made soft: the softmax of logits plus noise, divided by tau.

    hard gives ones and zeros, and the gradient of the soft values.
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    draw, source = creation.source_of()
    times = draw.waiting_times(source, logits.numel()).astype(logits.array.dtype).reshape(logits.shape)
    soft = composites.softmax(composites.div(composites.sub(logits, creation.from_numpy(np.log(times))), tau), dim)
    if not hard:
        return soft
    chosen = creation.zeros_like(logits.detach()).scatter_(dim, soft.detach().max(dim, True)[1], 1.0)
    return chosen - soft.detach() + soft


def dropout_channels(input, p, training, inplace, dims):
    """Whole channels set to zero with chance p, the others scaled up."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if p == 0 or not training or input.numel() == 0:
        return input
    shape = [*input.shape[:dims], *(1,) * (input.dim() - dims)]
    mask = dropout(creation.ones(*shape, dtype=input.dtype), p)
    return rows.mul_(input, mask) if inplace else rows.mul(input, mask)


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Whole channels of (N, C, L) or (C, L) set to zero with chance p."""
    return dropout_channels(input, p, training, inplace, input.dim() - 1)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Whole channels of (N, C, H, W) set to zero with chance p."""
    return dropout_channels(input, p, training, inplace, 2)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """Whole channels of (N, C, D, H, W) set to zero with chance p."""
    return dropout_channels(input, p, training, inplace, 2 if input.dim() == 5 else 1)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout for selu: dropped elements get its lower limit, and mean and variance stay as they are."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if p == 0 or not training:
        return input
    limit = 1.7580993408473766  # below 0
    scale = 0.0 if p == 1 else 1 / math.sqrt((limit * limit * p + 1) * (1 - p))
    kept = creation.zeros_like(input.detach()) if p == 1 else kept_with_chance(1 - p, input)
    shift = (kept - 1) * (limit * scale) + limit * scale * p
    return input.mul_(kept * scale).add_(shift) if inplace else input * (kept * scale) + shift


# --- losses ------------------------------------------------------------------------------------------------


def soft_margin_loss(input, target, *, reduction="mean"):
    """log(1 + exp(-target * input)), for targets of 1 and -1."""
    refuse_gradients("soft_margin_loss", target=target)
    kernels.truth_refused(target.array, kernels.NO_NEGATIVE)
    check_cast(dtypes.F32 if input.array.dtype.kind != "f" else input.array.dtype, input.array.dtype)
    kernels.sizes_of_both(input.array, target.array)
    shape = np.broadcast_shapes(input.array.shape, target.array.shape)
    if shape != input.array.shape:
        raise RuntimeError(
            f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(shape)}"
        )
    return rows.soft_margin_loss(input, target, reduction_number(reduction))


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, *, reduction="mean"):
    """How far other classes come within a margin of the right one, to the power p, averaged over classes."""
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    refuse_gradients("multi_margin_loss", weight=weight)
    kernels.floats(input.array, "multi_margin_loss_cpu_kernel")
    lines = input if input.dim() == 2 else composites.reshape(input, (1, -1))
    if target.dim() > 1 or target.numel() != len(lines):
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{len(lines)}], but got {list(target.shape)}. Input has shape "
            f"{list(input.shape)}."
        )
    if target.numel() and (target.min() < 0 or target.max() >= lines.shape[1]):
        raise RuntimeError("target out of range")
    classes = composites.reshape(target, (-1, 1))
    right = composites.gather(lines, 1, classes)
    gaps = rows.clamp_min(margin - right + lines, 0)
    gaps = gaps if p == 1 else gaps * gaps
    if weight is not None:
        gaps = gaps * composites.reshape(weight[composites.reshape(target, -1)], (-1, 1))
    others = creation.ones_like(lines.detach()).scatter_(1, classes, 0.0)
    losses = composites.sum(gaps * others, 1) / lines.shape[1]
    losses = losses if target.dim() else composites.sum(losses)
    return named(reduced(losses, reduction), "MultiMarginLossBackward0")


def multilabel_soft_margin_loss(input, target, weight=None, *, reduction="mean"):
    """Binary cross entropy with logits, averaged over classes."""
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        losses = losses * weight
    return reduced(composites.sum(losses, input.dim() - 1) / input.shape[input.dim() - 1], reduction)


def poisson_nll_loss(input, target, log_input=True, full=False, *, eps=1e-8, reduction="mean"):
    """Minus the logarithm of the chance of a count, where input is the expected count or its logarithm."""
    expected = target * (input if log_input else rows.log(plus(input, eps)))  # first: C++ computes from right to left
    losses = (rows.exp(input) if log_input else input) - expected
    if full:
        real = target if target.is_floating_point() else target.to(dtypes.default)
        half = rows.mul_number(rows.log(rows.mul_number(real, 2 * math.pi)), 0.5)  # first: from right to left
        stirling = target * rows.log(target) - target + half
        losses = losses.add_(rows.masked_fill(stirling, target <= 1, 0))
    return reduced(losses, reduction)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, *, reduction="mean"):
    """Minus the logarithm of the density of a normal number with mean input and variance var."""
    if not isinstance(var, Tensor | float):
        raise TypeError(f"gaussian_nll_loss(): argument 'var' (position 3) must be Tensor, not {type_name(var)}")
    if not isinstance(var, Tensor):
        var = creation.full(input.shape, var, dtype=input.dtype)
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = composites.unsqueeze(var, -1)
        elif input.dim() != var.dim() or sum(m for n, m in zip(input.shape, var.shape, strict=True) if n != m) != 1:
            raise ValueError("var is of incorrect size")
    reduction_number(reduction)
    if bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    limited = var.clone()
    with grad_mode.AutoGradMode(False):
        rows.clamp_(limited, eps, None)
    losses = 0.5 * (rows.log(limited) + (input - target) ** 2 / limited)
    return reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


def triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """max(0, distance to the positive - distance to the negative + margin), by a distance of one's own."""
    distance = pairwise_distance if distance_function is None else distance_function
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    check_triplet(anchor, positive, negative)
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = rows.minimum(far, distance(positive, negative))
    return reduced(rows.clamp_min(margin + near - far, 0), reduction)


__all__ = [
    name for name, value in list(globals().items())
    if getattr(value, "__module__", None) == __name__ and not name.startswith("_")
]
