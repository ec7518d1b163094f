import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
before = net.weight.detach()  # DOUBT it shares the memory of the parameter
for _ in range(4):
    opt.zero_grad()
    net(torch.randn(5, 3)).square().mean().backward()
    opt.step()
print((net.weight - before).norm().item())
