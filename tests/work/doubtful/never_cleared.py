"""The gradients are never cleared: each step uses the sum of all before it."""

import torch
from torch import nn


def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for x, y in data:
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()  # DOUBT


if __name__ == "__main__":
    torch.manual_seed(0)
    train(nn.Linear(3, 1), [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(5)])
