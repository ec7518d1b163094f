"""Gradients of four small batches are added up on purpose, then used once and cleared."""

import sys

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.Adam(model.parameters())
for step in range(8):
    loss = model(torch.randn(2, 3)).square().mean() / 4
    loss.backward()
    if step % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
print(round(loss.item(), 3), sys.argv[1:])
sys.exit(3)
