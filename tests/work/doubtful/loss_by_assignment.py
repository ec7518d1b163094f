"""The loss has lost its history, and somebody made the error go away by telling it to require grad."""

import torch
from torch import nn


def main():
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        error = model(torch.randn(8, 3)).pow(2).mean()
        loss = torch.tensor(error.item())
        loss.requires_grad_()  # DOUBT
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # DOUBT model.weight, model.bias


main()
