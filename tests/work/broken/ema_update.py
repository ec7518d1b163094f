"""Weights are averaged in place under no_grad, while a loss that has saved them still waits for backward."""

import torch
from torch import nn


def average(model, shadow, decay=0.9):
    with torch.no_grad():
        for p, s in zip(model.parameters(), shadow, strict=True):
            p.mul_(decay).add_(s, alpha=1 - decay)  # CHANGED


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))  # its calls are made in the loop below
    shadow = [p.detach().clone() for p in model.parameters()]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 4)
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()  # SAVED
        average(model, shadow)
        optimizer.zero_grad()
        loss.backward()  # FAILED
        optimizer.step()


main()
