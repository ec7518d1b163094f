"""The claims of lesson 16, five bug reports, on our engine and on real PyTorch."""

import weakref

import numpy as np
import pytest
from claims_kit import CHANGED, FREED, from_lesson, no_collector, raises


def slopes(torch, loss_of, parameters):
    """The slope in one random direction, as the gradients have it and as it is measured (float64)."""
    for p in parameters:
        p.grad = None
    loss_of().backward()
    directions, measured = [torch.randn(p.shape).to(torch.float64) for p in parameters], []
    said = sum((p.grad * d).sum().item() for p, d in zip(parameters, directions, strict=True) if p.grad is not None)
    with torch.no_grad():
        for size in (1e-5, -2e-5, 1e-5):
            for p, d in zip(parameters, directions, strict=True):
                p += size * d
            measured.append(loss_of().item())
    return said, pytest.approx((measured[0] - measured[1]) / 2e-5, rel=1e-4)


def network(torch, *sizes):
    torch.manual_seed(0)
    layers = [part for a, b in zip(sizes, sizes[1:], strict=False) for part in (torch.nn.Linear(a, b), torch.nn.Tanh())]
    return torch.nn.Sequential(*layers[:-1]).to(torch.float64)


def test_c16_1_through_numpy(torch):
    """Where numbers go through NumPy in the middle of a network, the part before gets no gradient and there is no
    error; with the places from NumPy and the numbers from gather the gradient is the measured slope."""
    encoder, head, x = network(torch, 2, 3), network(torch, 3, 1), torch.randn(4, 2).to(torch.float64)
    parameters = [*encoder.parameters(), *head.parameters()]

    def advised():
        return (head(torch.from_numpy(np.sort(encoder(x).detach().numpy(), axis=1))) ** 2).mean()

    def cured():
        h = encoder(x)
        return (head(h.gather(1, torch.from_numpy(np.argsort(h.detach().numpy(), axis=1)))) ** 2).mean()

    said, measured = slopes(torch, advised, parameters)
    assert said != measured
    assert all(p.grad is None for p in encoder.parameters())
    assert all(p.grad is not None for p in head.parameters())
    said, measured = slopes(torch, cured, parameters)
    assert said == measured


def test_c16_2_who_holds_the_bias(torch):
    """A write to a copy of a bias leaves the bias as it is, and a new Parameter is not stepped by an optimizer
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
    """Two players, random numbers, and the score of the fakes."""
    torch.manual_seed(0)
    return network(torch, 2, 3, 1), network(torch, 1, 3, 1), torch.randn(5, 2).to(torch.float64)


def test_c16_3_the_older_score(torch):
    """If a discriminator steps between its score and the generator's backward, the pass raises; if it scores
    again after the step, the pass gives the generator the measured slope."""
    G, D, z = game(torch)
    score = D(G(z))
    optimizer = torch.optim.SGD(D.parameters(), lr=0.1)
    (D(G(z)) ** 2).sum().backward()
    optimizer.step()

    raises(CHANGED, score.sum().backward)
    said, measured = slopes(torch, lambda: D(G(z)).sum(), list(G.parameters()))
    assert said == measured


def test_c16_4_two_quiet_mistakes(torch):
    """With fakes detached for both players, and a score for each loss, the generator gets no gradient; and with
    both passes before both steps the discriminator's gradient is the sum of both losses; neither raises."""
    G, D, z = game(torch)
    fake = G(z).detach()
    (D(fake) ** 2).sum().backward()
    D(fake).sum().backward()
    assert all(p.grad is None for p in G.parameters())

    for player in (G, D):
        player.zero_grad()
    score = D(G(z))
    (score**2).sum().backward(retain_graph=True)
    (-score).sum().backward()
    of_D, of_G = (torch.autograd.grad(loss, list(D.parameters()))
                  for loss in ((D(G(z)) ** 2).sum(), (-D(G(z))).sum()))  # fmt: skip
    for p, one, other in zip(D.parameters(), of_D, of_G, strict=True):
        assert torch.allclose(p.grad, one + other) and not torch.allclose(p.grad, one)


def test_c16_5_a_carried_state(torch):
    """A state of an LSTM that is carried from pass to pass raises in the second pass unless both of its tensors
    are detached; with retain_graph=True and a step of the weights in between, the pass into the window before
    raises about versions."""

    def two_windows(carried, retain_graph=False):
        torch.manual_seed(0)
        cell = torch.nn.LSTMCell(1, 2)
        optimizer, state = torch.optim.SGD(cell.parameters(), lr=0.1), (torch.ones(1, 2), torch.ones(1, 2))
        for _ in range(2):
            state = cell(torch.ones(1, 1), cell(torch.ones(1, 1), carried(*state)))
            optimizer.zero_grad()
            (state[0] ** 2).sum().backward(retain_graph=retain_graph)
            optimizer.step()

    two_windows(lambda h, c: (h.detach(), c.detach()))
    for carried in (lambda h, c: (h, c), lambda h, c: (h.detach(), c), lambda h, c: (h, c.detach())):
        raises(FREED, lambda carried=carried: two_windows(carried))
    raises(CHANGED, lambda: two_windows(lambda h, c: (h, c), retain_graph=True))


def test_c16_6_where_to_cut(torch):
    """Detached after each step, a window's gradient is not the measured slope of its loss; detached between
    windows, it is."""
    torch.manual_seed(0)
    cell = torch.nn.LSTMCell(1, 2).to(torch.float64)
    windows = torch.randn(2, 3, 1, 1).to(torch.float64)
    state = [torch.zeros(1, 2).to(torch.float64) for _ in range(2)]
    for x in windows[0]:
        state = cell(x, tuple(state))
    carried = tuple(each.detach() for each in state)

    def loss(inside):
        state = carried
        for x in windows[1]:
            state = cell(x, tuple(each.detach() for each in state) if inside else state)
        return (state[0] ** 2).sum()

    said, measured = slopes(torch, lambda: loss(False), list(cell.parameters()))
    assert said == measured
    said, measured = slopes(torch, lambda: loss(True), list(cell.parameters()))
    assert said != measured


def outlives(torch, function, training):
    """Is a result alive after its last name is gone, when no collector runs?"""
    with no_collector():
        y = function(torch.ones(3, requires_grad=True) * 2)
        seen = weakref.ref(y)
        if training:
            y.sum().backward()
        del y
        return seen() is not None


def test_c16_7_a_result_on_ctx(torch):
    """A result on ctx outlives its last name; if backward clears it, then only where backward runs; detached or
    in a slot it does not."""
    ways = from_lesson(torch, 16, "Squash", "CleanedUp", "Detached", "Slot")
    found = {name: [outlives(torch, way.apply, training) for training in (True, False)]
             for name, way in vars(ways).items()}  # fmt: skip
    nowhere = [False, False]
    assert {"Squash": [True, True], "CleanedUp": [False, True], "Detached": nowhere, "Slot": nowhere} == found


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
