import torch
from torch import nn

torch.manual_seed(0)

net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
totals = {"loss": torch.zeros(())}
for _ in range(6):
    loss = net(torch.randn(6, 3)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    totals["loss"] = totals["loss"] + loss  # DOUBT keeps the graph of every step alive
print(totals["loss"].ndim)
