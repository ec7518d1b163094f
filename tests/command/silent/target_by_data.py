import torch
from torch import nn

torch.manual_seed(0)

online, target = nn.Linear(3, 1), nn.Linear(3, 1)
for t, p in zip(target.parameters(), online.parameters(), strict=True):
    t.data = p.data  # DOUBT target.weight, target.bias have the memory of online.weight
optimizer = torch.optim.Adam(online.parameters())
for _ in range(5):
    x = torch.randn(6, 3)
    loss = (online(x) - 0.9 * target(x + 1).detach() - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
