import torch
from torch import nn

torch.manual_seed(0)

net = nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
every = 2
for _ in range(2):
    for i in range(6):
        x, y = torch.randn(5, 3), torch.randint(0, 2, (5,))
        loss = nn.functional.cross_entropy(net(x), y) / every
        opt.zero_grad(set_to_none=False)  # DOUBT 6 are lost
        loss.backward()
        if i % every == every - 1:
            opt.step()
