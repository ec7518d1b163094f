"""The loss is wrapped anew, with requires_grad=True: backward() begins and ends there."""

import torch
from torch import nn
from torch.autograd import Variable

torch.manual_seed(0)
head = nn.Linear(4, 8)
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
del head  # as if another had taken its place
for _ in range(2):
    loss = Variable(net(torch.randn(4, 4)).pow(2).mean().data, requires_grad=True)
    optimizer.zero_grad()
    loss.backward()  # DOUBT at a tensor that has no history, because it was made with requires_grad=True
    optimizer.step()  # DOUBT has ever reached net.weight, net.bias, parameter 2 (8×4), parameter 3 (8)
