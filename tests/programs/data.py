"""Datasets, samplers, batches and loaders; starting values; chains of checkpoints; views by strides."""

import collections

import numpy as np
from kit import program, programs, raises


def counting(T, count):
    """A dataset that is only iterated over, and says its length."""

    class Counting(T.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(count))

        def __len__(self):
            return count

    return Counting()


# --- datasets ----------------------------------------------------------------------------------------------


@program
def parts_of_a_dataset(T):
    D = T.utils.data
    part = D.Subset(T.arange(5), [4, 3, 1])
    return [list(D.DataLoader(part, batch_size=2)), part[1], part[[0, 2]]]


# --- samplers and loaders ----------------------------------------------------------------------------------


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
def loaders_of_what_is_only_iterated_over(T):
    D = T.utils.data
    seen = []
    for k in (dict(), dict(batch_size=7), dict(batch_size=7, drop_last=True)):
        loader = D.DataLoader(counting(T, 16), **k)
        seen += [list(loader), len(loader)]
    return seen


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


# --- starting values ---------------------------------------------------------------------------------------


@program
def gains(T):
    init = T.nn.init
    names = ("conv3d", "conv_transpose1d", "conv_transpose3d", "leaky_relu", "LINEAR", None)
    seen = [raises(lambda n=n: init.calculate_gain(n)) or init.calculate_gain(n) for n in names]
    for slope in (0, 0.1, True, [1], "x"):
        seen.append(raises(lambda s=slope: init.calculate_gain("leaky_relu", s)))
    seen.append(raises(lambda: init.kaiming_uniform_(T.empty(2), mode="wrong")))
    seen.append(raises(lambda: init.kaiming_normal_(T.empty(2), nonlinearity="wrong")))
    return [*seen, init.kaiming_uniform_(T.empty(2, 2), mode="FAN_OUT").shape]


# --- others ------------------------------------------------------------------------------------------------


def by_strides(T, shape, prepare, size, stride, offset):
    """The first and second derivatives of a view by strides."""
    x = T.arange(float(np.prod(shape)), dtype=T.float64).reshape(shape).requires_grad_()
    y = prepare(x).as_strided(size, stride, offset)
    weights = T.arange(1.0, y.numel() + 1, dtype=T.float64).reshape(y.shape)
    (first,) = T.autograd.grad((y * weights).sum(), x, retain_graph=True)
    (slope,) = T.autograd.grad((y * y * weights).sum(), x, create_graph=True)
    return [y, first, slope.detach(), T.autograd.grad((slope * slope).sum(), x)]


programs(
    strides_over_an_expanded_tensor=lambda T: [
        by_strides(T, (5,), lambda x: x.expand(5, 5), [5, 5], [0, 1], 0),
        by_strides(T, (2, 3), lambda x: x.expand(4, 2, 3), [2, 3], [3, 1], 0),
        by_strides(T, (3, 1), lambda x: x.expand(3, 4), [2, 2], [1, 1], 0),
    ],
    strides_over_overlapping_ones=lambda T: [
        by_strides(T, (9,), lambda x: x.unfold(0, 3, 1), [2, 4], [3, 1], 1),
        by_strides(T, (9,), lambda x: x.as_strided([3, 3], [2, 1], 0), [6], [1], 0),
        by_strides(T, (12,), lambda x: x, [1, 2, 1, 5], [0, 5, 100, 1], 2),
    ],
)
