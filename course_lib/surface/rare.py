"""Functions that programs ask for now and then. Loaded when the first of them is used.

PyTorch: aten/src/ATen/native (TensorShape.cpp, TensorAdvancedIndexing.cpp, LinearAlgebra.cpp, SummaryOps.cpp).
"""

import builtins
import io
import math
import os
import pathlib
import pickle

import numpy as np

from course_lib.arrays import dtypes, kernels, messages  # noqa: F401  (derivatives_rare fills the table)
from course_lib.arrays.memory import in_storage
from course_lib.arrays.printing import Size
from course_lib.engine.arguments import broadcast_error, rank, type_name
from course_lib.engine.build import build, rows
from course_lib.engine.ops import ROWS
from course_lib.engine.tensor import Tensor, memory_of, new_tensor
from course_lib.surface import creation, derivatives_rare  # noqa: F401  (derivatives_rare fills the table)
from course_lib.surface import functions as composites
from course_lib.surface import functions_more as composites_more
from course_lib.surface.device import strided  # noqa: F401
from course_lib.surface.functions import pair, without_gradient
from course_lib.surface.indexing import before_writing, dimension


def __getattr__(name):
    """Operations that are rows and nothing else."""
    if name in ROWS or name.removesuffix("_") in ROWS:
        return build(name)
    raise AttributeError(f"course_lib.surface.rare has no {name!r}")


# --- element by element ------------------------------------------------------------------------------------


def fmod(input, other):
    """What is left of input after rounding input / other towards zero."""
    if not isinstance(input, Tensor):
        got = f"({type_name(input)}, {type_name(other)})"
        raise TypeError(f"fmod() received an invalid combination of arguments - got {got}, but expected one of:")
    if not isinstance(other, Tensor):
        other = composites.plain_number("%", other)
    if input.array.dtype.kind != "f" and isinstance(other, float):
        input = input.to(dtypes.default)
    if input.array.dtype.kind == "b" and not isinstance(other, bool | Tensor):
        input = input.to(dtypes.int64)
    if isinstance(other, Tensor) or input.is_inference():  # there a number is a tensor, too
        return rows.fmod(input, other)
    return rows.fmod_number(input, other)


def lt_(input, other):
    """lt, written into the tensor's own memory. Its gradients are zeros, for both operands."""
    values = composites.lt(input, other).array
    return rows.lt_tensor_(input, other, values) if isinstance(other, Tensor) else rows.lt_number_(input, values)


def isin(elements, test_elements):
    """True where an element is one of test_elements."""
    values, wanted = (getattr(each, "array", each) for each in (elements, test_elements))
    if np.asarray(values).dtype.kind == "b" or np.asarray(wanted).dtype.kind == "b":
        raise RuntimeError("Unsupported input type encountered for isin(): Bool")
    return without_gradient(np.isin(values, wanted))


# --- places ------------------------------------------------------------------------------------------------


def scatter(input, dim, index, src):
    """A copy of input with src, a tensor or a number, written at the places index names along a dimension."""
    row = rows.scatter if isinstance(src, Tensor) else rows.scatter_value
    return row(input, dimension(input, dim), index, src)


def scatter_(input, dim, index, src):
    """Write src, a tensor or a number, at the places index names along a dimension."""
    row = rows.scatter_ if isinstance(src, Tensor) else rows.scatter_value_
    before_writing(input, index, src)
    return row(input, dimension(input, dim), index, src)


def index_fill_(input, dim, index, value):
    """Write a number into the slices that index names along a dimension."""
    before_writing(input, index)
    row = rows.index_fill_tensor_ if isinstance(value, Tensor) else rows.index_fill_over_
    return row(input, dimension(input, dim), index, value)


def index_copy_(input, dim, index, source):
    """Replace the slices that index names along a dimension by those of source."""
    before_writing(input, index, source)
    return rows.index_copy_(input, dimension(input, dim), index, source)


def take_along_dim(input, indices, dim=None):
    """The elements at the places that indices, broadcast against the input, name along a dimension."""
    if dim is None:
        return composites.gather(composites.reshape(input, -1), 0, composites.reshape(indices, -1))
    dim, sizes = dimension(input, dim), (input.array.ndim, indices.array.ndim)
    if sizes[0] != sizes[1]:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{sizes[0]} dimensions for input, and {sizes[1]} dimensions for indices"
        )
    if not sizes[0]:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    indices = new_tensor(indices.array % builtins.max(input.array.shape[dim], 1))  # counted from the end, too
    others = [[1 if d == dim else n for d, n in enumerate(t.array.shape)] for t in (input, indices)]
    try:
        shape = list(np.broadcast_shapes(*others))
    except ValueError:
        raise kernels.sizes_differ(*others) from None
    shape[dim] = input.shape[dim]
    input, places = composites.expand(input, shape), list(shape)
    places[dim] = indices.shape[dim]
    return composites.gather(input, dim, composites.expand(indices, places))


def diag(input, diagonal=0):
    """A matrix with the vector on a diagonal, or the diagonal of a matrix as a vector."""
    if input.array.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.array.ndim}D")
    if input.array.ndim == 2:
        return rows.diagonal_copy(input, diagonal, 0, 1)
    result = rows.diag_embed(input, diagonal, 0, 1)
    return composites.part_from_inference(input, result, lambda whole: composites_more.diagonal(whole, diagonal, 0, 1))


def trace(input):
    """The sum of a matrix's diagonal."""
    if input.array.ndim != 2:
        kernels.truth_refused(input.array, derivatives_rare.NO_TRACE, NotImplementedError)
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.array.ndim}")
    return rows.trace(input)


# --- reductions --------------------------------------------------------------------------------------------


@composites.numpy_names
def median(input, dim=None, keepdim=False):
    """The lower of the middle elements: of all, or (values, indices) along a dimension."""
    if dim is None:
        composites.check_kept("median", keepdim)
        return rows.median_all(input)
    dim = dimension(input, dim)
    if input.array.ndim and not input.array.shape[dim]:
        raise IndexError(f"median(): Expected reduction dim {dim} to have non-zero size.")
    return pair("median", rows.median_dim(input, dim, keepdim))


@composites.numpy_names
def kthvalue(input, k, dim=-1, keepdim=False):
    """(values, indices) of the k-th smallest element along a dimension."""
    dim = dimension(input, dim)
    length = input.array.shape[dim] if input.array.ndim else 1
    if not length:
        raise IndexError(f"kthvalue(): Expected reduction dim {dim} to have non-zero size.")
    if not 0 < k <= length:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}")
    return pair("kthvalue", rows.kthvalue(input, k, dim, keepdim))


# --- shapes ------------------------------------------------------------------------------------------------


def ravel(input):
    """All elements in one dimension: a view when they lie in rows, else of a copy that does."""
    return composites.view(input.contiguous(), -1)


def roll(input, shifts, dims=()):
    """The elements moved along dimensions; what leaves at one end comes in at the other."""
    shifts, dims = (tuple(v) if isinstance(v, list | tuple) else (v,) for v in (shifts, () if dims is None else dims))
    if not shifts:
        raise RuntimeError("`shifts` required")
    if len(dims) != len(shifts) and (dims or len(shifts) != 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if dims and not input.array.ndim:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    result = rows.roll(input, shifts, tuple(dimension(input, d) for d in dims))
    return result if input.array.size else composites_more.from_inference(input, result)


def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    """Each element (or slice along dim) repeated in its place; of one tensor, each place as often as it says."""
    if repeats is None:
        check_repeats(input.array, None, 0)
        return without_gradient(np.repeat(np.arange(input.array.size), input.array))
    if dim is None:
        input, dim = composites.reshape(input, -1), 0
    dim = dimension(input, dim)
    if isinstance(repeats, Tensor):
        check_repeats(repeats.array, input.array.shape, dim)
        places = np.repeat(np.arange(input.array.shape[dim]), repeats.array)
        return composites.index_select(input, dim, new_tensor(places))
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    sizes = list(input.array.shape)
    copies = composites.expand(rows.unsqueeze(input, dim + 1), (*sizes[: dim + 1], repeats, *sizes[dim + 1 :]))
    return composites.flatten(rows.clone_contiguous(copies), dim, dim + 1)


def check_repeats(repeats, shape, dim):
    """Errors for numbers of repetitions that are none, or not one for each place along dim (or one for all)."""
    if repeats.ndim > 1 or shape is None and repeats.ndim != 1:
        must = "repeat_interleave only accept 1D vector as repeat" if shape is None else None
        raise RuntimeError(must or "repeats must be 0-dim or 1-dim tensor")
    if shape is not None and repeats.size not in (1, shape[dim]):
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {repeats.size} and "
            f"input.size({dim}) = {shape[dim]}"
        )
    if repeats.dtype.kind != "i":
        title = dtypes.of_array(repeats).title
        raise NotImplementedError(f"\"repeat_interleave_cpu\" not implemented for '{title}'")
    if np.any(repeats < 0):
        raise RuntimeError("repeats can not be negative")


# --- matrices ----------------------------------------------------------------------------------------------


def check_square(A, name):
    """The matrix; RuntimeError when it is no square one, or cannot be divided by."""
    if A.array.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    rows_, columns = A.array.shape[-2:]
    if rows_ != columns:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {rows_} by {columns} matrices")
    return check_floating(A, name)


def check_floating(A, name):
    """The matrix; RuntimeError when its elements are no floating-point numbers."""
    if A.array.dtype.kind != "f":
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {A.dtype.title}")
    return A


def cross(input, other, dim=None):
    """The vector perpendicular to two vectors of three elements along a dimension."""
    if dim is None:
        dim = next((d for d, n in enumerate(input.array.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    given = dim
    if input.array.ndim != other.array.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    dim = dimension(input, dim)
    if input.array.shape[dim] != 3 or other.array.shape[dim] != 3:
        sizes = input.array.shape[dim], other.array.shape[dim]
        raise RuntimeError(
            f"linalg.cross: inputs dimension {given} must have length 3. Got {sizes[0]} and {sizes[1]}"
        )
    if input.array.shape != other.array.shape:
        try:
            shape = np.broadcast_shapes(input.array.shape, other.array.shape)
        except ValueError:
            raise broadcast_error(input, other) from None
        input, other = composites.expand(input, shape), composites.expand(other, shape)
    if input.array.dtype != other.array.dtype:
        kind = result_type(input, other)
        input, other = input.to(kind), other.to(kind)
    return rows.cross(input, other, dim)


def cdist(x1, x2, p=2.0, compute_mode=None):
    """The p-norm of the difference of each row of x1 and each row of x2."""
    for number, x in enumerate((x1, x2), 1):
        if x.array.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, X{number} got: {x.array.ndim}D")
    if not p >= 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if x1.array.shape[-1] != x2.array.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.array.shape[-1]} X2: {x2.array.shape[-1]}"
        )
    kernels.floats(x1.array, "cdist")
    distances = composites_more.norm(composites.unsqueeze(x1, -2) - composites.unsqueeze(x2, -3), p, -1)
    if distances.node is not None:
        composites.rename_node(distances.node, "CdistBackward0")
    return distances


# --- einsum ------------------------------------------------------------------------------------------------


def einsum(equation, *operands):
    """Products summed over the letters that do not stand after the arrow: einsum("ij,jk->ik", a, b) is a @ b."""
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = operands[0]
    if isinstance(equation, Tensor):
        equation, operands = from_numbered(equation, *operands)
    if not isinstance(equation, str):
        raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {type_name(equation)}")
    for number, operand in enumerate(operands):
        if not isinstance(operand, Tensor):
            raise TypeError(f"expected Tensor as element {number} in argument 1, but got {type_name(operand)}")
    terms, arrow, output = equation.replace(" ", "").partition("->")
    terms = terms.split(",")
    if len(terms) != len(operands):
        raise RuntimeError(
            f"einsum(): {'more' if len(operands) > len(terms) else 'fewer'} operands were provided than specified in "
            "the equation"
        )
    terms, lead = spell_out(terms, operands)
    once = sorted(letter for letter in set("".join(terms)) if "".join(terms).count(letter) == 1 and letter not in lead)
    output = output.replace("...", lead) if arrow else lead + "".join(once)
    letters = output + "".join(sorted(set("".join(terms)) - set(output)))
    for letter in output:
        if output.count(letter) > 1:
            raise RuntimeError(f"einsum(): output subscript {letter} appears more than once in the output")
        if letter not in "".join(terms):
            raise RuntimeError(
                f"einsum(): output subscript {letter} does not appear in the equation for any input operand"
            )
    parts = [in_order(t, term, letters) for t, term in zip(operands, terms, strict=True)]
    check_lengths(parts, letters, lead)
    result, axes = parts[0], list(range(len(output), len(letters)))
    for position, part in enumerate(parts[1:], 2):
        later = parts[position:]
        done = [d for d in axes if all(other.array.shape[d] == 1 for other in later)]
        result = multiply_and_sum(result, part, done)
    if len(parts) == 1:
        return composites.sum(result, axes) if axes else result
    return result if len(letters) == len(output) else composites.reshape(result, result.array.shape[: len(output)])


def from_numbered(*arguments):
    """The equation in letters, and the operands, of einsum(a, [0, 1], b, [1, 2], [0, 2])."""
    *pairs, output = arguments if len(arguments) % 2 else (*arguments, None)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

    def term(places):
        return "".join("..." if place is ... else letters[place] for place in places)

    equation = ",".join(map(term, pairs[1::2])) + ("" if output is None else "->" + term(output))
    return equation, pairs[::2]


def spell_out(terms, operands):
    """The terms with capital letters from the end of the alphabet for "...", and the letters that stand for it."""
    lead = ""
    for term, tensor in zip(terms, operands, strict=True):
        missing = tensor.array.ndim - len(term.replace("...", ""))
        if missing < 0 or missing and "..." not in term:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(term.replace('...', ''))}) does not match "
                f"the number of dimensions ({tensor.array.ndim}) for operand {terms.index(term)} and no ellipsis was "
                "given"
            )
        lead = builtins.max(lead, "ZYXWVUTS"[:missing][::-1], key=len) if "..." in term else lead
    spelled = [
        term.replace("...", lead[len(lead) - (t.array.ndim - len(term) + 3) :]) if "..." in term else term
        for term, t in zip(terms, operands, strict=True)
    ]
    return spelled, lead


def in_order(tensor, term, letters):
    """The tensor with one dimension for each letter, of length 1 where it lacks the letter."""
    places = {}
    for letter in term:
        if letter in places:  # twice: the diagonal of the two dimensions
            tensor = composites_more.diagonal(tensor, 0, places[letter], len(places))
            tensor = composites_more.movedim(tensor, -1, places[letter])
        else:
            places[letter] = len(places)
    for letter in letters:
        if letter not in places:
            places[letter] = len(places)
            tensor = rows.unsqueeze(tensor, tensor.array.ndim)
    return composites.permute(tensor, [places[letter] for letter in letters])


def check_lengths(parts, letters, lead):
    """RuntimeError when a letter stands for dimensions of different lengths, unless all but one of them are 1."""
    seen = [1] * len(letters)
    for number, part in enumerate(parts):
        for place, size in enumerate(part.array.shape):
            if size != seen[place] and 1 not in (size, seen[place]):
                letter = "..." if letters[place] in lead else letters[place]
                raise RuntimeError(
                    f"einsum(): subscript {letter} has size {size} for operand {number} which does not broadcast with "
                    f"previously seen size {seen[place]}"
                )
            seen[place] = size if seen[place] == 1 else seen[place]


def multiply_and_sum(a, b, axes):
    """a * b summed over some dimensions, as a product of matrices when there is something to sum."""
    sizes = list(zip(a.array.shape, b.array.shape, strict=True))
    lone = [[d for d in axes if sizes[d][each] != 1 == sizes[d][1 - each]] for each in (0, 1)]
    if any(lone):  # what only one of them has is summed first
        a, b = (composites.sum(x, dims, True) if dims else x for x, dims in zip((a, b), lone, strict=True))
        sizes = list(zip(a.array.shape, b.array.shape, strict=True))
    axes = [d for d in axes if sizes[d] != (1, 1)]
    if not axes:
        return a * b
    both = [d for d, (m, n) in enumerate(sizes) if d not in axes and m == n]
    left = [d for d, (m, n) in enumerate(sizes) if m != n == 1]
    right = [d for d, (m, n) in enumerate(sizes) if n != m == 1]
    order = (*both, *left, *axes, *right)
    x = composites.permute(a, [*both, *left, *axes, *right])
    y = composites.permute(b, [*both, *axes, *right, *left])
    shared, length = math.prod(sizes[d][0] for d in both), math.prod(sizes[d][0] for d in axes)
    m, n = math.prod(sizes[d][0] for d in left), math.prod(sizes[d][1] for d in right)
    x, y = composites.reshape(x, shared, m, length), composites.reshape(y, shared, length, n)
    product = composites.bmm(x, y)
    sizes = [1 if d in axes else sizes[d][1 if d in right else 0] for d in order]
    return composites.permute(composites.reshape(product, sizes), [order.index(d) for d in range(len(order))])


# --- random numbers ---------------------------------------------------------------------------------------


def multinomial(input, num_samples, replacement=False, *, generator=None):
    """Places drawn with chances in proportion to the elements of a vector, or of each row of a matrix."""
    weights = input.array
    if weights.dtype.kind != "f":
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.dtype.title}")
    if weights.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if np.any(np.sum(weights, -1) == 0):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    draw, source = creation.source_of(generator)
    lines = weights.reshape(-1, weights.shape[-1])
    if replacement and num_samples > 1:  # each number falls into one of the steps of the sums
        sums = np.cumsum(lines, -1)
        sums /= sums[:, -1:]
        even = draw.fractions(source, len(lines) * num_samples, np.float64).reshape(len(lines), -1)
        drawn = [np.searchsorted(steps, places) for steps, places in zip(sums, even, strict=True)]
    else:  # waiting times: the first few that arrive, and what cannot arrive comes last
        times = draw.in_memory_order(draw.waiting_times(source, lines.size), weights).astype(lines.dtype)
        arrivals = lines / times.reshape(lines.shape)
        drawn = np.argsort(-arrivals, axis=-1, kind="stable")[:, :num_samples]
    return without_gradient(np.array(drawn, np.int64).reshape(*weights.shape[:-1], num_samples))


def exponential_(input, lambd=1.0, *, generator=None):
    """Overwrite the tensor with random waiting times, 1 / lambd long on average."""
    if input.array.dtype.kind != "f":
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {input.dtype.title}"
        )
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    (draw, source), like = creation.source_of(generator), memory_of(input)
    return rows.uniform_(input, draw.in_memory_order(draw.waiting_times(source, like.size) / lambd, like))


# --- types -------------------------------------------------------------------------------------------------


def scalar_tensor(s, *, dtype=None, device=None, requires_grad=False):
    """A tensor without dimensions."""
    return creation.full((), s, dtype=dtype or dtypes.default, device=device, requires_grad=requires_grad)


def result_type(tensor1, tensor2):
    """The dtype of a result made of two operands, tensors or numbers."""
    pairs = [
        (t.array.dtype, rank(t)) if isinstance(t, Tensor) else (dtypes.of_number(t), 0) for t in (tensor1, tensor2)
    ]
    return dtypes.FROM_NUMPY[np.dtype(dtypes.result_type(pairs))]


def promote_types(type1, type2):
    """The smallest dtype that holds the elements of both."""
    return dtypes.FROM_NUMPY[np.dtype(dtypes.result_type([(type1.numpy, 2), (type2.numpy, 2)]))]


# --- files and threads -------------------------------------------------------------------------------------


def reduce_with_storage(tensor):
    """What a pickle of a tensor is made from, and how it looks at its memory."""
    rebuild, (cls, array, wants_grad), names = tensor.__reduce_ex__(2)
    if isinstance(tensor.array, np.ndarray):
        whole, *place = in_storage(tensor.array)
        array = array if whole is None else tensor.array if whole is tensor.array else (whole, *place)
    return rebuild, (cls, array, wants_grad), names


class WithStorages(pickle.Pickler):
    """Writes tensors so that those that share memory share it again. (A plain pickle does not, as in PyTorch.)"""

    def reducer_override(self, obj):
        return reduce_with_storage(obj) if isinstance(obj, Tensor) else NotImplemented


def save(obj, f):
    """Write an object, such as a state dict, to a path or an open file. (PyTorch cannot read it: it is a pickle.)

    What stood at the path is replaced when the new file is complete: an error leaves it as it was.
    """
    buffer = io.BytesIO()
    WithStorages(buffer).dump(obj)
    data = buffer.getvalue()
    if hasattr(f, "write"):
        f.write(data)
        return
    beside = pathlib.Path(f"{os.fspath(f)}.{os.getpid()}.part")
    try:
        beside.write_bytes(data)
        beside.replace(f)
    finally:
        beside.unlink(missing_ok=True)


def load(f, map_location=None, *, weights_only=True):
    """What `save` wrote; with weights_only=True UnpicklingError for more than tensors in containers.

    weights_only=False runs whatever code the file names: for files that you trust only.
    """
    reader = WeightsOnly if weights_only else pickle.Unpickler
    if hasattr(f, "read"):
        return reader(f).load()
    with open(f, "rb") as file:
        return reader(file).load()


class WeightsOnly(pickle.Unpickler):
    """Reads tensors and containers and runs no code that the file names."""

    known = {
        "collections": ("OrderedDict",), "numpy": ("ndarray", "dtype"),
        "numpy._core.multiarray": ("_reconstruct", "scalar"),
        "course_lib.surface.methods": ("_rebuild",), "course_lib.engine.tensor": ("Tensor",),
        "course_lib.nn.parameter": ("Parameter",), "course_lib.arrays.printing": ("Size",),
    }

    def find_class(self, module, name):
        """Only what is known to make tensors and containers."""
        if name not in self.known.get(module, ()):
            raise pickle.UnpicklingError(
                f"Weights only load failed: the file wants {module}.{name}. If you trust it, use weights_only=False."
            )
        return super().find_class(module, name)


def get_num_threads():
    """1: this engine computes in the thread that asks."""
    return 1


def set_num_threads(n):
    """Here for programs that set it; there is always one. RuntimeError for less than one."""
    if n < 1:
        raise RuntimeError("set_num_threads expects a positive integer")


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None):
    """A tensor of what there is: without a copy, if obj is a tensor or an array of that dtype. copy=True makes one.

    copy=False is ValueError where it needs one. With requires_grad=True the tensor has no history.
    """
    shares = isinstance(obj, Tensor | np.ndarray)
    if copy is False and not shares:
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    result = creation.as_tensor(obj, dtype, device) if shares else creation.tensor(obj, dtype=dtype, device=device)
    if copy is False and result.dtype is not dtypes.of_array(obj.array if isinstance(obj, Tensor) else obj):
        names = [t.title for t in (dtypes.of_array(getattr(obj, "array", obj)), result.dtype)]
        raise ValueError(f"can't alias tensor with dtype '{names[0]}' into dtype '{names[1]}'.")
    if copy and shares:
        result = result.clone()
    if requires_grad is not None and requires_grad != result.requires_grad:
        result = result.detach().requires_grad_(requires_grad)
    return result


# --- what old programs say ---------------------------------------------------------------------------------


def ndimension(input):
    """The number of dimensions."""
    return input.array.ndim


def is_nonzero(input):
    """The truth of the one element; RuntimeError when there is not exactly one."""
    return bool(input)


def new(input, *data, device=None):
    """A tensor in this one's dtype: from a sequence, or of a shape given by numbers, holding zeros."""
    return legacy_tensor(input.dtype, *data, device=device)


def legacy_tensor(dtype, /, *data, device=None, **options):
    """What torch.Tensor(...) and `new` make: a tensor from a sequence, or memory of a shape.

    One tensor gives a view of it. dtype None: the default type, but for a tensor, which keeps its own. TypeError for
    what is neither data nor a shape.
    """
    wanted = dtype or dtypes.default
    if not data and len(options) == 1 and options.keys() <= {"data", "size"}:
        data, options = (options["data"] if "data" in options else Size(options["size"]),), {}
    if options or len(data) > 1 and not is_size(data[0]):
        given = [type_name(each) for each in data] + [f"{name}={type_name(each)}" for name, each in options.items()]
        raise TypeError(messages.LEGACY_ARGUMENTS.format(", ".join(given)))
    first = data[0] if data else 0
    if isinstance(first, Tensor):
        if dtype not in (None, first.dtype):
            raise TypeError(messages.LEGACY_TYPES.format(dtype.c_name, first.dtype.c_name))
        return rows.alias(first)
    if isinstance(first, np.ndarray) and first.ndim:
        return creation.from_numpy(first.astype(wanted.numpy, copy=False))
    if isinstance(first, list | tuple | range) and type(first) is not Size:
        return creation.tensor(first, dtype=wanted, device=device)
    if isinstance(first, str):
        raise TypeError("new(): invalid data type 'str'")
    if type(first) is not Size and not is_size(first):
        raise TypeError(f"new(): data must be a sequence (got {type_name(first)})")
    for position, length in enumerate(data[1:], 2):
        if not is_size(length):
            raise TypeError(messages.LEGACY_SIZE.format(position, type_name(length)))
    return creation.empty(*(data or (0,)), dtype=wanted, device=device)


def is_size(value):
    """True for what can be the length of a dimension."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
