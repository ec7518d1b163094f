"""A batch norm runs in eval mode, and then in training mode, before backward(): its statistics have moved."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    x = torch.randn(8, 4)
    clean = net.eval()(x)
    noisy = net.train()(x + torch.randn_like(x))  # DOUBT that NativeBatchNormBackward0 had saved in eval mode
    optimizer.zero_grad()
    (clean - noisy).pow(2).mean().backward()
    optimizer.step()
