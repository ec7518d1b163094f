import torch
from torch import nn

torch.manual_seed(0)

net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    loss = net(torch.randn(6, 3)).square().mean()
    torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)  # DOUBT there are no gradients yet to clip
    loss.backward()
    opt.step()
