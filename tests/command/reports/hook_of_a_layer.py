"""A hook of a layer gives back gradients of another shape."""

import torch
from torch import nn

net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))


def total(module, into, out):
    return tuple(one.sum(0) for one in into)  # HOOK


net[1].register_full_backward_hook(total)
net(torch.randn(5, 3)).sum().backward()  # FAILED
