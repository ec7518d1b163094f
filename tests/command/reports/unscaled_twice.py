"""One helper unscales to look at the norm, another to clip."""

import torch
from torch import nn

net = nn.Linear(3, 1)
optimizer, scaler = torch.optim.SGD(net.parameters(), 0.1), torch.amp.GradScaler("cpu")


def norm():
    scaler.unscale_(optimizer)  # FIRST
    return sum(p.grad.norm() for p in net.parameters())


def clip():
    scaler.unscale_(optimizer)  # FAILED
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)


scaler.scale(net(torch.randn(4, 3)).mean()).backward()
norm()
clip()  # CALLER
scaler.step(optimizer)
