import torch
from torch import nn

torch.manual_seed(0)

net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.1), nn.Linear(4, 1))
opt = torch.optim.Adam(net.parameters())
for epoch in range(4):
    net.train()
    if epoch >= 2:  # statistics are good enough now
        for module in net.modules():
            if isinstance(module, nn.BatchNorm1d):
                module.eval()
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(6, 3)).square().mean().backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        net(torch.randn(6, 3))
