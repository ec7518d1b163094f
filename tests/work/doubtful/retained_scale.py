"""A scale is computed once, before the loop; retain_graph=True silences the error, and its gradient stays old."""

import torch
from torch import nn


def main():
    torch.manual_seed(0)
    log_scale = nn.Parameter(torch.zeros(1))
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD([log_scale, *model.parameters()], lr=0.1)
    scale = log_scale.exp()  # DOUBT
    for _ in range(4):
        loss = (model(torch.randn(8, 3)) * scale).pow(2).mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()


main()
