import copy

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)

model, buffer = nn.Linear(3, 1), np.zeros((1, 3), dtype=np.float32)
teacher = copy.deepcopy(model)
shadow = [p.data.clone() for p in model.parameters()]
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
lowest, best, states = float("inf"), model, []
for turn in range(6):
    losses = []
    for t in range(3):
        buffer[:] = turn - t
        losses.append((model(torch.from_numpy(buffer.copy())) - teacher(torch.ones(1, 3)).detach()).pow(2).sum())
    loss = min(losses)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    states.append({name: one.clone() for name, one in model.state_dict().items()})
    with torch.no_grad():
        shadow = [0.9 * s + 0.1 * p for s, p in zip(shadow, model.parameters(), strict=True)]
        for t, p in zip(teacher.parameters(), model.parameters(), strict=True):
            t.data = 0.9 * t.data + 0.1 * p.data
    if loss.item() < lowest:
        lowest, best = loss.item(), copy.deepcopy(model)
teacher.load_state_dict(states[0])
