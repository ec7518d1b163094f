"""Two losses over one pass of a compiled model, each with a backward pass of its own."""

import torch
from torch import nn

net = torch.compile(nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2)), backend="aot_eager")  # COMPILE
x = torch.randn(4, 3)
net(x).sum().backward()
out = net(x)
first, second = out[:, 0].sum(), out[:, 1].sum()
first.backward(retain_graph=True)  # FAILED
second.backward()
