"""A mixed-precision trainer makes its own copy of the model, and steps the one that it was given."""

from copy import deepcopy

import torch
from torch import nn

model = nn.Linear(3, 1)
spare = deepcopy(nn.Linear(2, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # OWNS
runs = deepcopy(model)  # COPIED
scaler = torch.amp.GradScaler("cpu")
for _ in range(2):
    loss = runs(torch.randn(4, 3)).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)  # FAILED
    scaler.update()
