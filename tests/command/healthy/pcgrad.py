import torch
from torch import nn

torch.manual_seed(0)

net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
opt = torch.optim.Adam(net.parameters())
for _ in range(3):
    x, parts = torch.randn(6, 3), []
    for task in range(2):
        opt.zero_grad()
        net(x)[:, task].square().mean().backward()
        parts.append(torch.cat([p.grad.flatten() for p in net.parameters()]))
    if (parts[0] @ parts[1]).item() < 0:
        parts[0] = parts[0] - (parts[0] @ parts[1]) / parts[1].square().sum() * parts[1]
    both, at = parts[0] + parts[1], 0
    for p in net.parameters():
        p.grad = both[at : at + p.numel()].view_as(p).clone()
        at += p.numel()
    opt.step()
