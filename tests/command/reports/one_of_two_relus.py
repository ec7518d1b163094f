"""Two of the same kind in one Sequential: the second one writes to what a sigmoid has saved."""

import torch
from torch import nn

net = nn.Sequential(
    nn.Linear(3, 4),
    nn.ReLU(inplace=True),
    nn.Linear(4, 4),
    nn.Sigmoid(),
    nn.ReLU(inplace=True),  # BUILT_HERE
    nn.Linear(4, 1),
)
net(torch.randn(2, 3)).sum().backward()  # SAVED CHANGED FAILED
