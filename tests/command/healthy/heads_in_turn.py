"""Two heads in turn: in each step one of them has no gradient, and has had one before. A warning names its line."""

import torch
from torch import nn

torch.manual_seed(0)
body, heads = nn.Linear(4, 6), nn.ModuleList([nn.Linear(6, 2), nn.Linear(6, 3)])
optimizer = torch.optim.Adam([*body.parameters(), *heads.parameters()])
for i in range(4):
    logits = heads[i % 2](body(torch.randn(4, 4)).relu())
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(logits, torch.tensor([0, 1, 1, 0]))
    loss.backward()
    optimizer.step()
print(float(loss) > 0)
