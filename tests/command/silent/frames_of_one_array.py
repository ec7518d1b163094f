import numpy as np
import torch
from torch import nn

torch.manual_seed(0)

model, frame = nn.Linear(3, 1), np.zeros(3, dtype=np.float32)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    frames = []
    for t in range(4):
        frame += t
        frames.append(torch.as_tensor(frame))  # DOUBT 4 of the tensors that are put together
    optimizer.zero_grad()
    model(torch.stack(frames)).pow(2).mean().backward()
    optimizer.step()
