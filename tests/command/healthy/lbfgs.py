import torch
from torch import nn

torch.manual_seed(0)

net = nn.Linear(3, 1)
x, y = torch.randn(8, 3), torch.randn(8, 1)
opt = torch.optim.LBFGS(net.parameters(), max_iter=6, line_search_fn="strong_wolfe")


def closure():
    opt.zero_grad()
    loss = (net(x) - y).square().mean()
    loss.backward()
    return loss


for _ in range(3):
    opt.step(closure)
