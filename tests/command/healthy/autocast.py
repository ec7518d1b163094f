"""Mixed precision with a scaler."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
for _ in range(2):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(torch.randn(3, 4)).float().square().mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
print(round(loss.item(), 1))
