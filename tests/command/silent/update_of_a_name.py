import torch
from torch import nn

torch.manual_seed(0)

model, x = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1)), torch.randn(8, 3)
for _ in range(5):
    model.zero_grad()
    model(x).pow(2).mean().backward()
    for p in model.parameters():
        p = p.data - 0.1 * p.grad  # DOUBT nothing uses it: the parameter stays as it is
