"""course_lib.surface.generator: sources of random numbers, and what draws from them.

The numbers themselves are compared with PyTorch's in tests/programs/random.py.
"""

import copy

import pytest

DRAWS = {
    "rand": lambda torch, g: torch.rand(5, generator=g),
    "randn": lambda torch, g: torch.randn(2, 3, generator=g, dtype=torch.float64),
    "randint": lambda torch, g: torch.randint(2**60, (4,), generator=g),
    "randperm": lambda torch, g: torch.randperm(50, generator=g),
    "normal": lambda torch, g: torch.normal(0.0, 1.0, (4,), generator=g),
    "normal of tensors": lambda torch, g: torch.normal(torch.zeros(3), torch.ones(3), generator=g),
    "bernoulli": lambda torch, g: torch.bernoulli(torch.full((50,), 0.5), generator=g),
    "bernoulli with p": lambda torch, g: torch.bernoulli(torch.zeros(50), 0.5, generator=g),
    "multinomial": lambda torch, g: torch.multinomial(torch.ones(50), 20, generator=g),
    "uniform_": lambda torch, g: torch.zeros(4).uniform_(2, 3, generator=g),
    "normal_": lambda torch, g: torch.zeros(4).normal_(generator=g),
    "bernoulli_": lambda torch, g: torch.zeros(50).bernoulli_(0.5, generator=g),
    "nn.init.uniform_": lambda torch, g: torch.nn.init.uniform_(torch.zeros(4), generator=g),
    "nn.init.normal_": lambda torch, g: torch.nn.init.normal_(torch.zeros(4), generator=g),
    "nn.init.kaiming_normal_": lambda torch, g: torch.nn.init.kaiming_normal_(torch.zeros(4, 4), generator=g),
    "nn.init.xavier_uniform_": lambda torch, g: torch.nn.init.xavier_uniform_(torch.zeros(4, 4), generator=g),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_source_of_ones_own_repeats_and_leaves_the_shared_one_alone(torch, name):
    """The same seed gives the same numbers, going on gives others, and the shared source does not move."""
    draw, source = DRAWS[name], torch.Generator()
    torch.manual_seed(5)
    untouched = torch.rand(3)
    torch.manual_seed(5)
    first, second = (draw(torch, source.manual_seed(2)) for _ in range(2))
    third = draw(torch, source)

    assert torch.equal(first, second) and not torch.equal(second, third)
    assert torch.equal(torch.rand(3), untouched)


def test_seeds_are_remembered(torch):
    """manual_seed gives the source itself, which knows its seed; a negative one counts from the end of 64 bits."""
    source = torch.Generator()

    assert source.initial_seed() == 67280421310721
    assert source.manual_seed(3) is source and source.initial_seed() == 3
    assert torch.manual_seed(7) is torch.manual_seed(7) and torch.initial_seed() == 7
    assert torch.manual_seed(-1).initial_seed() == 2**64 - 1
    assert torch.manual_seed(2.0).initial_seed() == 2
    assert source.seed() == source.initial_seed() and torch.seed() == torch.initial_seed()
    assert source.device == torch.device("cpu")
    assert repr(source).startswith("<torch._C.Generator object at 0x")


def test_a_state_is_gone_on_from(torch):
    """get_state and set_state go back to a place in the numbers: a source's, the shared one's, a copy's."""
    source = torch.Generator().manual_seed(4)
    torch.rand(3, generator=source)
    state, everybodys = source.get_state(), torch.get_rng_state()
    twin = copy.deepcopy(source)
    mine, shared = torch.rand(3, generator=source), torch.rand(3)
    torch.set_rng_state(everybodys)

    assert torch.equal(torch.rand(3, generator=source.set_state(state)), mine)
    assert torch.equal(torch.rand(3), shared)
    assert torch.equal(torch.rand(3, generator=twin), mine) and twin.initial_seed() == 4


def test_a_loader_shuffles_with_its_generator(torch):
    """Batches, splits and samples are in the same order for the same seed, and each pass of a loader in another."""
    data = torch.utils.data

    def seeded():
        return torch.Generator().manual_seed(1)

    def orders():
        loader = data.DataLoader(range(40), 40, shuffle=True, generator=seeded())
        passes = [next(iter(loader)).tolist() for _ in range(2)]
        split = data.random_split(range(40), [0.5, 0.5], generator=seeded())[0].indices
        return [*passes, list(split), list(data.RandomSampler(range(40), True, 60, generator=seeded()))]

    first, second = orders(), orders()

    assert first == second and first[0] != first[1]
    assert sorted(first[0]) == list(range(40))
