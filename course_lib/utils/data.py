"""Datasets, samplers, and the loader that puts samples into batches. One process, one thread: no workers.

PyTorch: torch/utils/data (dataset.py, sampler.py, dataloader.py, _utils/collate.py, _utils/fetch.py).
"""

import itertools
import math
from collections.abc import Mapping, Sequence

from course_lib.arrays.dtypes import float64
from course_lib.arrays.errors import not_supported
from course_lib.engine.tensor import Tensor
from course_lib.surface import creation
from course_lib.surface.generator import Generator
from course_lib.surface.joining import stack
from course_lib.surface.left_out import doors

# --- datasets ----------------------------------------------------------------------------------------------


class Dataset:
    """Anything with `__getitem__` (and `__len__`): subclass it, or use any object that has them."""

    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")


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

    def __getitem__(self, index):
        return self.dataset[[self.indices[i] for i in index] if isinstance(index, list) else self.indices[index]]

    def __len__(self):
        return len(self.indices)


def random_split(dataset: Dataset | range, lengths: list, generator: Generator | None = None) -> list:
    """Return subsets of the given lengths (or fractions that sum to 1), chosen at random without overlap."""
    lengths = list(lengths)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        counts = [math.floor(len(dataset) * fraction) for fraction in lengths]
        for place in range(len(dataset) - sum(counts)):
            counts[place % len(counts)] += 1
        lengths = counts
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = creation.randperm(sum(lengths), generator=generator).tolist()
    ends = itertools.accumulate(lengths)
    return [Subset(dataset, order[end - n : end]) for n, end in zip(lengths, ends, strict=True)]


# --- samplers ----------------------------------------------------------------------------------------------


class SequentialSampler:
    """All numbers of samples, in order."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


def a_seed(generator: Generator | None = None) -> int:
    """Return a number to begin other sources with."""
    return creation.randint(0, 2**63, (), generator=generator).item()


def check_positive(name: str, value: int) -> None:
    """Raise ValueError unless a number of samples is a whole number above 0."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


class RandomSampler:
    """All numbers in a random order, or num_samples of them; with replacement each is drawn from all."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self.num_samples = len(data_source) if num_samples is None else num_samples
        check_positive("num_samples", self.num_samples)

    def __iter__(self):
        count, source = len(self.data_source), self.generator or Generator().manual_seed(a_seed())
        if self.replacement:
            for start in range(0, self.num_samples, 32):
                drawn = creation.randint(0, count, (min(32, self.num_samples - start),), generator=source)
                yield from drawn.tolist()
            return
        for _ in range(self.num_samples // count):
            yield from creation.randperm(count, generator=source).tolist()
        yield from creation.randperm(count, generator=source).tolist()[: self.num_samples % count]  # drawn in any case

    def __len__(self):
        return self.num_samples


class BatchSampler:
    """Lists of the numbers that another sampler gives, so many at a time."""

    def __init__(self, sampler, batch_size, drop_last):
        check_positive("batch_size", batch_size)
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self):
        samples = len(self.sampler)
        return samples // self.batch_size if self.drop_last else -(-samples // self.batch_size)


# --- batches -----------------------------------------------------------------------------------------------


def default_collate(batch: list | tuple) -> object:
    """Make one batch from a list of samples: tensors are stacked, numbers become a tensor, containers stay."""
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(batch, 0)
    if hasattr(first, "__array__"):
        return stack([creation.as_tensor(sample) for sample in batch], 0)
    if isinstance(first, bool | int | float):
        return creation.tensor(batch, dtype=float64 if isinstance(first, float) else None)
    if isinstance(first, str | bytes):
        return batch
    if isinstance(first, Mapping):
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if not isinstance(first, Sequence):
        raise TypeError(
            "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "
            f"{type(first)}"
        )
    if any(len(sample) != len(first) for sample in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    columns = [default_collate(column) for column in zip(*batch, strict=True)]
    return type(first)(*columns) if hasattr(first, "_fields") else columns


class DataLoader:
    """Batches of a dataset's samples, in order or shuffled anew for each pass.

    drop_last leaves out a batch that is not full.
    """

    def __init__(
        self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
        pin_memory=False, drop_last=False, worker_init_fn=None, *, generator=None, persistent_workers=False,
    ):
        if num_workers:
            raise not_supported("DataLoader with num_workers > 0", "Leave num_workers at 0.")
        self.dataset, self.generator, self.batch_size, self.drop_last = dataset, generator, batch_size, drop_last
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            self.batch_size = None
        elif batch_size is None:
            raise not_supported("DataLoader with batch_size=None", "Loop over the dataset itself.")
        if sampler is None:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.collate_fn = collate_fn or default_collate

    def __len__(self):
        return len(self.batch_sampler)

    def __iter__(self):
        a_seed(self.generator)  # PyTorch draws one for worker processes; so the numbers after it are the same
        return (self.collate_fn([self.dataset[place] for place in places]) for places in self.batch_sampler)


__all__ = """
    BatchSampler DataLoader Dataset RandomSampler SequentialSampler Subset TensorDataset default_collate random_split
""".split()
__getattr__, __dir__ = doors("torch.utils.data", __all__)
