"""An object keeps its state; several calls of one step share it, and the next step begins with it."""

import torch
from torch import nn


class Player(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.value = nn.GRUCell(2, 4), nn.Linear(4, 1)
        self.state = torch.zeros(1, 4)

    def forward(self, x):
        self.state = self.cell(x, self.state)  # BUILT
        return self.value(self.state)


player = Player()
optimizer = torch.optim.Adam(player.parameters())
for _ in range(2):
    loss = 0
    for _ in range(3):
        loss = loss + player(torch.randn(1, 2)).pow(2).sum()  # CALLER
    optimizer.zero_grad()
    loss.backward()  # FIRST FAILED
    optimizer.step()
