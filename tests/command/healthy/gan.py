"""A GAN with its passes and steps in the right order."""

import torch
from torch import nn

torch.manual_seed(0)
generator, critic = nn.Linear(3, 2), nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
opt_g, opt_d = (torch.optim.Adam(net.parameters(), 1e-3) for net in (generator, critic))
bce = nn.BCEWithLogitsLoss()
for _ in range(3):
    fake = generator(torch.randn(4, 3))
    opt_d.zero_grad()
    (bce(critic(torch.randn(4, 2)), torch.ones(4, 1)) + bce(critic(fake.detach()), torch.zeros(4, 1))).backward()
    opt_d.step()
    opt_g.zero_grad()
    loss = bce(critic(fake), torch.ones(4, 1))
    loss.backward()
    opt_g.step()
print(round(loss.item(), 3))
