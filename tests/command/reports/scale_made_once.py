"""A Bayesian layer computes its scale in __init__, and two methods read it."""

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.rho = nn.Parameter(torch.zeros(3))
        self.sigma = nn.functional.softplus(self.rho)  # BUILT

    def forward(self, x):
        return x * self.sigma  # JOINED

    def penalty(self):
        return self.sigma.log().sum()


layer = Layer()  # CALLER
optimizer = torch.optim.SGD(layer.parameters(), 0.1)
for _ in range(2):
    loss = layer(torch.ones(3)).sum() - layer.penalty()  # CALLER
    loss.backward()  # FIRST FAILED
    optimizer.step()
