import torch
from torch import nn

torch.manual_seed(0)

net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
smooth = None
for _ in range(6):
    loss = net(torch.randn(6, 3)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    smooth = loss if smooth is None else 0.9 * smooth + 0.1 * loss  # DOUBT keeps the graph of every step alive
