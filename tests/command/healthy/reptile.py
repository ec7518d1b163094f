import copy

import torch
from torch import nn

torch.manual_seed(0)

net = nn.Linear(3, 1)
for _ in range(3):
    fast = copy.deepcopy(net)
    inner = torch.optim.SGD(fast.parameters(), lr=0.05)
    for _ in range(3):
        inner.zero_grad()
        fast(torch.randn(4, 3)).square().mean().backward()
        inner.step()
    with torch.no_grad():
        for p, q in zip(net.parameters(), fast.parameters(), strict=True):
            p.add_(q - p, alpha=0.5)
