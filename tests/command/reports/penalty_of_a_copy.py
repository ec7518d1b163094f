"""The critic scores a copy without history of the points that the penalty is about."""

import torch
from torch import nn

critic, mixed = nn.Linear(3, 1), torch.randn(4, 3, requires_grad=True)
score = critic(mixed.clone().detach())  # CUT
(slope,) = torch.autograd.grad(score.sum(), mixed, create_graph=True)  # FAILED
slope.norm().backward()
