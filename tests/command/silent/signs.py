import torch
from torch import nn

torch.manual_seed(0)

first, second = nn.Linear(4, 6), nn.Linear(6, 2)
optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()])
for _ in range(5):
    x = torch.randn(6, 4)
    h = first(x).sign()  # DOUBT exactly zero in each step: sign() has the derivative zero everywhere
    loss = (second(h) - x[:, :2]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
