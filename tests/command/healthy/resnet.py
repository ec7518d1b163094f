"""A residual network with inplace ReLU where it does no harm."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.batch_norm, self.relu = nn.Conv2d(3, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(inplace=True)

    def forward(self, x):
        out = self.batch_norm(self.conv(x))
        out += x
        return self.relu(out)


torch.manual_seed(0)
network = nn.Sequential(Block(), Block(), nn.Flatten(), nn.Linear(48, 2))
optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
for _ in range(2):
    loss = nn.functional.cross_entropy(network(torch.randn(4, 3, 4, 4)), torch.tensor([0, 1, 0, 1]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(round(loss.item(), 2))
