"""A full backward hook on a layer, and an activation in place behind it."""

import torch
from torch import nn

net = nn.Sequential(
    nn.Linear(3, 4),
    nn.ReLU(inplace=True),  # BUILT_HERE
    nn.Linear(4, 1),
)
net[0].register_full_backward_hook(lambda module, into, out: None)  # HOOK
net(torch.randn(2, 3)).sum().backward()  # FAILED
