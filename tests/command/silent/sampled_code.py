import torch
from torch import nn
from torch.distributions import Independent, Normal
from torch.distributions.kl import kl_divergence

torch.manual_seed(0)

encoder, decoder = nn.Linear(4, 2), nn.Linear(1, 4)
optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
prior = Independent(Normal(torch.zeros(1), 1.0), 1)
for _ in range(4):
    x = torch.randn(6, 4)
    mean, spread = encoder(x).chunk(2, 1)
    code = Independent(Normal(mean, spread.exp()), 1)
    divergence = kl_divergence(code, prior).mean()
    guess = decoder(code.sample())  # DOUBT sample() gives numbers without a history
    loss = (guess - x).square().mean() + divergence
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
