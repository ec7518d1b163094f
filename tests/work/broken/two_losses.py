"""Two losses over one encoder: the second backward pass needs what the first one has freed."""

import torch
from torch import nn


def main():
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
    heads = nn.ModuleList([nn.Linear(8, 2), nn.Linear(8, 3)])
    optimizer = torch.optim.Adam([*encoder.parameters(), *heads.parameters()])
    x, first, second = torch.randn(6, 4), torch.randint(0, 2, (6,)), torch.randint(0, 3, (6,))
    for _ in range(3):
        code = encoder(x)  # BUILT
        loss1 = nn.functional.cross_entropy(heads[0](code), first)
        loss2 = nn.functional.cross_entropy(heads[1](code), second)
        optimizer.zero_grad()
        loss1.backward()  # FIRST
        loss2.backward()  # FAILED
        optimizer.step()


main()
