import torch
from torch import nn

torch.manual_seed(0)

net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    x = torch.randn(6, 3)
    opt.zero_grad()
    net(x).square().mean().backward()
    with torch.no_grad():
        norm = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
        shifts = [0.05 * p.grad / norm for p in net.parameters()]
        for p, e in zip(net.parameters(), shifts, strict=True):
            p.add_(e)
    opt.zero_grad()
    net(x).square().mean().backward()
    with torch.no_grad():
        for p, e in zip(net.parameters(), shifts, strict=True):
            p.sub_(e)
    opt.step()
