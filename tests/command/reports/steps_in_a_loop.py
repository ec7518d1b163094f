"""Two optimizers share a trunk, and one loop clears, passes and steps for each, over one forward pass."""

import torch
from torch import nn

trunk = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4))
left, right = nn.Linear(4, 1), nn.Linear(4, 1)
first = torch.optim.SGD([*trunk.parameters(), *left.parameters()], 0.1)
second = torch.optim.SGD([*trunk.parameters(), *right.parameters()], 0.1)
h = trunk(torch.randn(5, 3))  # SAVED
pairs = (first, left(h).mean()), (second, right(h).mean())
for optimizer, loss in pairs:
    optimizer.zero_grad()
    loss.backward(retain_graph=True)  # FAILED
    optimizer.step()  # CHANGED
