"""The sources of random numbers: one that all share, and sources of their own for those who ask.

The numbers are PyTorch's, to the last bit or nearly so: a seed begins the same Mersenne twister, which NumPy has too,
and what is drawn takes as many of its words, in the same order. (Logarithms and cosines may differ in the last bit.)

PyTorch: c10/core/GeneratorImpl.h, aten/src/ATen/CPUGeneratorImpl.h, aten/src/ATen/core/DistributionsHelper.h.
"""

import operator

import numpy as np

from course_lib.engine.tensor import Tensor, new_tensor
from course_lib.surface.device import device as Device

DEFAULT_SEED = 67280421310721  # what a new source begins with, until it is told a seed
WORD = 2**64 - 1
BLOCK = 16  # so many normal numbers are made at once, where there are as many


class Generator:
    """A source of random numbers. Two that begin with the same seed give the same numbers in the same order."""

    __slots__ = (
        "_seed",  # what the numbers began with
        "_twister",  # NumPy's Mersenne twister; None until something is drawn
        "_kept",  # a normal number made together with the last one and not given out yet, or None
        "__weakref__",
    )

    def __init__(self, device="cpu"):
        Device(device)
        self.manual_seed(DEFAULT_SEED)

    @property
    def device(self) -> object:
        return Device()

    def words(self, count: int) -> np.ndarray:
        """Return the next `count` words of 32 bits. NumPy's twister is made now: importing numpy.random is slow."""
        if self._twister is None:
            self._twister = np.random.MT19937(0)
            np.random.RandomState(self._twister).seed(self._seed & 0xFFFFFFFF)
        return self._twister.random_raw(count)

    def long_words(self, count: int) -> np.ndarray:
        """Return the next `count` words of 64 bits: two short ones each, the higher half first."""
        halves = self.words(2 * count)
        return halves[::2] << np.uint64(32) | halves[1::2]

    def manual_seed(self, seed: int) -> "Generator":
        """Begin the numbers anew, with this seed; gives the source itself."""
        try:
            seed = operator.index(seed)
        except TypeError:
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}") from None
        self._seed, self._twister, self._kept = checked(seed), None, None
        return self

    @property
    def place(self) -> tuple:
        """Return where the numbers stand; it can be assigned."""
        return self._seed, self._kept, self._twister and self._twister.state

    @place.setter
    def place(self, place: tuple) -> None:
        seed, kept, twister = place
        self.manual_seed(seed)
        if twister is not None:
            self.words(0)
            self._kept, self._twister.state = kept, twister

    def initial_seed(self) -> int:
        """Return the seed that the numbers began with."""
        return self._seed

    def seed(self) -> int:
        """Begin anew with a seed that nobody can foretell, and tell it."""
        self.manual_seed(int(np.random.default_rng().integers(2**53)))
        return self._seed

    def get_state(self) -> Tensor:
        """Return where the numbers stand, as a tensor: `set_state` goes on there. (PyTorch's tensor holds bytes.)"""
        self.words(0)
        seed, kept, twister = self.place
        bits = np.float64(kept or 0.0).view(np.int64)
        numbers = np.uint64(seed).view(np.int64), kept is not None, bits, twister["state"]["pos"]
        return new_tensor(np.array([*numbers, *twister["state"]["key"]], np.int64))

    def set_state(self, new_state: Tensor) -> "Generator":
        """Go on from where the numbers stood when `get_state` was asked; gives the source itself."""
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.array.dtype != np.int64 or new_state.array.shape != (4 + 624,):
            raise RuntimeError("RNG state is wrong size: it must be what get_state() gave")
        seed, has_kept, bits, pos = new_state.array[:4]
        state = {"key": new_state.array[4:].astype(np.uint32), "pos": int(pos)}
        kept = float(bits.view(np.float64)) if has_kept else None
        self.place = int(seed) & WORD, kept, {"bit_generator": "MT19937", "state": state}
        return self

    def __repr__(self):
        return f"<torch._C.Generator object at {id(self):#x}>"

    def __reduce__(self):
        return of_state, (self.get_state(),)


def of_state(state: Tensor) -> Generator:
    """Return a source that goes on from a state: what a copied one is."""
    return Generator().set_state(state)


def checked(seed: int) -> int:
    """Return a seed as a number without sign; ValueError for one that does not fit in 64 bits."""
    if not -(2**63) <= seed <= WORD:
        raise ValueError("Overflow when unpacking long long")
    return seed & WORD


default_generator = Generator()


def source_of(generator: Generator | None = None) -> Generator:
    """Return a source, or the one that all share; TypeError for what is no source."""
    if generator is None:
        return default_generator
    if not isinstance(generator, Generator):
        raise TypeError(f"argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    return generator


initial_seed, seed = default_generator.initial_seed, default_generator.seed
get_rng_state = default_generator.get_state


def set_rng_state(new_state: Tensor) -> None:
    """Let the shared source go on from a state."""
    default_generator.set_state(new_state)


# --- what is drawn: flat arrays ----------------------------------------------------------------------------


def fractions(source: Generator, count: int, kind: np.dtype | type) -> np.ndarray:
    """Return numbers spread evenly over [0, 1), in steps as fine as the type has between 0.5 and 1."""
    if kind == np.float32:
        return (source.words(count) & np.uint64(2**24 - 1)).astype(np.float32) * np.float32(2.0**-24)
    return (source.long_words(count) & np.uint64(2**53 - 1)) * 2.0**-53


def normals(source: Generator, count: int, kind: np.dtype, in_rows: bool) -> np.ndarray:
    """Return normal numbers with mean 0 and standard deviation 1, by Box and Muller's method.

    Few of them, or those for memory that does not lie in rows, are drawn one by one in double precision, and the
    second of a pair is kept for the next draw. Many are made in blocks, and the last block once more if it overlaps.
    """
    if count < BLOCK or not in_rows:
        return normals_in_pairs(source, count).astype(kind)
    result, whole = fractions(source, count, kind), count - count % BLOCK
    result[:whole] = blocks(result[:whole])
    if whole < count:
        result[-BLOCK:] = blocks(fractions(source, BLOCK, kind))
    return result


def blocks(even: np.ndarray) -> np.ndarray:
    """Return the normal numbers of whole blocks: of eight distances and angles, eight cosines and eight sines."""
    even = even.reshape(-1, 2, BLOCK // 2)
    distances, angles = np.sqrt(-2 * np.log(1 - even[:, 0])), even.dtype.type(2 * np.pi) * even[:, 1]
    return np.stack((distances * np.cos(angles), distances * np.sin(angles)), 1).reshape(-1)


def normals_in_pairs(source: Generator, count: int) -> np.ndarray:
    """Return normal numbers in double precision: first the one kept from last time, then cosine and sine in turn."""
    kept = [] if source._kept is None or not count else [source._kept]
    pairs = (count - len(kept) + 1) // 2
    if not count or not pairs:
        source._kept = source._kept if not count else None
        return np.array(kept, np.float64)
    even = fractions(source, 2 * pairs, np.float64)
    distances, angles = np.sqrt(-2 * np.log1p(-even[1::2])), 2 * np.pi * even[::2]
    values = np.stack((distances * np.cos(angles), distances * np.sin(angles)), 1).reshape(-1)
    source._kept = float(values[-1]) if len(kept) + len(values) > count else None
    return np.concatenate((kept, values))[:count]


def whole_numbers(source: Generator, count: int, low: int, high: int) -> np.ndarray:
    """Return integers from low up to but without high: the rest of a division, of longer words where there are many."""
    span = high - low
    words = source.words(count) if span < 2**28 else source.long_words(count)
    drawn = words if span == 2**64 else words % np.uint64(span)
    return (drawn + np.uint64(low & WORD)).view(np.int64)


def permutation(source: Generator, count: int) -> np.ndarray:
    """Return the numbers 0 to count - 1, each in turn changed with one of those that come after it, or itself."""
    order = list(range(count))
    steps = source.words(max(count - 1, 0)) % np.arange(count, 1, -1, dtype=np.uint64)
    for place, step in enumerate(steps.tolist()):
        order[place], order[place + step] = order[place + step], order[place]
    return np.array(order, np.int64)


def waiting_times(source: Generator, count: int) -> np.ndarray:
    """Return exponentially distributed numbers, 1 on average."""
    return -np.log1p(-fractions(source, count, np.float64))


def in_memory_order(values: np.ndarray, like: np.ndarray, order: str = "K") -> np.ndarray:
    """Return drawn values in the shape of an array, the first for what lies first in its memory."""
    if like.flags.c_contiguous:
        return values.reshape(like.shape)
    result = np.empty_like(like, dtype=values.dtype, order=order)
    result.ravel("K")[...] = values
    return result
