import torch
from torch import nn

torch.manual_seed(0)

model, x = nn.Linear(3, 1), torch.randn(8, 3)
weights = [p.detach().clone() for p in model.parameters()]  # DOUBT and line 13 updates them
for _ in range(5):
    model.zero_grad()
    model(x).pow(2).mean().backward()
    with torch.no_grad():
        for w, p in zip(weights, model.parameters(), strict=True):
            w -= 0.1 * p.grad
