import torch
from torch import nn

torch.manual_seed(0)


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(3, 4)
        self.heads = {}
        for task in ("age", "mood"):
            self.heads[task] = nn.Linear(4, 1)  # DOUBT heads.age.weight, net.heads.age.bias, net.heads.mood.weight

    def forward(self, x):
        h = self.trunk(x).relu()
        return {task: head(h) for task, head in self.heads.items()}


def main():
    net = Heads()
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(4):
        out = net(torch.randn(5, 3))
        loss = out["age"].square().mean() + out["mood"].square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
