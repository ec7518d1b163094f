import torch
from torch import nn

torch.manual_seed(0)

net = nn.Linear(2, 1)
optimizer = torch.optim.LBFGS(net.parameters(), max_iter=3)
x = torch.randn(8, 2)


def closure():
    loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
    loss.backward()  # DOUBT nothing clears them in between (optimizer.zero_grad() in the closure)
    return loss


for _ in range(4):
    optimizer.step(closure)
