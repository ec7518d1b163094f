"""Every parameter was frozen, the new head too."""

import torch
from torch import nn

net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 2))
for parameter in net.parameters():
    parameter.requires_grad = False  # FROZEN
optimizer = torch.optim.SGD(net.parameters(), 0.1)
loss = net(torch.randn(4, 3)).pow(2).mean()
loss.backward()  # FAILED
