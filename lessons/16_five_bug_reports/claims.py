"""The claims of lesson 16, five bug reports, on our engine and on real PyTorch."""

import pytest

from lessons.claims_kit import CHANGED, FREED, from_lesson, raises


def measured(torch, loss_of, parameters):
    """Whether the lesson finds the gradients' slope in a random direction to be the measured one."""
    return from_lesson(torch, 16, "slopes").slopes(loss_of, parameters).endswith("the same")


def test_c16_1_through_numpy(torch):
    """Where numbers go through NumPy in the middle of a network, the part before gets no gradient and there is no
    error; with the places from NumPy and the numbers from gather the gradient is the measured slope."""
    own = from_lesson(torch, 16, "two_parts", "sort_advised", "sort_cured")
    encoder, head, x, target = own.two_parts()
    parameters = [*encoder.parameters(), *head.parameters()]

    def loss(sort):
        return ((head(sort(encoder(x))) - target) ** 2).mean()

    loss(own.sort_advised).backward()
    assert all(p.grad is None for p in encoder.parameters())
    assert all(p.grad is not None for p in head.parameters())
    assert not measured(torch, lambda: loss(own.sort_advised), parameters)
    assert measured(torch, lambda: loss(own.sort_cured), parameters)


def test_c16_2_who_holds_the_bias(torch):
    """A write to a copy of a bias leaves the bias as it is, and a new Parameter is not updated by an optimizer
    that was made before; a write under no_grad changes the parameter, which goes on learning."""
    head = torch.nn.Linear(2, 4)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    start = head.bias.tolist()
    head.bias.view(2, -1).clone()[:, 1] += 5.0
    assert start == head.bias.tolist()

    with torch.no_grad():
        head.bias.view(2, -1)[:, 1] += 5.0
    assert [start[0], start[1] + 5, start[2], start[3] + 5] == pytest.approx(head.bias.tolist())
    begun = head.bias.tolist()
    head(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert [each - 0.1 for each in begun] == pytest.approx(head.bias.tolist())

    head.bias = torch.nn.Parameter(torch.zeros(4))
    optimizer.zero_grad()
    head(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert [1, 1, 1, 1] == head.bias.grad.tolist()
    assert [0, 0, 0, 0] == head.bias.tolist()


def game(torch):
    """The lesson's two players, random numbers, and what is small if all scores are high, or low."""
    own = from_lesson(torch, 16, "players", "sample", "high", "low")
    return *own.players(), own.sample()[0], own.high, own.low


def test_c16_3_the_older_score(torch):
    """If a discriminator steps between its score and the generator's backward, the pass raises; if it scores
    again after the step, the pass gives the generator the measured slope."""
    G, D, z, high, low = game(torch)
    score = D(G(z))
    optimizer = torch.optim.SGD(D.parameters(), lr=0.1)
    low(D(G(z))).backward()
    optimizer.step()

    raises(CHANGED, high(score).backward)
    assert measured(torch, lambda: high(D(G(z))), list(G.parameters()))


def test_c16_4_two_quiet_mistakes(torch):
    """With fakes detached for both players, and a score for each loss, the generator gets no gradient; and with
    both passes before both steps the discriminator's gradient is the sum of both losses; neither raises."""
    G, D, z, high, low = game(torch)
    fake = G(z).detach()
    low(D(fake)).backward()
    high(D(fake)).backward()
    assert all(p.grad is None for p in G.parameters())

    for player in (G, D):
        player.zero_grad()
    score = D(G(z))
    low(score).backward(retain_graph=True)
    high(score).backward()
    of_D, of_G = (torch.autograd.grad(loss(D(G(z))), list(D.parameters())) for loss in (low, high))
    for p, one, other in zip(D.parameters(), of_D, of_G, strict=True):
        assert torch.allclose(p.grad, one + other, atol=1e-6) and not torch.allclose(p.grad, one)


def test_c16_5_a_carried_state(torch):
    """A state of an LSTM that is carried from pass to pass raises in the second pass unless both of its tensors
    are detached; with retain_graph=True and a step of the weights in between, the pass into the window before
    raises about versions."""

    own = from_lesson(torch, 16, "Echo", "signal", "silence", "listen", "both")
    own.listen(own.both, windows=10)
    for carried in (lambda state: state, lambda state: (state[0].detach(), state[1]), lambda s: (s[0], s[1].detach())):
        raises(FREED, lambda carried=carried: own.listen(carried, windows=2))
    raises(CHANGED, lambda: own.listen(lambda state: state, windows=2, retain_graph=True))


def test_c16_6_where_to_cut(torch):
    """Detached after each step, a window's gradient is not the measured slope of its loss; detached between
    windows, it is."""
    own = from_lesson(torch, 16, "Echo", "signal", "silence", "both", "CutBehind")
    for kind in (own.Echo, own.CutBehind):
        torch.manual_seed(0)
        model, ((first, _), (second, target)) = kind(), own.signal(2)
        carried = own.both(model(first, own.silence())[1])

        def loss(model=model, carried=carried, second=second, target=target):
            return ((model(second, carried)[0] - target) ** 2).mean()

        assert measured(torch, loss, list(model.parameters())) == (kind is own.Echo)


def test_c16_7_a_result_on_ctx(torch):
    """A result on ctx outlives its last name; if backward clears it, then only where backward runs; detached or
    in a slot it does not."""
    names, nowhere, everywhere = ("Squash", "CleanedUp", "Detached", "Slot"), [0, 0, 0], [1, 2, 3]
    own = from_lesson(torch, 16, *names, "alive_after")
    alive = [
        [own.alive_after(getattr(own, name).apply, training, batches=3) for training in (True, False)] for name in names
    ]
    assert alive == [[everywhere] * 2, [nowhere, everywhere], [nowhere] * 2, [nowhere] * 2]


def test_c16_8_overwritten(torch):
    """If a result is overwritten before backward, a detached alias on ctx gives a wrong gradient without an
    error, and a slot raises."""
    ways, x = from_lesson(torch, 16, "Squash", "Detached", "Slot"), torch.tensor([1.0, -3.0], requires_grad=True)
    y = ways.Detached.apply(x)
    y.mul_(2)
    y.sum().backward()
    assert [0.0, 0.5] == pytest.approx(x.grad.tolist())  # 2 / (1 + |x|)² is 0.5, 0.125

    y = ways.Slot.apply(x)
    y.mul_(2)
    raises(CHANGED, y.sum().backward)


def test_c16_9_zero_or_none(torch):
    """With zero_grad(set_to_none=False), momentum moves a parameter that takes no part, frozen or not; with None
    it rests, and so does its velocity."""
    for to_none in (True, False):
        for freeze in (True, False):
            p = torch.ones(2, requires_grad=True)
            optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.9)
            (3 * p).sum().backward()
            optimizer.step()
            before, speed = p.tolist(), optimizer.state[p]["momentum_buffer"].tolist()
            p.requires_grad_(not freeze)
            optimizer.zero_grad(set_to_none=to_none)
            optimizer.step()
            assert to_none == (p.tolist() == before)
            assert to_none == (optimizer.state[p]["momentum_buffer"].tolist() == speed)


def test_c16_10_zero_times(torch):
    """A loss that contains zero times a result gives its parameters gradients of zero and not None."""
    used, unused, left_out = (torch.ones(2, requires_grad=True) for _ in range(3))
    ((used * 2).sum() + 0 * (unused * 3).sum()).backward()
    assert [0, 0] == unused.grad.tolist()
    assert left_out.grad is None


def test_c16_11_slopes_at_scale(torch):
    """In a network of half a million parameters, eight random directions show that half of the gradients are
    missing, and do not accuse right ones."""
    nn, slopes = torch.nn, from_lesson(torch, 16, "slopes").slopes

    def verdict(seed, cut):
        torch.manual_seed(seed)
        encoder = nn.Sequential(nn.Linear(32, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh())
        head = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 1))
        x = torch.randn(16, 32)

        def loss():
            features = encoder(x)
            return ((head(features.detach() if cut else features) - x[:, :1].abs()) ** 2).mean()

        return slopes(loss, [*encoder.parameters(), *head.parameters()]).partition(": ")[2]

    for seed in range(3):
        assert [verdict(seed, cut=True), verdict(seed, cut=False)] == ["DIFFERENT", "the same"]
