"""The state of a recurrent cell goes from one step to the next, with its history."""

import torch
from torch import nn

cell, head = nn.LSTMCell(2, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], 0.1)
state = torch.zeros(3, 4), torch.zeros(3, 4)
for _ in range(3):
    optimizer.zero_grad()
    state = cell(torch.randn(3, 2), state)  # BUILT
    loss = head(state[0]).pow(2).mean()
    loss.backward()  # FIRST FAILED
    optimizer.step()
