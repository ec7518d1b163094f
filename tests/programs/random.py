"""Random numbers: the same seed gives the same ones, and what is drawn next is the same too."""

import copy

from tests.programs.kit import program


def seeded(T, *draws):
    """What each draw gives after one seed, and where the shared source stands then."""
    T.manual_seed(3)
    return [*(draw() for draw in draws), T.rand(2)]


@program
def even_numbers(T):
    init = T.nn.init
    return seeded(
        T,
        lambda: [T.rand(5), T.rand(2, 3, dtype=T.float64), T.rand(0), T.rand(())],
        lambda: [T.zeros(4).uniform_(2, 3), T.zeros(3, 4).t().uniform_(), T.zeros(6, 4)[::2].uniform_(-1, 1)],
        lambda: [T.rand_like(T.zeros(3, 4).t()), T.rand_like(T.zeros(3), dtype=T.float64)],
        lambda: T.rand_like(T.zeros(5, 1).expand(5, 6)),
        lambda: T.rand_like(T.zeros(3, 4).t()).stride(),
        lambda: [init.uniform_(T.zeros(4), -0.1, 0.3), init.xavier_uniform_(T.zeros(3, 5), 2.0)],
    )


@program
def normal_numbers(T):
    return seeded(
        T,
        lambda: [T.randn(7), T.randn(5, 9), T.randn(33, dtype=T.float64), T.randn(15), T.randn(16), T.randn(17)],
        lambda: [T.zeros(5, 6).t().normal_(), T.zeros(6, 8)[:, :4].normal_()],
        lambda: [T.zeros(4, 5, 6).permute(2, 0, 1).normal_(), T.randn_like(T.zeros(5, 1).expand(5, 6))],
        lambda: [T.normal(2.0, 3.0, (4,)), T.normal(T.arange(20.0), 2.0), T.normal(0.0, 1.0, (20,), dtype=T.float64)],
        lambda: [
            T.randn_like(T.zeros(9, 4)[:, :2]),
            T.randn_like(T.zeros(9, 4)[::2].t()),
            T.rand_like(T.zeros(9, 4)[:, :2]),
        ],
        lambda: [T.zeros(4).normal_(1, 2), T.zeros(4).normal_(5, 0), T.normal(1.0, T.arange(20.0, dtype=T.float64))],
        lambda: T.normal(T.zeros(3, 1, dtype=T.float64), T.ones(1, 4)),
        lambda: [T.nn.init.normal_(T.zeros(4), 1, 0.3), T.nn.init.kaiming_normal_(T.zeros(4, 5))],
    )


@program
def every_second_of_few_normal_numbers_is_kept(T):
    """It is given out by the next small draw, whatever was drawn in between; a seed forgets it."""
    found = seeded(T, lambda: [T.randn(3), T.rand(2), T.randn(20), T.randn(0), T.randn(1), T.randn(4)])
    one, state = T.randn(1), T.get_rng_state()
    again = [T.randn(3), T.set_rng_state(state), T.randn(3)]
    source = T.Generator().manual_seed(1)
    T.randn(1, generator=source)
    twin = source.clone_state() if hasattr(source, "clone_state") else copy.deepcopy(source)
    return [
        found,
        one,
        again,
        T.randn(2, generator=source),
        T.randn(2, generator=twin),
        T.manual_seed(3) and T.randn(1),
    ]


@program
def whole_numbers(T):
    return seeded(
        T,
        lambda: [T.randint(-5, 10, (4,)), T.randint(9, (4,), dtype=T.float32), T.randint(2**40, (4,))],
        lambda: [T.randint(2**28 - 1, (3,)), T.randint(2**28, (3,)), T.randint(-(2**63), 2**63 - 1, (3,))],
        lambda: [T.randperm(77), T.randperm(5, dtype=T.float64), T.randperm(0)],
    )


@program
def chances(T):
    return seeded(
        T,
        lambda: [T.bernoulli(T.full((50,), 0.3)), T.bernoulli(T.full((50,), 0.3, dtype=T.float64))],
        lambda: [T.bernoulli(T.zeros(50), 0.3), T.zeros(50).bernoulli_(0.7), T.zeros(20, dtype=T.bool).bernoulli_()],
        lambda: [T.zeros(4, 5).bernoulli_(T.full((5,), 0.5)), T.bernoulli(T.full((4, 5), 0.5).t())],
        lambda: [T.bernoulli(T.full((4, 5), 0.5).t(), 0.5), T.bernoulli(T.full((4, 5), 0.5).t()).stride()],
    )


@program
def values_that_layers_begin_with(T):
    n = T.nn
    layers = (
        lambda: n.Linear(3, 4), lambda: n.Conv2d(4, 6, 3), lambda: n.Embedding(3, 4, padding_idx=1),
        lambda: n.LSTM(3, 4, 2), lambda: n.LSTMCell(3, 4),
        lambda: n.Sequential(n.Conv1d(2, 3, 2), n.BatchNorm1d(3), n.LayerNorm(3)),
    )  # fmt: skip
    return [seeded(T, lambda make=make: list(make().parameters())) for make in layers]


@program
def samplers_draw_alike(T):
    data = T.utils.data
    source = T.Generator().manual_seed(2)
    return seeded(
        T,
        lambda: [list(data.RandomSampler(range(10), True, 70)), list(data.RandomSampler(range(10), False, 25))],
        lambda: [list(data.RandomSampler(range(4), generator=source)), T.rand(1, generator=source)],
    )


@program
def gradgradcheck_draws_as_many(T):
    """One even number for each element."""
    x = T.ones(3, dtype=T.float64, requires_grad=True)
    check = T.autograd.gradgradcheck
    seen = []

    def cube(t):
        y = t**3
        y.register_hook(lambda g: seen.append([g.detach().clone(), g.stride()]))
        return y

    return seeded(T, lambda: check(cube, x), lambda: [seen[0][0], T.randn(1)])
