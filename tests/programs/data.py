"""Datasets, samplers, batches and loaders."""

import collections

import numpy as np

from tests.programs.kit import program, raises


@program
def samplers(T):
    D = T.utils.data
    batches = D.BatchSampler(range(7), 3, False)
    several = list(D.RandomSampler(range(3), num_samples=7))
    drawn = list(D.RandomSampler([5, 6], replacement=True, num_samples=9))
    return [
        list(batches), len(batches), list(D.BatchSampler(range(7), 3, True)), len(D.BatchSampler(range(7), 3, True)),
        list(D.SequentialSampler("abc")), sorted(D.RandomSampler(range(5))), len(D.RandomSampler(range(5))),
        sorted(several[:3]), sorted(several[3:6]), len(several), len(drawn), {*drawn} <= {0, 1},
        raises(lambda: D.RandomSampler([])), raises(lambda: D.BatchSampler([1], True, False)),
    ]  # fmt: skip


@program
def batches_of_all_kinds(T):
    Pair = collections.namedtuple("Pair", "a b")
    seen = []
    for batch in (
        [Pair(1, 2.0), Pair(3, 4.0)], [dict(a=1), dict(a=2)], [range(2), range(2)], [np.float32(1), np.float32(2)],
        [np.array(1.5), np.array(2.5)],
        [((1, 2), 3), ((4, 5), 6)], [[1, 2], [3]], [None], [{1}], [T.ones(1), 1],
    ):  # fmt: skip
        kept = []
        error = raises(lambda b=batch, k=kept: k.append(T.utils.data.default_collate(b)))
        seen += [error, [[type(k).__name__, k] for k in kept]]
    return seen


@program
def data_sets(T):
    D = T.utils.data
    xs, ys = T.arange(10.0).view(5, 2), T.arange(5)
    d = D.TensorDataset(xs, ys)
    return [
        len(d),
        d[1],
        [[a, b] for a, b in D.DataLoader(d, batch_size=2)],
        len(D.DataLoader(d, batch_size=2)),
        [b[1] for b in D.DataLoader(d, batch_size=2, drop_last=True)],
        len(D.DataLoader(d, batch_size=2, drop_last=True)),
        len(D.Subset(d, [0, 2])),
        D.Subset(d, [0, 2])[1],
        [len(p) for p in D.random_split(d, [3, 2])],
        sorted(int(y) for _, b in D.DataLoader(d, shuffle=True) for y in b),
        raises(lambda: D.TensorDataset(T.ones(2), T.ones(3))),
    ]
