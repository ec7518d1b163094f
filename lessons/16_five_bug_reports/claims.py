"""The claims of lesson 16, five bug reports, on our engine and on real PyTorch."""

import numpy as np
import pytest

from coursekit.judge.discovery import import_from_lessons
from lessons.claims_kit import CHANGED, from_lesson, raises
from lessons.three_questions import slopes

STAGE = import_from_lessons("16_five_bug_reports.stage")


def measured(torch, loss_of, parameters):
    """Tell whether the gradients' slopes in random directions are the measured ones."""
    return slopes(torch, loss_of, parameters).endswith("the same")


def test_c16_1_through_numpy(torch):
    """Where numbers go through NumPy in the middle of a network, the part before gets no gradient and there is no
    error; with the places from NumPy and the numbers from gather the gradient is the measured slope."""
    own = from_lesson(torch, 16, "sort_advised", "sort_cured", np=np)
    encoder, head, x, target = STAGE.two_parts(torch)
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
    own = from_lesson(torch, 16, "high", "low")
    return *STAGE.players(torch), STAGE.sample(torch)[0], own.high, own.low


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


def test_c16_5_slopes_at_scale(torch):
    """In a network of half a million parameters, eight random directions show that half of the gradients are
    missing, and do not accuse right ones."""
    nn = torch.nn

    def verdict(seed, cut):
        torch.manual_seed(seed)
        encoder = nn.Sequential(nn.Linear(32, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh())
        head = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 1))
        x = torch.randn(16, 32)

        def loss():
            features = encoder(x)
            return ((head(features.detach() if cut else features) - x[:, :1].abs()) ** 2).mean()

        return slopes(torch, loss, [*encoder.parameters(), *head.parameters()]).partition(": ")[2]

    for seed in range(3):
        assert [verdict(seed, cut=True), verdict(seed, cut=False)] == ["DIFFERENT", "the same"]
