"""A parameter made by expand() is one row, shown several times; the optimizer cannot write to it."""

import torch
from torch import nn


class Offsets(nn.Module):
    def __init__(self):
        super().__init__()
        self.offsets = nn.Parameter(torch.zeros(1, 3).expand(4, 3))  # MADE

    def forward(self, x):
        return x + self.offsets


net = Offsets()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
net(torch.randn(4, 3)).sum().backward()
optimizer.step()  # FAILED
