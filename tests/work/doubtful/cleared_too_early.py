"""The gradients are cleared between backward() and step(), once by setting them to None and once to zero."""

import torch
from torch import nn


def main(how):
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in torch.randn(3, 8, 4):
        model(x).pow(2).mean().backward()
        how(optimizer)
        optimizer.step()


def to_none(optimizer):
    optimizer.zero_grad()  # DOUBT before a step has used them: the optimizer steps in line 14


def to_zero(optimizer):
    optimizer.zero_grad(set_to_none=False)  # DOUBT before a step has used them: the optimizer steps in line 14


main(to_none)
main(to_zero)
