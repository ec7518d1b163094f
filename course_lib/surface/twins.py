"""The forms of kernel functions that take tensors, for formulas that are recorded themselves.

PyTorch: torch/csrc/autograd/FunctionsManual.cpp, whose functions take tensors in any case.

A pass with create_graph=True takes them. Functions written with operators need no second form: see `twin_of` in
engine/build.py.
"""



import numpy as np

from course_lib.arrays import kernels
from course_lib.engine import grad_mode
from course_lib.engine.build import ON_TENSORS, rows
from course_lib.engine.tensor import new_tensor
from course_lib.engine.unbroadcast import sum_to
from course_lib.surface import creation
from course_lib.surface import functions as composites
from course_lib.surface.indexing import put_, take
from course_lib.surface.joining import cat, stack

state = grad_mode.state


def _products_of_others(x, result, dim):
    if x.array.ndim and x.array.all():
        return result / x
    if not x.array.ndim or x.array.shape[dim] == 1:
        return creation.ones_like(x.detach())
    ones, n = creation.ones_like(x.detach().narrow(dim, 0, 1)), x.array.shape[dim]
    before = cat([ones, x.narrow(dim, 0, n - 1)], dim).cumprod(dim)
    after = cat([ones, x.narrow(dim, 1, n - 1).flip(dim)], dim).cumprod(dim).flip(dim)
    return before * after


def _prod_grad(grad, x, result):
    if not state.grad_enabled and np.sum(x.array == 0) > 1:
        return creation.zeros_like(x)
    if not x.array.ndim or x.array.all():
        return grad * _products_of_others(x, result, 0)
    return composites.reshape(grad * _products_of_others(composites.reshape(x, -1), result, 0), x.array.shape)


def _cumprod_grad(grad, x, result, dim):
    if x.array.size <= 1 or x.array.shape[dim] == 1:
        return grad
    if x.array.all():
        return (result * grad).flip(dim).cumsum(dim).flip(dim) / x
    line, g = composites.transpose(x, dim, -1), composites.transpose(grad, dim, -1)
    parts = []
    for i in range(line.array.shape[-1]):
        factors = cat([line[..., :i], creation.ones_like(line[..., :1]), line[..., i + 1 :]], -1)
        parts.append(composites.sum(factors.cumprod(-1)[..., i:] * g[..., i:], -1))
    return composites.transpose(stack(parts, -1), dim, -1)


def _place(grad, sizes, dim, where):
    if isinstance(where, slice):
        return rows.slice_backward(grad, sizes, dim, where.start, where.stop, where.step)
    return rows.select_backward(grad, sizes, dim, where)


def _put_along(grad, sizes, dim, indices, keepdim):
    if not sizes:
        return grad
    if not keepdim:
        grad, indices = composites.unsqueeze(grad, dim), composites.unsqueeze(indices, dim)
    return rows.scatter_tensor(_zeros_of(grad, sizes), dim, indices, grad)


def _restore_dim(x, sizes, dim, keepdim):
    if keepdim or dim is None or not sizes:
        return x
    return _unsqueeze_to(x, sizes, dim, lost=True)


def _unsqueeze_to(x, sizes, dim=None, lost=False):
    named = range(len(sizes)) if dim is None else dim if isinstance(dim, tuple) else (dim,)
    for d in sorted(d % len(sizes) for d in named) if sizes else ():
        if lost or sizes[d] == 1:
            x = rows.unsqueeze(x, d)
    return x


def _cat_grads(grads, sizes, split_size, dim):
    known = next(g for g in grads if g is not None)
    lengths = kernels.piece_lengths(sizes[dim], split_size)
    pieces = []
    for g, n in zip(grads, lengths, strict=True):
        pieces.append(_zeros_of(known, sizes[:dim] + (n,) + sizes[dim + 1 :]) if g is None else g)
    return cat(pieces, dim)


def _zeros_of(x, sizes):
    return new_tensor(np.zeros(sizes, x.array.dtype))


def _back_from_strides(grad, sizes, strides, size, stride, ahead):
    """Add the gradient of a view by strides at the places it looked at, and read it as the input was laid out.

    ahead: how far the view begins after the input. Elements of the input that lie in one place share its gradient.
    """
    seen = kernels.places_of(size, stride) + max(ahead, 0)
    own = kernels.places_of(sizes, strides) + max(-ahead, 0)
    memory = _added_at(seen, grad, max(seen.max(initial=0), own.max(initial=0)) + 1)
    result, times = take(memory, [new_tensor(own)]), np.bincount(own.reshape(-1))
    return result / new_tensor(times[own].astype(grad.array.dtype)) if times.max(initial=0) > 1 else result


def _added_at(places, grad, length):
    """Return a line of zeros with the gradient added at the places of its elements."""
    return put_(new_tensor(np.zeros(length, grad.array.dtype)), [new_tensor(places)], grad, accumulate=True)


def _grad_of_left(grad, b, sizes, strides):
    if strides[0] == 1 and strides[1] == sizes[0]:
        return rows.t(rows.mm(b, rows.t(grad)))
    return rows.mm(grad, rows.t(b))


def _grad_of_right(a, grad, sizes, strides):
    if strides[0] == 1 and strides[1] == sizes[0]:
        return rows.t(rows.mm(rows.t(grad), a))
    return rows.mm(rows.t(a), grad)


def _sum_repeats(grad, sizes, repeats):
    sizes = (1,) * (len(repeats) - len(sizes)) + tuple(sizes)
    parts = [n for pair in zip(repeats, sizes, strict=True) for n in pair]
    return rows.sum_dim(composites.reshape(grad, tuple(parts)), tuple(range(0, len(parts), 2)), False)


def _stack_grads(grads, sizes, dim):
    known = next(g for g in grads if g is not None)
    return stack([known.new_zeros(known.shape) if g is None else g for g in grads], dim)


ON_TENSORS.update(
    reshape=lambda x, sizes: composites.reshape(x, tuple(sizes)),
    where=lambda condition, a, b: composites.where(condition, a, b),
    zeros_like=lambda x: creation.zeros_like(x),
    zeros_of=_zeros_of,
    sum_to=sum_to,
    power=lambda x, exponent: rows.pow_number(x, exponent),
    prod_grad=_prod_grad,
    products_of_others=_products_of_others,
    cumprod_grad=_cumprod_grad,
    zeroed=lambda mask, x: rows.masked_fill_(x, mask, 0.0),
    typed=lambda grad, x: grad.to(x.dtype),
    deviations=lambda x, dim: x - (composites.mean(x) if dim is None else composites.mean(x, dim, True)),
    zero_where=lambda mask, x: rows.masked_fill(x, mask, 0.0),
    equal_to_extreme=lambda x, result, *along: new_tensor(kernels.equal_to_extreme(x.array, result.array, *along)),
    total_of=lambda mask, dim, x: new_tensor(kernels.total_of(mask.array, dim, x.array)),
    put_along=_put_along,
    restore_dim=_restore_dim,
    mean_grad=lambda grad, sizes, count: rows.div_number(rows.expand(grad, tuple(sizes)), count),
    unsqueeze_to=_unsqueeze_to,
    place=_place,
    place_diagonal=lambda *arguments: rows.diagonal_backward(*arguments),
    cat_grads=_cat_grads,
    stack_grads=_stack_grads,
    grad_of_left=_grad_of_left,
    grad_of_right=_grad_of_right,
    back_from_strides=_back_from_strides,
    error_function=lambda x: rows.erf(x),
    rounded_quotient=lambda a, b, mode: rows.div_rounded(a, b, mode),
    sum_repeats=lambda grad, sizes, repeats: composites.reshape(_sum_repeats(grad, sizes, repeats), tuple(sizes)),
    finite=lambda x: new_tensor(np.isfinite(x.array)),
    rolled=lambda x, shifts, dims: rows.roll(x, shifts, dims),
)
