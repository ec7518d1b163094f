import torch
from torch import nn

torch.manual_seed(0)

net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    opt.zero_grad()
    mse = net(torch.randn(6, 3)).square().mean()
    penalty = net.weight.abs().sum().item()  # DOUBT a term of the loss has no history: item()
    loss = mse + penalty
    loss.backward()
    opt.step()
