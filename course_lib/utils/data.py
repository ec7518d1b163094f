"""Datasets and the loader that puts their samples into batches. One process, one thread: no workers.

PyTorch: torch/utils/data (dataset.py, sampler.py, dataloader.py, _utils/collate.py).
"""

import itertools
import math

from course_lib.errors import not_supported
from course_lib.native import creation
from course_lib.native.indexing import stack
from course_lib.tensor import Tensor


class Dataset:
    """Anything with `__getitem__` (and `__len__`): subclass it, or use any object that has them."""

    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """A dataset that is only iterated over."""

    def __iter__(self):
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")


class TensorDataset(Dataset):
    """Samples along the first dimension of one or several tensors of equal length."""

    def __init__(self, *tensors):
        if any(len(t) != len(tensors[0]) for t in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self):
        return len(self.tensors[0])


class Subset(Dataset):
    """Some samples of another dataset, by number."""

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index):
        return self.dataset[self.indices[index]]

    def __len__(self):
        return len(self.indices)


class ConcatDataset(Dataset):
    """Several datasets one after the other."""

    def __init__(self, datasets):
        self.datasets = list(datasets)
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, index):
        if not -len(self) <= index < len(self):
            raise ValueError("absolute value of index should not exceed dataset length")
        index %= len(self)
        for dataset in self.datasets:
            if index < len(dataset):
                return dataset[index]
            index -= len(dataset)


def random_split(dataset, lengths, generator=None):
    """Subsets of the given lengths (or fractions that sum to 1), chosen at random without overlap."""
    lengths = list(lengths)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        counts = [math.floor(len(dataset) * fraction) for fraction in lengths]
        for place in range(len(dataset) - sum(counts)):
            counts[place % len(counts)] += 1
        lengths = counts
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = creation.randperm(sum(lengths)).tolist()
    ends = itertools.accumulate(lengths)
    return [Subset(dataset, order[end - n : end]) for n, end in zip(lengths, ends, strict=True)]


def default_collate(batch):
    """One batch from a list of samples: tensors are stacked, numbers become a tensor, containers keep their form."""
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(batch, 0)
    if isinstance(first, bool | int):
        return creation.tensor(batch)
    if isinstance(first, float):
        from course_lib.dtypes import float64

        return creation.tensor(batch, dtype=float64)
    if isinstance(first, str | bytes):
        return batch
    if isinstance(first, dict):
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if isinstance(first, tuple | list):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [default_collate(list(column)) for column in zip(*batch, strict=True)]
        return type(first)(*columns) if hasattr(first, "_fields") else columns
    if hasattr(first, "__array__"):
        return stack([creation.as_tensor(sample) for sample in batch], 0)
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "
        f"{type(first)}"
    )


class DataLoader:
    """Batches of a dataset's samples, in order or shuffled anew for each pass.

    batch_size=None gives samples one by one, unstacked. drop_last leaves out a batch that is not full.
    """

    def __init__(
        self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
        pin_memory=False, drop_last=False, generator=None,
    ):
        if num_workers:
            raise not_supported("DataLoader with num_workers > 0", "Leave num_workers at 0.")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
            )
        if batch_size is not None and (not isinstance(batch_size, int) or batch_size <= 0):
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.shuffle, self.sampler, self.batch_sampler = bool(shuffle), sampler, batch_sampler
        self.collate_fn = collate_fn or (default_collate if batch_size is not None else lambda sample: sample)

    def __len__(self):
        if self.batch_sampler is not None:
            return len(self.batch_sampler)
        samples = len(self.dataset if self.sampler is None else self.sampler)
        if self.batch_size is None:
            return samples
        return samples // self.batch_size if self.drop_last else -(-samples // self.batch_size)

    def __iter__(self):
        if isinstance(self.dataset, IterableDataset):
            samples = iter(self.dataset)
        elif self.batch_sampler is not None:
            return (self.collate_fn([self.dataset[i] for i in numbers]) for numbers in self.batch_sampler)
        else:
            samples = (self.dataset[i] for i in self.order())
        if self.batch_size is None:
            return (self.collate_fn(sample) for sample in samples)
        return self.batches(samples)

    def order(self):
        """The numbers of the samples in the order of this pass."""
        if self.sampler is not None:
            return list(self.sampler)
        return creation.randperm(len(self.dataset)).tolist() if self.shuffle else range(len(self.dataset))

    def batches(self, samples):
        """Samples, collated by so many."""
        while batch := list(itertools.islice(samples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.collate_fn(batch)
