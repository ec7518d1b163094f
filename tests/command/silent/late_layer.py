import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 4)
        self.out = None

    def forward(self, x):
        h = self.body(x).tanh()
        if self.out is None:
            self.out = nn.Linear(h.shape[1], 1)  # DOUBT out.weight, net.out.bias received 4 gradients
        return self.out(h)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    net(torch.randn(5, 3)).square().mean().backward()
    optimizer.step()
