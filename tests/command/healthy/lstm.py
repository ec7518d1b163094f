"""Truncated backpropagation through time: the state is detached between batches."""

import torch
from torch import nn

torch.manual_seed(0)
lstm, head = nn.LSTM(4, 8, batch_first=True), nn.Linear(8, 4)
optimizer = torch.optim.Adam([*lstm.parameters(), *head.parameters()])
state = None
for _ in range(4):
    out, state = lstm(torch.randn(2, 5, 4), state)
    state = tuple(part.detach() for part in state)
    loss = head(out).square().mean()
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    optimizer.step()
print(round(loss.item(), 3))
