"""Checkpointed blocks, and a second loss that goes through them, too."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
blocks = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(3))
optimizer = torch.optim.SGD(blocks.parameters(), lr=0.1)
for _ in range(2):
    h = torch.randn(2, 4)
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=False)
    optimizer.zero_grad()
    (h.sum() + h.square().sum()).backward()
    optimizer.step()
print(round(h.sum().item(), 3))
