"""A trainer's step() is called for each of two losses over one forward pass."""

import torch
from torch import nn


class Trainer:
    def __init__(self, model):
        self.optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def update(self, loss):
        self.optimizer.zero_grad()
        loss.backward()  # FIRST FAILED
        self.optimizer.step()


net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
trainer = Trainer(net)
out = net(torch.randn(5, 3))  # BUILT
first, second = out[:, 0].mean(), out[:, 1].mean()  # JOINED
trainer.update(first)  # CALLER
trainer.update(second)  # CALLER
