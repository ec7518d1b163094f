"""The sum that is meant for the log is what backward() is called on."""

import torch
from torch import nn

net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
total = 0.0
for _ in range(3):
    loss = net(torch.randn(5, 3)).exp().mean()  # BUILT
    total += loss  # JOINED
    net.zero_grad()
    total.backward()  # FIRST FAILED
