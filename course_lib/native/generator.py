"""Where random numbers come from: one source that all share, and sources of their own for those who ask.

PyTorch: c10/core/GeneratorImpl.h, torch/random.py. The numbers themselves are NumPy's, not those of PyTorch.
"""

import operator

import numpy as np

from course_lib.native.device import device as Device
from course_lib.tensor import Tensor, new_tensor

DEFAULT_SEED = 67280421310721  # what a new source begins with, until it is told a seed
WORD = 2**64 - 1


class Generator:
    """A source of random numbers. Two that begin with the same seed give the same numbers in the same order."""

    __slots__ = ("_seed", "_numpy", "__weakref__")

    def __init__(self, device="cpu"):
        Device(device)
        self._seed, self._numpy = DEFAULT_SEED, None

    @property
    def device(self):
        return Device()

    @property
    def numpy(self):
        """NumPy's generator; made when first used, because importing numpy.random costs 8 % of the import."""
        if self._numpy is None:
            self._numpy = np.random.default_rng(self._seed)
        return self._numpy

    def manual_seed(self, seed):
        """Begin the numbers anew, with this seed; gives the source itself."""
        try:
            seed = operator.index(seed)
        except TypeError:
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}") from None
        self._seed, self._numpy = checked(seed), None
        return self

    def initial_seed(self):
        """The seed that the numbers began with."""
        return self._seed

    def seed(self):
        """Begin anew with a seed that nobody can foretell, and tell it."""
        self._seed, self._numpy = int(np.random.default_rng().integers(2**53)), None
        return self._seed

    def get_state(self):
        """Where the numbers stand, as a tensor: `set_state` goes on from there."""
        state = self.numpy.bit_generator.state
        numbers = [state["state"]["state"], state["state"]["inc"]]
        words = [word for number in numbers for word in (number >> 64, number & WORD)]
        words += [state["has_uint32"], state["uinteger"], self._seed]
        return new_tensor(np.array(words, np.uint64).view(np.int64))

    def set_state(self, new_state):
        """Go on from where the numbers stood when `get_state` was asked; gives the source itself."""
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.array.dtype != np.int64 or new_state.array.shape != (7,):
            raise RuntimeError("RNG state is wrong size: it must be what get_state() gave")
        a, b, c, d, has, rest, self._seed = (int(word) & WORD for word in new_state.array)
        self._numpy = np.random.default_rng()
        self._numpy.bit_generator.state = {
            "bit_generator": "PCG64", "state": {"state": a << 64 | b, "inc": c << 64 | d}, "has_uint32": has,
            "uinteger": rest,
        }
        return self

    def __repr__(self):
        return f"<torch._C.Generator object at {id(self):#x}>"

    def __reduce__(self):
        return of_state, (self.get_state(),)


def of_state(state):
    """A source that goes on from a state: what a copied one is."""
    return Generator().set_state(state)


def checked(seed):
    """A seed as a number without sign; ValueError for one that does not fit in 64 bits."""
    if not -(2**63) <= seed <= WORD:
        raise ValueError("Overflow when unpacking long long")
    return seed & WORD


default_generator = Generator()


def numbers(generator=None):
    """NumPy's generator behind a source, or behind the one that all share; TypeError for what is no source."""
    if generator is None:
        return default_generator.numpy
    if not isinstance(generator, Generator):
        raise TypeError(f"argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    return generator.numpy


def initial_seed():
    """The seed that the shared source began with."""
    return default_generator.initial_seed()


def seed():
    """Begin the shared source anew with a seed that nobody can foretell, and tell it."""
    return default_generator.seed()


def get_rng_state():
    """Where the shared source stands."""
    return default_generator.get_state()


def set_rng_state(new_state):
    """Let the shared source go on from a state."""
    default_generator.set_state(new_state)
