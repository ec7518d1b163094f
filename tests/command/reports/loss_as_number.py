"""The loss became a number on its way to backward()."""

import torch
from torch import nn

net, criterion = nn.Linear(3, 1), nn.MSELoss()
loss = criterion(net(torch.randn(4, 3)), torch.zeros(4, 1)).item()
print("loss", loss > 0)
loss.backward()  # FAILED
