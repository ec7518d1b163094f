"""Products of vectors and matrices, from `dot` to `einsum`.

PyTorch: aten/src/ATen/native (LinearAlgebra.cpp, Linear.cpp, Distance.cpp).
"""

import builtins
import math
import string
from collections.abc import Callable

import numpy as np

from course_lib.arrays import errors, kernels
from course_lib.engine.arguments import Number, Operand, Sizes, dimension, tensor_argument
from course_lib.engine.build import rows
from course_lib.engine.tensor import Tensor, counter_of
from course_lib.engine.views import requires_grad
from course_lib.surface.functions import reductions, shapes
from course_lib.surface.functions.results import rename_node
from course_lib.surface.functions.shapes import expand, mT, reshape


def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of two matrices."""
    check_matrices("mat1", "mat2", input, mat2)
    return rows.mm(input, mat2)


def check_matrices(first: str, second: str, a: Tensor, b: Tensor) -> None:
    """Raise RuntimeError unless a's rows fit b's columns."""
    sizes, others = a.array.shape, b.array.shape
    if len(sizes) != 2 or len(others) != 2:
        raise RuntimeError(f"{'self' if len(sizes) != 2 else 'mat2'} must be a matrix")
    if sizes[1] != others[0]:
        (m, n), (p, q) = sizes, others
        raise RuntimeError(f"{first} and {second} shapes cannot be multiplied ({m}x{n} and {p}x{q})")


def product(row: str, sizes: tuple, message: str) -> Callable:
    """Make a product of two tensors of so many dimensions, whose last and last but one (or only) sizes must agree."""

    def operation(input, other):
        a, b = input.array.shape, other.array.shape
        if (len(a), len(b)) != sizes:
            raise RuntimeError(f"{row}: {sizes[0]}D and {sizes[1]}D tensors expected, but got {len(a)}D and {len(b)}D")
        if a[-1] != b[-2:][0] or len(b) == 3 and a[0] != b[0]:
            raise RuntimeError(message.format(a=a, b=b, one=input.array.size, two=other.array.size))
        return getattr(rows, row)(input, other)

    operation.__name__, operation.__doc__ = row, f"The product of a {sizes[0]}D and a {sizes[1]}D tensor."
    return operation


mv = product("mv", (2, 1), "size mismatch, got input ({a[0]}), mat ({a[0]}x{a[1]}), vec ({b[0]})")
dot = product(
    "dot", (1, 1), "inconsistent tensor size, expected tensor [{one}] and src [{two}] to have the same number of "
    "elements, but got {one} and {two} elements respectively",
)
bmm = product(
    "bmm", (3, 3), "Expected size for first two dimensions of batch2 tensor to be: [{a[0]}, {a[2]}] but got: "
    "[{b[0]}, {b[1]}].",
)


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """Return input + mat1 @ mat2."""
    errors.refuse("addmm", "Write beta * input + alpha * (mat1 @ mat2).", beta=beta != 1, alpha=alpha != 1)
    check_matrices("mat1", "mat2", mat1, mat2)
    return rows.addmm(input, mat1, mat2)


def matmul(input: Tensor, other: Tensor | int) -> Tensor:
    """Return the product of vectors, matrices and stacks of matrices, chosen by the numbers of dimensions."""
    if not isinstance(other, Tensor):
        tensor_argument("matmul", "other", other)
    a, b = input.array.ndim, other.array.ndim
    if a == b == 2:
        if input.array.shape[1] == other.array.shape[0]:
            return rows.mm(input, other)
        return mm(input, other)  # raises, and says why: shapes come before types
    if a == 0 or b == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D")
    if a == 1 and b == 1:
        return dot(input, other)
    if a == 2 and b == 1:
        return mv(input, other)
    if a == 1 and b == 2:
        result = rows.squeeze_fresh(mm(rows.unsqueeze(input, 0), other), 0)
        counter_of(result).value += 1  # PyTorch drops the extra dimension in place
        return result
    # Unless they are folded, the gradient of the single matrix is as large as the stack before it is summed.
    if (b <= 2 and (requires_grad(other) or lies_in_rows(input))) or (a <= 2 and requires_grad(input)):
        return fold_batches(input, other)
    return matmul_batches(input, other)


def lies_in_rows(stack: Tensor) -> bool:
    """Return True when a stack of matrices can be read as one matrix without a copy."""
    sizes, steps = stack.array.shape, stack.stride()
    return not stack.array.size or builtins.all(steps[d] == steps[d + 1] * sizes[d + 1] for d in range(len(sizes) - 2))


def fold_batches(input: Tensor, other: Operand) -> Tensor:
    """Return a stack of matrices times one matrix or vector: one product of two matrices between two reshapes."""
    turned = other.array.ndim > input.array.ndim
    if turned:
        input, other = mT(other), rows.t(input) if input.array.ndim == 2 else input
    lead = input.array.shape[:-1]
    flat = reshape(input, (math.prod(lead), input.array.shape[-1]))
    if other.array.ndim == 1:
        return rows.unsafe_view(mv(flat, other), lead)
    result = rows.unsafe_view(mm(flat, other), (*lead, other.array.shape[1]))
    return mT(result).contiguous() if turned else result


def matmul_batches(input: Tensor, other: Operand) -> Tensor:
    """Multiply stacks of matrices on both sides, broadcast against each other; a vector counts as one matrix."""
    sizes, others = input.array.shape, other.array.shape
    if len(sizes) == len(others) == 3 and sizes[0] != others[0]:  # a stack of one counts as a matrix
        if sizes[0] == 1 and requires_grad(input):
            return matmul(rows.squeeze_dim(input, 0), other)
        if others[0] == 1 and requires_grad(other):
            return matmul(input, rows.squeeze_dim(other, 0))
    (m, k), right = (1, *sizes)[-2:], others[-2:]
    try:
        lead = np.broadcast_shapes(sizes[:-2], others[:-2])
    except ValueError:
        raise kernels.sizes_differ(sizes[:-2], others[:-2]) from None
    count = math.prod(lead)
    a = reshape(expand(input, (*lead, m, k)), (count, m, k))
    b = reshape(expand(other, (*lead, *right)), (count, *right))
    shape = (*lead, m, *right[1:]) if len(sizes) > 1 else (*lead, *right[1:])
    if len(others) == 1:
        return rows.unsafe_view(rows.squeeze_dim(bmm(a, rows.unsqueeze(b, 2)), 2), shape)
    return rows.unsafe_view(bmm(a, b), shape)


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Return all products of an element of one vector with one of the other."""
    for name, t in (("self", input), ("vec2", vec2)):
        if t.array.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {t.array.ndim}-D")
    return rows.mul(reshape(input, (-1, 1)), vec2)


def inner(input: Tensor, other: Operand) -> Tensor:
    """Return the sum of products along the last dimensions."""
    if not input.array.ndim or not other.array.ndim:
        return rows.mul(input, other)
    return tensordot(input, other, ([-1], [-1]))


def tensordot(a: Tensor, b: Tensor, dims: Sizes = 2) -> Tensor:
    """Sum products over several dimensions: the last of a with the first of b, or two lists of dimensions."""
    if isinstance(dims, int):
        if not 0 <= dims <= builtins.min(a.array.ndim, b.array.ndim):
            raise RuntimeError(f"tensordot expects 0 <= dims <= ndim_a and ndim_b, but got dims={dims}")
        dims = range(-dims, 0), range(dims)
    if len(dims[0]) != len(dims[1]):
        raise RuntimeError("both dimension lists should have same length")
    over_a, over_b = ([dimension(t, d) for d in ds] for t, ds in zip((a, b), dims, strict=True))
    left, further = string.ascii_lowercase[: a.array.ndim], iter(string.ascii_lowercase[a.array.ndim :])
    right = [left[over_a[over_b.index(d)]] if d in over_b else next(further) for d in range(b.array.ndim)]
    kept = [letter for letter in (*left, *right) if (letter in left) != (letter in right)]
    return einsum(f"{left},{''.join(right)}->{''.join(kept)}", a, b)


def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return a matrix with the vector on a diagonal, or the diagonal of a matrix as a vector."""
    if input.array.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.array.ndim}D")
    if input.array.ndim == 2:
        return shapes.diagonal(input, diagonal).clone()
    n = len(input) + abs(diagonal)
    return rename_node(rows.diagonal_backward(input, (n, n), diagonal, 0, 1), "DiagEmbedBackward0")


def trace(input: Tensor) -> Tensor:
    """Return the sum of a matrix's diagonal."""
    if input.array.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.array.ndim}")
    return reductions.sum(shapes.diagonal(input))


def check_square(A: Tensor, name: str) -> Tensor:
    """Return the matrix; RuntimeError when it is no square one, or cannot be divided by."""
    if A.array.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    rows_, columns = A.array.shape[-2:]
    if rows_ != columns:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {rows_} by {columns} matrices")
    return check_floating(A, name)


def check_floating(A: Tensor, name: str) -> Tensor:
    """Return the matrix; RuntimeError when its elements are no floating-point numbers."""
    if A.array.dtype.kind != "f":
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {A.dtype.title}")
    return A


def einsum(equation: str, *operands) -> Tensor:
    """Return products summed over the letters that do not stand after the arrow: einsum("ij,jk->ik", a, b) is a @ b."""
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = operands[0]
    terms, arrow, output = equation.replace(" ", "").partition("->")
    terms = terms.split(",")
    if len(terms) != len(operands):
        more = "more" if len(operands) > len(terms) else "fewer"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation")
    terms, lead = spell_out(terms, operands)
    once = sorted(letter for letter in set("".join(terms)) if "".join(terms).count(letter) == 1 and letter not in lead)
    output = output.replace("...", lead) if arrow else lead + "".join(once)
    letters = output + "".join(sorted(set("".join(terms)) - set(output)))
    if len(set(output)) < len(output) or not set(output) <= set("".join(terms)):
        raise RuntimeError(f"einsum(): {output!r} must name each of its subscripts once, and only the operands'")
    parts = [in_order(t, term, letters) for t, term in zip(operands, terms, strict=True)]
    result, axes = parts[0], list(range(len(output), len(letters)))
    for position, part in enumerate(parts[1:], 2):
        later = parts[position:]
        done = [d for d in axes if all(other.array.shape[d] == 1 for other in later)]
        result = multiply_and_sum(result, part, done)
    if len(parts) == 1:
        return reductions.sum(result, axes) if axes else result
    return result if len(letters) == len(output) else shapes.reshape(result, result.array.shape[: len(output)])


def spell_out(terms: list, operands: tuple) -> tuple:
    """Return the terms with capital letters from the end of the alphabet for "...", and these letters."""
    lead = ""
    for term, tensor in zip(terms, operands, strict=True):
        missing = tensor.array.ndim - len(term.replace("...", ""))
        if missing < 0 or missing and "..." not in term:
            raise RuntimeError(
                f"einsum(): the number of subscripts in {term!r} does not match the number of dimensions "
                f"({tensor.array.ndim}) of its operand"
            )
        lead = builtins.max(lead, "ZYXWVUTS"[:missing][::-1], key=len) if "..." in term else lead
    spelled = [
        term.replace("...", lead[len(lead) - (t.array.ndim - len(term) + 3) :]) if "..." in term else term
        for term, t in zip(terms, operands, strict=True)
    ]
    return spelled, lead


def in_order(tensor: Tensor, term: str, letters: str) -> Tensor:
    """Return the tensor with one dimension for each letter, of length 1 where it lacks the letter."""
    places = {}
    for letter in term:
        if letter in places:  # twice: the diagonal of the two dimensions
            sizes = tensor.array.shape
            if sizes[places[letter]] != sizes[len(places)]:
                raise RuntimeError(f"einsum(): {letter!r} stands twice in {term!r}, for two sizes of {list(sizes)}")
            tensor = shapes.diagonal(tensor, 0, places[letter], len(places))
            order = list(range(tensor.array.ndim - 1))  # the diagonal comes last
            tensor = shapes.permute(tensor, [*order[: places[letter]], -1, *order[places[letter] :]])
        else:
            places[letter] = len(places)
    for letter in letters:
        if letter not in places:
            places[letter] = len(places)
            tensor = rows.unsqueeze(tensor, tensor.array.ndim)
    return shapes.permute(tensor, [places[letter] for letter in letters])


def multiply_and_sum(a: Tensor, b: Tensor, axes: list) -> Tensor:
    """Return a * b summed over some dimensions, as a product of matrices when there is something to sum."""
    kernels.sizes_of_both(a.array, b.array)
    sizes = list(zip(a.array.shape, b.array.shape, strict=True))
    lone = [[d for d in axes if sizes[d][each] != 1 == sizes[d][1 - each]] for each in (0, 1)]
    if any(lone):  # what only one of them has is summed first
        a, b = (reductions.sum(x, dims, True) if dims else x for x, dims in zip((a, b), lone, strict=True))
        sizes = list(zip(a.array.shape, b.array.shape, strict=True))
    axes = [d for d in axes if sizes[d] != (1, 1)]
    if not axes:
        return a * b
    both = [d for d, (m, n) in enumerate(sizes) if d not in axes and m == n]
    left = [d for d, (m, n) in enumerate(sizes) if m != n == 1]
    right = [d for d, (m, n) in enumerate(sizes) if n != m == 1]
    order = (*both, *left, *axes, *right)
    x = shapes.permute(a, [*both, *left, *axes, *right])
    y = shapes.permute(b, [*both, *axes, *right, *left])
    shared, length = math.prod(sizes[d][0] for d in both), math.prod(sizes[d][0] for d in axes)
    m, n = math.prod(sizes[d][0] for d in left), math.prod(sizes[d][1] for d in right)
    x, y = shapes.reshape(x, shared, m, length), shapes.reshape(y, shared, length, n)
    product = bmm(x, y)
    sizes = [1 if d in axes else sizes[d][1 if d in right else 0] for d in order]
    return shapes.permute(shapes.reshape(product, sizes), [order.index(d) for d in range(len(order))])
