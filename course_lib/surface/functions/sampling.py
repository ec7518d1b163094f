"""Random numbers written into a tensor or drawn from its elements.

PyTorch: aten/src/ATen/native/Distributions.cpp.
"""

import numpy as np

from course_lib.arrays import dtypes, kernels
from course_lib.engine.arguments import Sizes
from course_lib.engine.build import rows
from course_lib.engine.tensor import Tensor, writable_array
from course_lib.surface import creation
from course_lib.surface.functions.results import without_gradient


def uniform_(input: Tensor, a: float = 0.0, b: float = 1.0, *, generator: object = None, **names) -> Tensor:
    """Overwrite the tensor with random numbers spread evenly over [a, b)."""
    return rows.uniform_(input, creation.even_values(input, names.get("from", a), names.get("to", b), generator))


def normal_(input: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: object = None) -> Tensor:
    """Overwrite the tensor with normal random numbers."""
    return rows.normal_(input, creation.normal_values(input, mean, std, generator))


def bernoulli_(input: Tensor, p: Tensor | float = 0.5, *, generator: object = None) -> Tensor:
    """Overwrite the tensor with ones, with probability p (a number, or one for each element), and zeros."""
    chance, kind = (p.array, p.array.dtype) if isinstance(p, Tensor) else (p, np.float64)
    if not isinstance(p, Tensor) and not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    (draw, source), like = creation.source_of(generator), writable_array(input)
    return rows.bernoulli_draw_(input, draw.in_memory_order(draw.fractions(source, like.size, kind), like) < chance)


def normal(
    mean: Tensor | float, std: Tensor | float = 1.0, size: Sizes | None = None, *, generator: object = None,
    dtype: dtypes.dtype | None = None, device: object = None, requires_grad: bool = False,
) -> Tensor:
    """Return normal random numbers with the given mean and standard deviation, numbers or tensors."""
    if np.any(getattr(std, "array", std) < 0):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    if size is not None:
        memory = creation.zeros(size, dtype=dtype)
        return creation.finish(creation.normal_values(memory, mean, std, generator), None, requires_grad, device)
    noise = mean * 0 + std * 0  # of the shape and type that both have together
    return (normal_(noise, generator=generator) * std + mean).detach()


def bernoulli(input: Tensor, p: float | None = None, *, generator: object = None) -> Tensor:
    """Return 1 with the probability that each element gives (or, with p, each with that one), else 0."""
    if p is not None:
        return bernoulli_(creation.zeros(input.array.shape, dtype=input.dtype), p, generator=generator)
    kernels.floats(input.array, "bernoulli_tensor_cpu_p_")
    if not ((input.array >= 0) & (input.array <= 1)).all():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false: each is a probability.")
    (draw, source), like = creation.source_of(generator), writable_array(input)
    drawn = draw.fractions(source, like.size, like.dtype)
    return rows.bernoulli(input, drawn.reshape(like.shape) < like)


def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: object = None) -> Tensor:
    """Return places drawn with chances in proportion to the elements of a vector, or of each row of a matrix."""
    weights = input.array
    if weights.dtype.kind != "f":
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.dtype.title}")
    if weights.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0 or not replacement and num_samples > weights.shape[-1]:
        raise RuntimeError(f"cannot sample n_sample = {num_samples} of prob_dist.size(-1) = {weights.shape[-1]}")
    if not np.all(np.isfinite(weights)) or np.any(weights < 0) or np.any(np.sum(weights, -1) == 0):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0, or a sum of 0")
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
