"""Whole programs, as people write them: with one seed both libraries print the same losses."""

import copy
import math

from tests.programs.kit import program


def fit(net, optimizer, loss_of, steps, scheduler=None):
    """Train for some steps: the losses, and the norms of the gradients at the end."""
    losses = []
    for _ in range(steps):
        loss = loss_of()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        losses.append(loss.item())
    return losses, [p.grad.norm().item() for p in net.parameters() if p.grad is not None]


@program
def pictures_in_shuffled_batches(T):
    T.manual_seed(3)
    n, F, data = T.nn, T.nn.functional, T.utils.data
    net = n.Sequential(
        n.Conv2d(3, 4, 3, padding=1), n.BatchNorm2d(4), n.ReLU(), n.MaxPool2d(2), n.Dropout(0.2), n.Flatten(),
        n.Linear(64, 3),
    )  # fmt: skip
    x = T.randn(24, 3, 8, 8)
    loader = data.DataLoader(data.TensorDataset(x, T.randint(0, 3, (24,))), batch_size=8, shuffle=True)
    optimizer = T.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    losses = []
    for _ in range(2):
        for inputs, labels in loader:
            losses += fit(net, optimizer, lambda: F.cross_entropy(net(inputs), labels, label_smoothing=0.1), 1)[0]  # noqa: B023
    return [repr(net), repr(optimizer), losses, net.eval()(x[:2]), list(net.state_dict())]


@program
def text_with_a_state_carried_over(T):
    T.manual_seed(1)
    n, text = T.nn, T.arange(60) * 7 % 11
    parts = n.ModuleList([n.Embedding(11, 6), n.LSTM(6, 8, 2, dropout=0.2), n.Linear(8, 11)])
    optimizer, state, found = T.optim.Adam(parts.parameters(), 0.01), None, []
    for start in range(0, 50, 10):
        state = state and tuple(h.detach() for h in state)
        output, state = parts[1](parts[0](text[start : start + 10])[:, None], state)
        loss = n.functional.cross_entropy(parts[2](output).squeeze(1), text[start + 1 : start + 11])
        optimizer.zero_grad()
        loss.backward()
        found.append([loss.item(), n.utils.clip_grad_norm_(parts.parameters(), 0.5)])
        optimizer.step()
    drawn = T.multinomial(parts[2](output)[-1].softmax(-1), 5)
    return [found, state[0], drawn]


@program
def attention_and_a_warm_start(T):
    T.manual_seed(0)
    n, F = T.nn, T.nn.functional

    class Block(n.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out, self.norm = n.Linear(8, 24), n.Linear(8, 8), n.LayerNorm(8)
            self.more = n.Sequential(n.Linear(8, 16), n.GELU(), n.Dropout(0.1), n.Linear(16, 8))

        def forward(self, x):
            parts = self.qkv(self.norm(x)).view(*x.shape[:2], 3, 2, 4).permute(2, 0, 3, 1, 4)
            seen = F.scaled_dot_product_attention(*parts, is_causal=True)
            x = x + self.out(seen.transpose(1, 2).reshape(x.shape))
            return x + self.more(x)

    net = n.Sequential(n.Embedding(9, 8), Block(), Block(), n.Linear(8, 9, bias=False))
    net[3].weight = net[0].weight
    x = T.randint(0, 9, (4, 7))
    optimizer = T.optim.AdamW(net.parameters(), 0.01, weight_decay=0.1)
    scheduler = T.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1, (s + 1) / 3) * math.cos(s / 9))
    losses = fit(
        net, optimizer, lambda: F.cross_entropy(net(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten()), 5, scheduler
    )
    return [losses, scheduler.get_last_lr(), len(list(net.parameters())), repr(net)]


@program
def codes_drawn_by_a_trick(T):
    """A variational autoencoder."""
    T.manual_seed(2)
    n, F = T.nn, T.nn.functional
    into, out = n.Linear(6, 4), n.Linear(2, 6)
    x, both = T.bernoulli(T.full((16, 6), 0.4)), n.ModuleList([into, out])

    def loss():
        mean, log_var = into(x).chunk(2, 1)
        z = mean + (log_var / 2).exp() * T.randn_like(mean)
        fits = F.binary_cross_entropy_with_logits(out(z), x, reduction="sum")
        return fits - 0.5 * (1 + log_var - mean**2 - log_var.exp()).sum()

    return fit(both, T.optim.Adam(both.parameters(), 0.02), loss, 6)


@program
def learning_to_learn(T):
    """Steps of gradient descent, differentiated."""
    T.manual_seed(0)
    F = T.nn.functional
    start = [
        T.empty(8, 1).uniform_(-1, 1).requires_grad_(),
        T.zeros(8, requires_grad=True),
        T.randn(1, 8).requires_grad_(),
    ]
    log_rate = T.tensor(-3.0, requires_grad=True)
    optimizer, found = T.optim.Adam([*start, log_rate], 0.01), []
    for _ in range(3):
        shift, x = T.rand(1) * 3, T.rand(20, 1) * 6 - 3
        weights = start
        for _ in range(2):
            loss = F.mse_loss(F.linear(F.linear(x[:10], *weights[:2]).tanh(), weights[2]), T.sin(x[:10] + shift))
            slopes = T.autograd.grad(loss, weights, create_graph=True)
            weights = [w - log_rate.exp() * g for w, g in zip(weights, slopes, strict=True)]
        after = F.mse_loss(F.linear(F.linear(x[10:], *weights[:2]).tanh(), weights[2]), T.sin(x[10:] + shift))
        optimizer.zero_grad()
        after.backward()
        optimizer.step()
        found.append([after.item(), log_rate.item(), weights[0].grad_fn])
    return found


@program
def one_with_two_of_its_copies(T):
    """A moving average of the weights, and the best state by then."""
    T.manual_seed(5)
    n = T.nn
    net = n.Sequential(n.Linear(3, 6, bias=False), n.BatchNorm1d(6), n.Tanh(), n.Dropout(0.1), n.Linear(6, 1))
    mean, best, optimizer = (
        copy.deepcopy(net).requires_grad_(False),
        (math.inf, None),
        T.optim.AdamW(net.parameters(), 0.02),
    )
    schedule, found = T.optim.lr_scheduler.StepLR(optimizer, 2), []
    for _ in range(5):
        x = T.randn(10, 3)
        (loss,), _ = fit(net, optimizer, lambda: n.functional.huber_loss(net(x).squeeze(1), x.prod(1)), 1)  # noqa: B023
        for old, new in zip(mean.parameters(), net.parameters(), strict=True):
            old.lerp_(new.detach(), 0.1)
        schedule.step()
        best = min(best, (loss, copy.deepcopy(net.state_dict())), key=lambda each: each[0])
        found.append([loss, mean[0].weight.norm(), optimizer.param_groups[0]["lr"]])
    keys = net.load_state_dict(best[1])
    return [found, str(keys), net.eval()(x), mean.eval()(x), mean[0].weight._version]


@program
def slopes_of_slopes_in_an_equation(T):
    """A network that solves u'' = -u, trained in double precision."""
    T.manual_seed(0)
    n = T.nn
    net = n.Sequential(n.Linear(1, 8), n.Tanh(), n.Linear(8, 1)).double()
    t = T.linspace(0, 1, 9, dtype=T.float64).view(-1, 1).requires_grad_()

    def slope(u):
        return T.autograd.grad(u, t, T.ones_like(u), create_graph=True)[0]

    def loss():
        u = net(t)
        return (slope(slope(u)) + u).pow(2).mean() + (u[0] - 1).pow(2).sum()

    optimizer = T.optim.Adam(net.parameters(), 0.01)
    scheduler = T.optim.lr_scheduler.CosineAnnealingLR(optimizer, 8)
    return [fit(net, optimizer, loss, 6, scheduler), t.grad, scheduler.get_last_lr()]


@program
def messages_along_edges(T):
    T.manual_seed(0)
    n, F = T.nn, T.nn.functional
    source, target = T.randint(0, 6, (2, 14))
    net = n.ModuleList([n.Linear(4, 5), n.Linear(10, 1), n.Linear(5, 2)])
    x, labels = T.randn(6, 4), T.randint(0, 2, (6,))

    def loss():
        h = net[0](x)
        score = F.leaky_relu(net[1](T.cat([h[source], h[target]], 1)).squeeze(1), 0.2)
        weight = (score - score.max()).exp()
        weight = weight / T.zeros(6).scatter_add(0, target, weight)[target]
        gathered = T.zeros(6, 5).index_add(0, target, h[source] * weight[:, None])
        return F.cross_entropy(net[2](F.dropout(F.silu(gathered), 0.3)), labels)

    return fit(net, T.optim.Adagrad(net.parameters(), 0.05, weight_decay=1e-3), loss, 5)
