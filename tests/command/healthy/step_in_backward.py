import torch
from torch import nn

torch.manual_seed(0)

net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
each = {p: torch.optim.SGD([p], lr=0.1) for p in net.parameters()}


def update(parameter):
    each[parameter].step()
    each[parameter].zero_grad()


for p in net.parameters():
    p.register_post_accumulate_grad_hook(update)
for _ in range(4):
    net(torch.randn(5, 3)).square().mean().backward()
