"""A rollout that is stored in one tensor, step by step, while earlier steps are still needed."""

import torch
from torch import nn


def rollout(cell, start, steps):
    states = torch.zeros(steps + 1, *start.shape)
    states[0] = start
    for t in range(steps):
        states[t + 1] = torch.tanh(cell(states[t])) * states[t]  # SAVED CHANGED
    return states


def main():
    torch.manual_seed(0)
    cell = nn.Linear(3, 3)
    optimizer = torch.optim.Adam(cell.parameters())
    for _ in range(2):
        states = rollout(cell, torch.randn(2, 3), 4)
        loss = states[-1].pow(2).sum()
        optimizer.zero_grad()
        loss.backward()  # FAILED
        optimizer.step()


if __name__ == "__main__":
    main()
