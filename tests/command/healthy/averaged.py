"""A moving average of the weights, a frozen layer, and SGD by hand through .data after the pass."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
model[0].requires_grad_(False)
shadow = copy.deepcopy(model)
for _ in range(3):
    loss = model(torch.randn(5, 3)).square().mean()
    loss.backward()
    for p in model.parameters():
        if p.grad is not None:
            p.data -= 0.1 * p.grad.data
            p.grad = None
    with torch.no_grad():
        for s, p in zip(shadow.parameters(), model.parameters(), strict=True):
            s.lerp_(p, 0.1)
print(round(loss.item(), 3))
