"""A tensor made of losses is one of numbers; a print that comes later is not to blame."""

import torch

net = torch.nn.Linear(3, 1)
parts = [net(torch.randn(4, 3)).pow(2).mean() for _ in range(3)]
total = torch.tensor(parts).mean()  # CUT
print("total", total.item())
total.backward()  # FAILED
