import torch
from torch import nn

torch.manual_seed(0)

net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for k in range(9):
    opt.zero_grad()
    loss = net(torch.randn(4, 3)).square().mean() * (float("nan") if k in (2, 5) else 1)
    loss.backward()
    if not torch.isfinite(nn.utils.clip_grad_norm_(net.parameters(), 5.0)):
        continue
    opt.step()
