"""More of the arithmetic behind the table, read when a row first asks for it: what programs need now and then.

PyTorch: aten/src/ATen/native (BinaryOps.cpp, ReduceOps.cpp, Sorting.cpp, TensorShape.cpp), FunctionsManual.cpp.

Remainders, extremes and order, norms and spread, windows and strides, pieces. As in kernels.py, the first part computes
values (a row calls them `more.sort(...)`), and the second is what gradient formulas call.
"""

import math
import warnings

import numpy as np

from course_lib.arrays.kernels import (
    broadcast,
    copy,
    floats,
    in_rows,
    laid_out_like,
    mul_number,
    numel,
    power,
    restore_dim,
    sgn,
    sizes_differ,
    sizes_of_both,
    take_slice,
    title,
    truth_refused,
    where,
    zeros_of,
)
from course_lib.arrays.memory import Storage

# --- values ------------------------------------------------------------------------------------------------


def floor_quotient(a, b):
    """a / b rounded down; RuntimeError for integers divided by zero."""
    if a.dtype.kind == "f":
        return np.floor_divide(a, b)
    sizes_of_both(a, np.asarray(b))
    truth_refused(a, "\"div_floor_cpu\" not implemented for 'Bool'", NotImplementedError)
    return integer_quotient(a, b, "floor")


def number_power(base, exponent):
    """A Python number to the power of an array, in the array's type; integers are rounded towards zero."""
    if exponent.dtype.kind == "f":
        return np.power(exponent.dtype.type(base), exponent, order="C")
    if exponent.dtype.kind == "b" and type(base) is bool:
        raise NotImplementedError("\"pow\" not implemented for 'Bool'")
    exponent = exponent.astype(np.int64)
    return power(np.full(exponent.shape, int(base) if type(base) is bool else base), exponent)


def between(x, low, high):
    """x limited on both sides by arrays."""
    truth_refused(x, "\"clamp_cpu\" not implemented for 'Bool'", NotImplementedError)
    return np.minimum(high, np.maximum(low, x))  # of equal ones x, with its sign of zero


def limited(function, x, limit):
    """x limited on one side, in the type that x and the number have together."""
    if x.dtype.kind != "f":
        name = "clamp_min_scalar_cpu" if function is np.maximum else "clamp_max_scalar_cpu"
        x = x.astype(np.float32) if isinstance(limit, float) else x if isinstance(limit, bool) else x.astype(np.int64)
        truth_refused(x, f"\"{name}\" not implemented for 'Bool'", NotImplementedError)
    return function(x, limit).astype(x.dtype)


def masked_select(x, mask):
    """The elements where the mask is True, in one dimension."""
    if mask.dtype.kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    try:
        x, mask = np.broadcast_arrays(x, mask)
    except ValueError:
        raise sizes_differ(mask.shape, x.shape) from None
    return x[mask]


def triangle(function, x, diagonal):
    """np.triu or np.tril of the last two dimensions; RuntimeError for a vector."""
    if x.ndim < 2:
        raise RuntimeError(f"{function.__name__}: input tensor must have at least 2 dimensions")
    return np.ascontiguousarray(function(x, diagonal))


def combined(beta, x, alpha, product):
    """beta * x + alpha * product, the factors in x's type; for the factor 0 x does not count, though it be NaN."""
    beta, alpha = (factor if x.dtype.kind == "f" else int(factor) for factor in (beta, alpha))
    if x.shape != product.shape:
        broadcast(x, product.shape)  # raises when it does not fit
    if beta == 0:
        return alpha * product
    return np.asarray(beta * x + alpha * product, product.dtype)


def integer_quotient(a, b, rounding_mode):
    """Integers divided and rounded; RuntimeError for a divisor of zero."""
    if not np.all(b):
        raise RuntimeError("ZeroDivisionError")
    down = np.floor_divide(a, b)
    return down if rounding_mode == "floor" else down + ((down < 0) & (down * b != a))


def rounded_quotient(a, b, rounding_mode):
    """a / b rounded down ("floor") or towards zero ("trunc")."""
    if a.dtype.kind != "f":
        sizes_of_both(a, b)
        truth_refused(a, f"\"div_{rounding_mode}_cpu\" not implemented for 'Bool'", NotImplementedError)
        return integer_quotient(a, b, rounding_mode)
    return np.floor_divide(a, b) if rounding_mode == "floor" else np.trunc(a / b)


def remainder(a, b):
    """What is left after rounding a / b down; RuntimeError for integers divided by zero."""
    if a.dtype.kind == "b" and np.asarray(b).dtype.kind == "b":
        sizes_of_both(a, np.asarray(b))
        raise NotImplementedError("\"remainder_cpu\" not implemented for 'Bool'")
    if a.dtype.kind != "f" and not np.all(b):
        raise RuntimeError("ZeroDivisionError")
    if a.dtype.kind != "f":
        return np.mod(a, b)
    rest = np.fmod(a, b)  # keeps the sign of a zero, as PyTorch does
    return np.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


def float_pair(a, b, kernel):
    """a, unless the two do not go together or hold integers: in this order."""
    sizes_of_both(a, b)
    return floats(a, kernel)


def rounded(function, x):
    """np.floor or one of its relatives; NotImplementedError for truth values."""
    kernel = f"{function.__name__}_vml_cpu"
    if x.dtype.kind == "i":
        return copy(x)
    return function(truth_refused(x, f"\"{kernel}\" not implemented for 'Bool'", NotImplementedError))


def product(x, dim=None, keepdim=False):
    """The product over one dimension, or all."""
    return in_rows(np.multiply.reduce(x, axis=dim if x.ndim else None, keepdims=keepdim))


def vector_norm(x, ord, dim, keepdim):
    """(sum |x| ** ord) ** (1 / ord); the largest and smallest magnitude for ord = inf and -inf."""
    x = np.abs(x)
    if not x.size and (ord < 0 or ord == math.inf):
        check_identity(x, ord, dim)
    if ord == math.inf:
        return in_rows(np.max(x, axis=dim, keepdims=keepdim))
    if ord == -math.inf:
        return in_rows(np.min(x, axis=dim, keepdims=keepdim))
    if ord == 2:
        return np.sqrt(in_rows(np.add.reduce(x * x, axis=dim, keepdims=keepdim)))
    if ord == 0:
        return in_rows(np.add.reduce(x != 0, axis=dim, keepdims=keepdim, dtype=x.dtype))
    return in_rows(np.add.reduce(x**ord, axis=dim, keepdims=keepdim)) ** (1 / ord)


def check_identity(x, ord, dim):
    """RuntimeError for a norm that nothing cannot have, along a dimension that has nothing."""
    start = f"linalg.vector_norm cannot compute the {ord:g} norm on "
    if dim is None or len(dim) == x.ndim:
        raise RuntimeError(start + "an empty tensor because the operation does not have an identity")
    for axis in dim:
        if not x.shape[axis]:  # PyTorch's text lacks a blank here
            raise RuntimeError(
                f"{start}the dimension {axis}because this dimension is empty and the operation does not have an "
                "identity"
            )


def extreme(x, function, name):
    """The largest or smallest of all elements; RuntimeError when there are none."""
    if x.size == 0:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
            "with the 'dim' argument."
        )
    return last_zero(function(x), x)


def last_zero(result, x):
    """A result of 0 with the sign of the last zero in x: the one of equals that PyTorch takes from all elements."""
    return x[x == 0][-1] if result == 0 and x.dtype.kind == "f" else result


def extremes(function, x, dim, keepdim):
    """np.max or np.min along dimensions; of zeros with different signs the first, as in PyTorch."""
    result = in_rows(function(x, axis=dim, keepdims=keepdim))
    if x.dtype.kind != "f" or np.all(result):
        return result
    rest = [d for d in range(x.ndim) if d not in dim]
    lines = x.transpose(*rest, *dim).reshape([x.shape[d] for d in rest] + [-1])
    first = np.take_along_axis(lines, np.argmax(lines == 0, -1)[..., None], -1).reshape(result.shape)
    return np.where(result == 0, first, result)[()]


def sort(x, dim, descending):
    """(values, indices) in order along one dimension; equal elements keep their order."""
    if x.ndim == 0:
        return x.copy(), np.int64(0)
    if descending:
        backwards = x.shape[dim] - 1 - np.argsort(np.flip(x, dim), axis=dim, kind="stable")
        indices = np.array(np.flip(backwards, dim), order="C")
    else:
        indices = np.argsort(x, axis=dim, kind="stable")
    values = np.take_along_axis(x, indices, axis=dim)
    in_rows = x.flags.c_contiguous and indices.flags.c_contiguous
    return laid_out_like(values, x), indices if in_rows else laid_out_like(indices, x)


def topk(x, k, dim, largest):
    """(values, indices) of the k largest or smallest elements along one dimension, in order.

    Which of equals are taken, and in which order, is PyTorch's choice: see selection.py.
    """
    if k > (x.shape[dim] if x.ndim else 1):
        raise RuntimeError("selected index k out of range")
    truth_refused(x, "topk does not support bool dtypes on CPU")
    if x.ndim == 0:
        return sort(x, dim, largest)
    lines = np.moveaxis(x, dim, -1)
    ordered, places = sort(lines, -1, largest)
    places, ordered = places[..., :k], ordered[..., : k + 1]
    equal = (ordered[..., 1:] == ordered[..., :-1]) | np.isnan(ordered[..., 1:])
    if equal.any():
        from course_lib.arrays.selection import first_in_order  # seldom needed

        for line in np.argwhere(equal.any(-1)):
            places[tuple(line)] = first_in_order(lines[tuple(line)].tolist(), k, largest)
    indices = np.ascontiguousarray(np.moveaxis(places, -1, dim))
    return np.take_along_axis(x, indices, axis=dim), indices


def logsumexp(x, dim, keepdim):
    """log(sum(exp(x))), computed from the largest element so that nothing overflows."""
    top = np.max(x, axis=dim, keepdims=True, initial=-math.inf)
    top = np.where(np.isfinite(top), top, 0)
    result = np.log(np.add.reduce(np.exp(x - top), axis=dim, keepdims=True)) + top
    return in_rows(result.astype(x.dtype) if keepdim else result.astype(x.dtype).squeeze(dim))


def as_strided(x, size, stride, offset):
    """A view of the storage behind x, by shape, steps and beginning in elements."""
    steps = [step * x.itemsize for step in stride]
    return np.ndarray(size, x.dtype, Storage(x).array.ravel(order="K"), offset * x.itemsize, steps)


def windows_along(x, dim, size, step):
    """All windows of a dimension, as the last dimension; a view that can be written to."""
    steps = list(x.strides)
    steps[dim] *= step
    shape = list(x.shape)
    shape[dim] = (x.shape[dim] - size) // step + 1
    return np.lib.stride_tricks.as_strided(x, (*shape, size), (*steps, x.strides[dim]))


def diagonal(x, offset, dim1, dim2):
    """The diagonal of two dimensions, as the last dimension; a view that can be written to."""
    result = np.diagonal(x, offset, dim1, dim2)
    result.flags.writeable = True
    return result


def split(x, split_size, dim):
    """Views of pieces along a dimension: of equal length (the last may be shorter), or of the lengths given."""
    length = x.shape[dim]
    if isinstance(split_size, int):
        starts = list(range(0, length, split_size)) or [0]
        return [take_slice(x, dim, s, min(s + split_size, length), 1) for s in starts]
    ends = np.cumsum(split_size)
    return [take_slice(x, dim, end - n, end, 1) for n, end in zip(split_size, ends, strict=True)]


def spread(function, x, dim, correction, keepdim):
    """The variance or standard deviation; RuntimeError for integers."""
    if x.dtype.kind != "f":
        raise RuntimeError("std and var only support floating point and complex dtypes")
    how = {"axis": dim, "dtype": np.float64, "ddof": correction, "keepdims": keepdim}  # squares may overflow float32
    results = math.prod(n for axis, n in enumerate(x.shape) if dim is not None and axis not in dim)
    if results and x.size // results > correction:
        return in_rows(function(x, **how).astype(x.dtype))
    warnings.warn(
        f"{function.__name__}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction "
        "factor (input numel divided by output numel).", stacklevel=5,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy says it in its own words
        return in_rows(function(x, **how).astype(x.dtype))


# --- what gradient formulas call ---------------------------------------------------------------------------


def number_power_grad(base, exponent, result):
    """The slope of number ** x: result * log(number); for the base 0 it is 0 unless the exponent is negative."""
    if base == 0:
        return where(exponent >= 0, 0.0, mul_number(result, -math.inf))
    return mul_number(result, math.log(base) if base > 0 else math.nan)


def prod_grad(grad, x, result):
    """The gradient of the product of all elements: none at all when there are two zeros, though it be infinite."""
    return np.zeros_like(x) if np.sum(x == 0) > 1 else grad * products_of_others(x, result, None)


def products_of_others(x, result, dim):
    """For each element the product of all the others (along one dimension, or all): result / x unless x has zeros."""
    if x.ndim == 0:
        return np.ones_like(x)
    if x.all():
        return result / x
    line = x.reshape(1, -1) if dim is None else np.moveaxis(x, dim, -1)
    ones = np.ones_like(line[..., :1])
    before = np.cumprod(np.concatenate([ones, line[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([ones, line[..., :0:-1]], -1), -1)[..., ::-1]
    others = before * after
    return others.reshape(x.shape) if dim is None else np.moveaxis(others, -1, dim)


def cumprod_grad(grad, x, result, dim):
    """The gradient of a running product: where x has zeros, nothing that comes after the first one counts before it."""
    if x.size <= 1 or x.shape[dim] == 1:
        return grad
    if x.all():
        return (np.flip(np.cumsum(np.flip(result * grad, dim), dim), dim) + 0) / x  # a sum is never -0.0
    line, g, products = (np.moveaxis(a, dim, -1) for a in (x, grad, result))
    zeros = np.cumsum(line == 0, -1)
    before, until_second, first = zeros == 0, zeros == 1, (zeros == 1) & (line == 0)
    sums = np.flip(np.cumsum(np.flip(np.where(before, products * g, 0), -1), -1), -1) + 0
    others = np.cumprod(np.where(until_second & ~first, line, 1), -1) * np.where(until_second, g, 0)
    of_first = np.concatenate([np.ones_like(line[..., :1]), products[..., :-1]], -1) * np.sum(others, -1, keepdims=True)
    return np.moveaxis(np.where(before, sums / line, np.where(first, of_first, 0)).astype(x.dtype), -1, dim)


def deviations(x, dim):
    """Each element minus the mean over `dim`."""
    return x - np.mean(x, axis=dim, keepdims=True) if x.size else x


def std_grad(grad, x, result, dim, correction, keepdim):
    """The gradient of the standard deviation; 0 where all values are equal."""
    scale = grad / mul_number(result, 2)
    scale = zeroed(result == 0, scale)
    return var_grad(scale, x, dim, correction, keepdim)


def var_grad(grad, x, dim, correction, keepdim):
    """The gradient of the variance; of too few elements it is NaN, or infinite where they differ."""
    grad, n = restore_dim(grad, x.shape, dim, keepdim), numel(x.shape, dim) - correction
    if n <= 0 and (dim is None or not x.ndim):
        return grad * no_deviations(x)
    return mul_number(grad, 2 / n if n else math.inf) * deviations(x, dim)


def zero_where(mask, x):
    """x with 0 where the mask is True."""
    return np.where(mask, x.dtype.type(0), x)


zeroed = zero_where  # of a tensor that nobody else sees: overwritten in place


def raise_(x, exponent):
    """x ** exponent; on tensors in place."""
    return x**exponent


def no_deviations(x):
    """The slope of the variance of all elements where that is no number."""
    return np.where(x == np.mean(x), x.dtype.type(math.nan), x.dtype.type(math.inf)) if x.size else x


def norm_grad(grad, x, result, ord, dim, keepdim):
    """The gradient of a vector norm; 0 at 0, where the norm has no slope of its own."""
    grad, result = restore_dim(grad, x.shape, dim, keepdim), restore_dim(result, x.shape, dim, keepdim)
    if ord == 2:
        return grad * zeroed(result == 0, x / result)
    if ord == 1:
        return sgn(x) * grad
    if ord == 0:
        return None
    if ord in (math.inf, -math.inf):
        return sgn(x) * share_of_largest(grad, x, result, dim)
    if ord < 1:
        return sgn(x) * zeroed(x == 0, raise_(abs(x), ord - 1)) * grad * result ** (1 - ord)
    slope = sgn(x) * raise_(abs(x), ord - 1) if ord < 2 else x * raise_(abs(x), ord - 2)
    return slope * zeroed(result == 0, grad / result ** (ord - 1))


def share_of_largest(grad, x, result, dim):
    """The gradient shared by the elements that have the magnitude of the result, or are no number; 0 for the others."""
    equal, count = largest_of(x, result, dim)
    return grad * (equal / count).astype(x.dtype)


def largest_of(x, result, dim):
    """(where the elements have the magnitude of the result, or are no number; how many they are)."""
    equal = (np.abs(x) == result) | np.isnan(x)
    return equal, np.add.reduce(equal, axis=dim, keepdims=True, dtype=np.int64)


def equal_to_extreme(x, result, dim, keepdim):
    """Where x attains its extreme value; NaN counts as attained in an extreme of all elements."""
    if dim is None and np.isnan(result):
        return np.isnan(x)
    return x == restore_dim(result, x.shape, dim, keepdim)


def share_among_equals(grad, x, result, dim, keepdim):
    """The gradient of an extreme value, divided equally among the elements that attain it; NaN where none does.

    That of an extreme of all elements reaches no others, not even as NaN.
    """
    equal = equal_to_extreme(x, result, dim, keepdim)
    count = np.add.reduce(equal, axis=dim, keepdims=True, dtype=np.int64)
    if dim is None:
        return where(equal, grad / count.astype(grad.dtype), 0.0)
    return restore_dim(grad, x.shape, dim, keepdim) * equal / count.astype(grad.dtype)


def back_from_windows(grad, sizes, dim, size, step):
    """The gradient of windows of a dimension, added back at the places that each window looked at."""
    whole = windows_along(np.arange(math.prod(sizes)).reshape(sizes), dim, size, step)
    return add_at_places(grad, whole, math.prod(sizes)).reshape(sizes)


def back_from_strides(grad, sizes, strides, size, stride, ahead):
    """The gradient of a view by strides, added back at the places it looked at, and read as the input was laid out.

    ahead: how far the view begins after the input. Elements of the input that lie in one place share its gradient.
    """
    seen, own = places_of(size, stride) + max(ahead, 0), places_of(sizes, strides) + max(-ahead, 0)
    whole = add_at_places(grad, seen, max(seen.max(initial=0), own.max(initial=0)) + 1)
    times = np.bincount(own.reshape(-1))
    result = pick_places(whole, own)
    return shared(result, times[own]) if times.max(initial=0) > 1 else result


def places_of(sizes, strides):
    """Where in memory the elements of a tensor lie, counted from its first."""
    return sum((np.arange(n).reshape(-1, *[1] * (len(sizes) - d - 1)) * step
                for d, (n, step) in enumerate(zip(sizes, strides, strict=True))), np.zeros(sizes, np.int64))


def add_at_places(grad, places, length):
    """A line of zeros with the gradient added at the places of its elements."""
    whole = np.zeros(length, grad.dtype)
    np.add.at(whole, places, grad)
    return whole


def pick_places(x, places):
    return x[places]


def shared(x, times):
    """x divided by counts."""
    return x / times.astype(x.dtype)


def place_diagonal(grad, sizes, offset, dim1, dim2):
    """Zeros, with the gradient on a diagonal."""
    result = zeros_of(grad, sizes)
    diagonal(result, offset, dim1, dim2)[...] = grad
    return result


def cat_grads(grads, sizes, split_size, dim):
    """The gradients of all pieces of split, zeros for those that got none, put together."""
    known = next(g for g in grads if g is not None)
    lengths = piece_lengths(sizes[dim], split_size)
    pieces = []
    for g, n in zip(grads, lengths, strict=True):
        pieces.append(np.zeros(sizes[:dim] + (n,) + sizes[dim + 1 :], known.dtype) if g is None else g)
    return np.concatenate(pieces, dim)


def piece_lengths(length, split_size):
    """The lengths of the pieces that split makes."""
    if not isinstance(split_size, int):
        return list(split_size)
    return [min(split_size, length - s) for s in range(0, length, split_size)] or [0]


def sum_repeats(grad, sizes, repeats):
    """The gradient of repeat: the sum over all copies."""
    padded = (1,) * (len(repeats) - len(sizes)) + tuple(sizes)
    if 0 in repeats:
        return zeros_of(grad, sizes)
    paired = [n for pair in zip(repeats, padded, strict=True) for n in pair]
    return grad.reshape(tuple(paired)).sum(tuple(range(0, len(paired), 2))).reshape(sizes)


def masked_scatter(x, mask, source):
    """x with the elements of `source` put, in order, where the mask is True."""
    if x.dtype != source.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got{title(x).title} and "
            f"{title(source).title}"
        )
    result = np.array(np.broadcast_to(x, np.broadcast_shapes(x.shape, mask.shape)))
    chosen = np.broadcast_to(mask, result.shape)
    result[chosen] = source.reshape(-1)[: np.sum(chosen)]
    return result


def filled_up(x, sizes):
    """A line of gradients in a shape that has more elements: those that were not used get 0."""
    return np.concatenate([x, np.zeros(math.prod(sizes) - len(x), x.dtype)]).reshape(sizes)
