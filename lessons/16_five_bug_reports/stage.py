"""The programs around what lesson 16 shows: trainings that are given the lines in question."""

import contextlib

import numpy as np

from coursekit import chart
from lessons.three_questions import copies, moved, slopes  # noqa: F401  used as L.stage.slopes

# --- the story: an encoder, something that sorts, a head -----------------------------------------------------


def two_parts(torch):
    """An encoder, a head, samples and targets."""
    nn = torch.nn
    torch.manual_seed(0)
    encoder, head = nn.Sequential(nn.Linear(4, 6), nn.Tanh()), nn.Linear(6, 1)
    x = torch.randn(256, 4)
    return encoder, head, x, (x[:, :1] + x[:, 1:2]).abs()


def trained(torch, sort, steps=150):
    """Train both parts, and return {step: loss}."""
    encoder, head, x, target = two_parts(torch)
    optimizer, losses = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.02), {}
    for number in range(steps):
        optimizer.zero_grad()
        loss = ((head(sort(encoder(x))) - target) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses[number] = loss.item()
    return losses


def train(torch, sort):
    """Train both parts, and print the first loss and the last."""
    losses = trained(torch, sort)
    print(f"the loss falls from {losses[0]:.2f} to {losses[149]:.2f}")


def losses(torch, ways):
    """The loss with each way of sorting, in one chart."""
    runs = {name: trained(torch, sort) for name, sort in ways.items()}
    picked = {name: {k: run[k] for k in (0, 25, 50, 75, 100, 125, 149)} for name, run in runs.items()}
    return chart({"loss": picked}, "step", "loss")


def asked(torch, sort):
    """The second and the third question about a way of sorting."""
    encoder, head, x, target = two_parts(torch)
    model = torch.nn.ModuleDict({"encoder": encoder, "head": head})

    def loss_of():
        return ((head(sort(encoder(x))) - target) ** 2).mean()

    print("2.", slopes(torch, loss_of, list(model.parameters())))
    before, optimizer = copies(model), torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(10):
        optimizer.zero_grad()
        loss_of().backward()
        optimizer.step()
    print("3. moved:", moved(model, before))


def head_alone(torch, sort):
    """Print the smallest loss that any head can have on these features, by least squares."""
    encoder, _, x, target = two_parts(torch)
    features, target = sort(encoder(x)).numpy(), target.numpy()
    table = np.column_stack([features, np.ones(len(features))])
    best = np.linalg.lstsq(table, target, rcond=None)[0]
    print(f"with these features no head gets below {((table @ best - target) ** 2).mean():.2f}")


def at_scale(torch):
    """Tell whether `slopes` notices, with half a million parameters, that the first half is cut off."""
    nn = torch.nn
    torch.manual_seed(0)
    lower, upper = nn.Sequential(nn.Linear(32, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh()), nn.Linear(512, 512)
    data, weights = torch.randn(16, 32), [*lower.parameters(), *upper.parameters()]
    print("cut:  ", slopes(torch, lambda: (upper(lower(data).detach()) ** 2).mean(), weights))
    print("whole:", slopes(torch, lambda: (upper(lower(data)) ** 2).mean(), weights))


# --- report 1: a detector ------------------------------------------------------------------------------------


def detector(torch, anchors=3, classes=2):
    """A layer, and a head with five numbers and one for each class, for each anchor."""
    nn = torch.nn
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, anchors * (5 + classes)))


def fine_tune(torch, start, steps=60, anchors=3):
    """Make an optimizer, start the biases, train, and print what became of loss and bias."""
    model, generator, losses = detector(torch, anchors), torch.Generator(), []
    generator.manual_seed(1)
    head = model[2]
    weights, biases = ([p for p in model.parameters() if (p.dim() == 1) == one] for one in (False, True))
    groups = [{"params": weights}, {"params": biases, "lr": 0.5}]  # biases may move faster
    optimizer = torch.optim.SGD(groups, lr=0.2, momentum=0.9)
    start(head, anchors)
    begun = head.bias.detach().clone()
    for _ in range(steps):
        cells = torch.randn(200, 8, generator=generator)
        there = (cells[:, :1] + cells[:, 1:2] > 2.2).float().expand(200, anchors)
        optimizer.zero_grad()
        said = model(cells).view(200, anchors, -1)[:, :, 4]
        loss = torch.nn.functional.binary_cross_entropy_with_logits(said, there)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"first loss {losses[0]:.2f}, last loss {losses[-1]:.3f}")
    print(f"bias 4 began at {begun[4]:.2f}, and then moved by {head.bias[4].item() - begun[4].item():.2f}")


# --- report 2: two players -----------------------------------------------------------------------------------


def players(torch):
    """A generator and a discriminator."""
    nn = torch.nn
    torch.manual_seed(0)
    G = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    D = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    return G, D


def sample(torch, count=64):
    """Random numbers for the generator, and real samples."""
    return torch.randn(count, 2), 3 + 0.5 * torch.randn(count, 1)


def game(torch, play, rounds=300):
    """Play, and return {round: mean of the fakes}."""
    G, D = players(torch)
    optimizer_G = torch.optim.Adam(G.parameters(), lr=0.005, betas=(0.0, 0.9))  # no momentum
    optimizer_D = torch.optim.Adam(D.parameters(), lr=0.05, betas=(0.0, 0.9))
    means = {}
    for number in range(rounds):
        z, real = sample(torch)
        if number % 50 == 0:
            means[number] = round(G(z).mean().item(), 2)
        play(G, D, optimizer_G, optimizer_D, z, real)
    return means


def as_in_1_4(torch, high, low):
    """By how much G's gradient is off, if D steps through .data first: from that of the old D, and of the new D."""
    G, D = players(torch)
    z, _ = sample(torch)
    weights, score = list(G.parameters()), D(G(z))
    of = {"old": torch.autograd.grad(high(score), weights, retain_graph=True)}
    low(score).backward(retain_graph=True)
    for p in D.parameters():
        p.data -= 0.5 * p.grad
    posted = torch.autograd.grad(high(score), weights)
    of["new"] = torch.autograd.grad(high(D(G(z))), weights)
    for name, wanted in of.items():
        off = max((a - b).abs().max().item() for a, b in zip(posted, wanted, strict=True))
        largest = max(g.abs().max().item() for g in wanted)
        print(f"off by {off:.3f} from the gradient of the {name} D, whose largest number is {largest:.3f}")


def means_of_fakes(torch, rounds):
    """The mean of the fakes with each way to play a round, in one chart. A way that raises has no line."""
    means = {}
    for name, play in rounds.items():
        with contextlib.suppress(RuntimeError):
            means[name] = game(torch, play)
    return chart({"mean of the fakes (3 is wanted)": means}, "round", "mean")


def one_round(torch, play, high, low):
    """Play a round; print by how much D's gradient is off when its optimizer meets it, and which parameters moved."""
    G, D = players(torch)
    z, real = sample(torch)
    wanted = torch.autograd.grad(high(D(real)) + low(D(G(z))), list(D.parameters()))
    off, before = [], {name: copies(network) for name, network in {"G": G, "D": D}.items()}

    class Looking(torch.optim.SGD):
        def step(self):
            off.extend((p.grad - g).abs().max().item() for p, g in zip(D.parameters(), wanted, strict=True))
            return super().step()

    play(G, D, torch.optim.SGD(G.parameters(), lr=0.1), Looking(D.parameters(), lr=0.1), z, real)
    print(f"D's gradient is off by {max(off):.2f}")
    print(f"moved: {len(moved(G, before['G']))} of 4 parameters of G, {len(moved(D, before['D']))} of 4 of D")
