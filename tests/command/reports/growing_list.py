"""Outputs of all steps are kept in a list, with the graphs of the earlier steps."""

import torch
from torch import nn

net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
seen = []
for _ in range(3):
    seen.append(net(torch.randn(2, 3)))  # BUILT
    loss = torch.cat(seen).pow(2).mean()  # JOINED
    net.zero_grad()
    loss.backward()  # FIRST FAILED
