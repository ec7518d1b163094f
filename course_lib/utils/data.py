"""Datasets, samplers, and the loader that puts samples into batches. One process, one thread: no workers.

PyTorch: torch/utils/data (dataset.py, sampler.py, dataloader.py, _utils/collate.py, _utils/fetch.py).
"""

import copy
import itertools
import math
import warnings
from collections.abc import Iterable, Mapping, MutableMapping, MutableSequence, Sequence

from course_lib.arrays.dtypes import float64
from course_lib.arrays.errors import not_supported
from course_lib.engine.tensor import Tensor
from course_lib.surface import creation
from course_lib.surface.functions import multinomial
from course_lib.surface.generator import Generator
from course_lib.surface.joining import stack
from course_lib.surface.left_out import doors

# --- datasets ----------------------------------------------------------------------------------------------


class Dataset:
    """Anything with `__getitem__` (and `__len__`): subclass it, or use any object that has them.

    With `__getitems__`, which is given a list of numbers, a dataset hands out a whole batch at once.
    """

    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")


class IterableDataset(Dataset, Iterable):
    """A dataset that is only iterated over."""


class TensorDataset(Dataset):
    """Samples along the first dimension of one or several tensors of equal length."""

    def __init__(self, *tensors):
        if any(tensors[0].size(0) != t.size(0) for t in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self):
        return self.tensors[0].size(0)


class Subset(Dataset):
    """Some samples of another dataset, by number."""

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices
        if type(self).__getitem__ is not Subset.__getitem__ and type(self).__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{type(self).__name__} overrides __getitem__ but not __getitems__. When subclassing Subset and "
                "overriding __getitem__, you must also override __getitems__ to ensure DataLoader works correctly with "
                "your custom logic. A simple implementation:\n\ndef __getitems__(self, indices):\n    return "
                "[self.__getitem__(idx) for idx in indices]"
            )

    def __getitem__(self, index):
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices):
        return samples_of(self.dataset, [self.indices[i] for i in indices])

    def __len__(self):
        return len(self.indices)


def samples_of(dataset, indices):
    """The samples of some numbers: at once, if the dataset can."""
    at_once = getattr(dataset, "__getitems__", None)
    return at_once(indices) if callable(at_once) else [dataset[index] for index in indices]


def random_split(dataset, lengths, generator=None):
    """Subsets of the given lengths (or fractions that sum to 1), chosen at random without overlap."""
    lengths = list(lengths)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for number, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ValueError(f"Fraction at index {number} is not between 0 and 1")
        counts = [math.floor(len(dataset) * fraction) for fraction in lengths]
        for place in range(len(dataset) - sum(counts)):
            counts[place % len(counts)] += 1
        lengths = counts
        for number in (number for number, length in enumerate(lengths) if length == 0):
            warnings.warn(
                f"Length of split at index {number} is 0. This might result in an empty dataset.", stacklevel=2
            )
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = creation.randperm(sum(lengths), generator=generator).tolist()
    ends = itertools.accumulate(lengths)
    return [Subset(dataset, order[end - n : end]) for n, end in zip(lengths, ends, strict=True)]


# --- samplers ----------------------------------------------------------------------------------------------


class _Sampler:
    """Numbers of samples, in the order in which they are wanted: subclass it and define `__iter__`."""

    def __iter__(self):
        raise NotImplementedError


class SequentialSampler(_Sampler):
    """All numbers, in order."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


def source_for_one_pass(generator):
    """The source of a pass: the given one, or one of its own, begun with a number from the shared one."""
    return generator or Generator().manual_seed(a_seed())


def a_seed(generator=None):
    """A number to begin other sources with."""
    return creation.randint(0, 2**63, (), generator=generator).item()


class RandomSampler(_Sampler):
    """All numbers in a random order, or num_samples of them; with replacement each is drawn from all."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source, self.replacement, self._num_samples = data_source, replacement, num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={self.num_samples}"
            )

    @property
    def num_samples(self):
        """How many numbers a pass gives."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        count, source = len(self.data_source), source_for_one_pass(self.generator)
        if self.replacement:
            for _ in range(self.num_samples // 32):
                yield from creation.randint(0, count, (32,), generator=source).tolist()
            yield from creation.randint(0, count, (self.num_samples % 32,), generator=source).tolist()
            return
        for _ in range(self.num_samples // count):
            yield from creation.randperm(count, generator=source).tolist()
        yield from creation.randperm(count, generator=source).tolist()[: self.num_samples % count]  # drawn in any case

    def __len__(self):
        return self.num_samples


class WeightedRandomSampler(_Sampler):
    """Numbers drawn with the given chances: num_samples of them, with or without putting each back."""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = creation.as_tensor(weights, dtype=float64)
        if self.weights.dim() != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self):
        drawn = multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self):
        return self.num_samples


class BatchSampler(_Sampler):
    """Lists of the numbers that another sampler gives, so many at a time."""

    def __init__(self, sampler, batch_size, drop_last):
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self):
        samples = len(self.sampler)
        return samples // self.batch_size if self.drop_last else -(-samples // self.batch_size)


class Endless(_Sampler):
    """The sampler of a dataset that is only iterated over: nobody looks at its numbers."""

    def __iter__(self):
        return itertools.repeat(None)


# --- batches -----------------------------------------------------------------------------------------------


def default_collate(batch):
    """One batch from a list of samples: tensors are stacked, numbers become a tensor, containers keep their form."""
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(batch, 0)
    if isinstance(first, str | bytes):
        return batch
    if isinstance(first, float) and not hasattr(first, "dtype"):
        return creation.tensor(batch, dtype=float64)
    if isinstance(first, bool | int):
        return creation.tensor(batch)
    if hasattr(first, "__array__"):
        if first.dtype.kind in "SUO":
            raise TypeError(f"{NO_BATCH}{first.dtype}")
        return stack([creation.as_tensor(sample) for sample in batch], 0)
    if isinstance(first, Mapping):
        found = {key: default_collate([sample[key] for sample in batch]) for key in first}
        return like_mapping(first, found)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(column) for column in zip(*batch, strict=False)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return like_sequence(first, [default_collate(column) for column in zip(*batch, strict=False)])
    raise TypeError(f"{NO_BATCH}{type(first)}")


NO_BATCH = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "


def _default_convert(data):
    """One sample that is not put into a batch: NumPy's arrays and numbers become tensors, also inside containers."""
    if isinstance(data, Tensor | str | bytes):
        return data
    if hasattr(data, "__array__"):
        return data if data.dtype.kind in "SUO" else creation.as_tensor(data)
    if isinstance(data, Mapping):
        return like_mapping(data, {key: _default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(_default_convert(value) for value in data))
    if isinstance(data, Sequence):
        return like_sequence(data, [_default_convert(value) for value in data])
    return data


def like_mapping(example, found):
    """New values in a mapping of the example's kind, as far as it can be made."""
    try:
        if not isinstance(example, MutableMapping):
            return type(example)(found)
        result = copy.copy(example)
        result.update(found)
        return result
    except TypeError:
        return found


def like_sequence(example, found):
    """New values in a sequence of the example's kind, as far as it can be made; for a tuple a list."""
    try:
        if isinstance(example, tuple):
            return found
        if not isinstance(example, MutableSequence):
            return type(example)(found)
        result = copy.copy(example)
        for number, value in enumerate(found):
            result[number] = value
        return result
    except TypeError:
        return found


class DataLoader:
    """Batches of a dataset's samples, in order or shuffled anew for each pass.

    batch_size=None gives samples one by one, unstacked. drop_last leaves out a batch that is not full.
    """

    def __init__(
        self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
        pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None,
        generator=None, *, prefetch_factor=None, persistent_workers=False, pin_memory_device="", in_order=True,
    ):
        check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset, self.num_workers, self.timeout = dataset, num_workers, timeout
        self.prefetch_factor, self.persistent_workers, self.generator = prefetch_factor, persistent_workers, generator
        self.pin_memory, self.pin_memory_device, self.in_order = pin_memory, pin_memory_device, in_order
        self.worker_init_fn, self.multiprocessing_context = worker_init_fn, multiprocessing_context
        iterated = isinstance(dataset, IterableDataset)
        if iterated:
            for name, value in dict(shuffle=shuffle or None, sampler=sampler, batch_sampler=batch_sampler).items():
                if value is not None:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
                    )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            sampler = Endless() if iterated else SequentialSampler(dataset)
            if shuffle:
                sampler = RandomSampler(dataset, generator=generator)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.collate_fn = collate_fn or (_default_convert if batch_sampler is None else default_collate)
        self._length_was_asked = None

    def __setattr__(self, name, value):
        if name in FIXED and "_length_was_asked" in self.__dict__:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def __len__(self):
        if not isinstance(self.dataset, IterableDataset):
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
        self._length_was_asked = length = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else math.ceil(length / self.batch_size)

    def __iter__(self):
        return LoaderIterator(self)


FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


def check_workers(num_workers, timeout, prefetch_factor, persistent_workers):
    """ValueError for what makes no sense; NotSupportedError for loading in other processes."""
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers:
        raise not_supported("DataLoader with num_workers > 0", "Leave num_workers at 0.")
    if prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
            "multiprocessing, otherwise set prefetch_factor to None."
        )
    if persistent_workers:
        raise ValueError("persistent_workers option needs num_workers > 0")


class LoaderIterator:
    """One pass over a loader's batches."""

    def __init__(self, loader):
        if loader.pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
                "used.", stacklevel=3,
            )
        if loader.timeout:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self.loader, self.given, self.length_was_asked = loader, 0, loader._length_was_asked
        self.numbers = loader.sampler if loader.batch_sampler is None else loader.batch_sampler
        self.places = iter(self.numbers)
        a_seed(loader.generator)  # PyTorch draws one for worker processes; so the numbers after it are the same
        self.samples = iter(loader.dataset) if isinstance(loader.dataset, IterableDataset) else None

    def __iter__(self):
        return self

    def __len__(self):
        return len(self.numbers)

    def __next__(self):
        batch = self.loader.collate_fn(self.fetch(next(self.places)))
        self.given += 1
        if self.length_was_asked is not None and self.given > self.length_was_asked:
            warnings.warn(
                f"Length of IterableDataset {self.loader.dataset} was reported to be {self.length_was_asked}(when "
                f"accessing len(dataloader)), but {self.given} samples have been fetched. ", stacklevel=2,
            )
        return batch

    def fetch(self, place):
        """The samples of one batch, or one sample; StopIteration when a dataset that is iterated over ends."""
        dataset, batched = self.loader.dataset, self.loader.batch_sampler is not None
        if self.samples is None:
            return samples_of(dataset, place) if batched else dataset[place]
        if not batched:
            return next(self.samples)
        samples = list(itertools.islice(self.samples, len(place)))
        if not samples or self.loader.drop_last and len(samples) < len(place):
            raise StopIteration
        return samples


__all__ = """
    BatchSampler DataLoader Dataset IterableDataset RandomSampler SequentialSampler Subset TensorDataset
    WeightedRandomSampler default_collate random_split
""".split()
__getattr__, __dir__ = doors("torch.utils.data", __all__)
