"""Linear maps, tables of vectors, and attention.

PyTorch: torch/nn/functional.py, aten/src/ATen/native (Linear.cpp, Embedding.cpp, transformers/attention.cpp).
"""

import math

import numpy as np

from course_lib.engine.arguments import tensor_argument
from course_lib.engine.build import rows
from course_lib.engine.tensor import Tensor
from course_lib.nn.functional.normalizing import dropout
from course_lib.surface import creation
from course_lib.surface import functions as composites
from course_lib.surface.parsing import with_argument_errors_later


def linear(input: Tensor | list, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return input @ weight.T + bias, for any number of leading dimensions."""
    if not isinstance(input, Tensor) or not isinstance(weight, Tensor):
        tensor_argument("linear", "input", input)
        tensor_argument("linear", "weight", weight)
    x, w = input.array.shape, weight.array.shape
    if len(x) == len(w) == 2 and x[1] == w[1] and bias is not None and input.array.dtype is weight.array.dtype:
        return rows.addmm(bias, input, rows.t(weight))  # all is as it should be
    if not x or not w:
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are {len(x)}D and {len(w)}D")
    if bias is None:
        return composites.matmul(input, composites.t(weight))
    if len(x) == 2:
        return composites.addmm(bias, input, composites.t(weight))
    if bias.array.ndim != 1 or not input.is_contiguous():
        return composites.matmul(input, composites.t(weight)).add_(bias)
    flat = composites.reshape(input, (math.prod(x[:-1]), x[-1]))  # before the weight is turned: the order of the nodes
    flat = composites.addmm(bias, flat, composites.t(weight))
    return composites.view(flat, (*input.shape[:-1], weight.shape[0]))


@with_argument_errors_later
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Return the rows of weight that the integers in input name. IndexError for a row that is not there.

    padding_idx: the row that gets no gradient.
    """
    tensor_argument("embedding", "weight", weight)
    tensor_argument("embedding", "indices", input)
    if weight.dim() != 2:
        raise RuntimeError("'weight' must be 2-D")
    if input.array.dtype.kind != "i":
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{input.type()} instead (while checking arguments for embedding)"
        )
    return rows.embedding(weight, input, -1 if padding_idx is None else known_row(padding_idx, len(weight)))


def known_row(index: int, length: int) -> int:
    """Return the number of a row, counted from the front. AssertionError when there is none."""
    if not -length <= index < length:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return index % length


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Return, for each class number, a row of zeros with a single 1 at its place."""
    classes = tensor_argument("one_hot", "input", tensor).array
    if classes.dtype.kind != "i":
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    count = int(classes.max()) + 1 if num_classes == -1 else num_classes
    if np.any((classes < 0) | (classes >= count)):
        raise RuntimeError("Class values must be non-negative and smaller than num_classes.")
    return creation.tensor((classes[..., None] == np.arange(count)).astype(np.int64))


@with_argument_errors_later
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None,
) -> Tensor:
    """Return softmax(query @ key.T * scale + mask) @ value; a bool mask says where to look."""
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError("Expected query, key, and value to all be at least 2 dimensional")
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if is_causal:
        attn_mask = rows.tril(creation.ones(query.shape[-2], key.shape[-2])) == 1
    if attn_mask is not None and attn_mask.dtype.name == "bool":
        attn_mask = composites.where(attn_mask, creation.zeros((), dtype=query.dtype), -math.inf)
    scale = 1 / math.sqrt(query.shape[-1] or 1) if scale is None else scale
    root = math.sqrt(abs(scale))
    query, turned = rows.mul_number(query, math.copysign(root, scale)), rows.mul_number(composites.mT(key), root)
    scores = composites.matmul(query, turned)
    if attn_mask is not None:
        scores = rows.add_(scores, attn_mask)
    return composites.matmul(dropout(rows.safe_softmax(scores, scores.dim() - 1), dropout_p), value)
