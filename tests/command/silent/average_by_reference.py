import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
ema = [p.data for p in net.parameters()]  # DOUBT it shares the memory of the parameter
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    opt.zero_grad()
    net(torch.randn(5, 3)).square().mean().backward()
    opt.step()
    for e, p in zip(ema, net.parameters(), strict=True):
        e.mul_(0.9).add_(p.data, alpha=0.1)
