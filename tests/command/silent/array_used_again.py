import numpy as np
import torch
from torch import nn

torch.manual_seed(0)

model, buffer = nn.Linear(3, 1), np.zeros((1, 3), dtype=np.float32)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for turn in range(3):
    loss = 0.0
    for t in range(4):
        buffer[:] = turn + t
        loss = loss + model(torch.from_numpy(buffer)).pow(2).sum()  # DOUBT after AddmmBackward0 had saved it
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
