"""The forces are asked for with respect to positions that a caller read from a table."""

import torch
from torch import nn

net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def forces(positions):
    energy = net(positions).sum()
    (slope,) = torch.autograd.grad(outputs=energy, inputs=positions, create_graph=True)  # FAILED
    return -slope


table = torch.arange(12.0).reshape(4, 3)
start = table / 10  # MADE
forces(start).square().sum().backward()
