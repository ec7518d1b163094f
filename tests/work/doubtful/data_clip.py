"""Weights are clipped through .data between forward and backward: no counter moves."""

import torch
from torch import nn


def clip(model, most):
    for p in model.parameters():
        p.data.clamp_(-most, most)  # DOUBT


def main():
    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.RMSprop(critic.parameters(), lr=1e-2)
    for _ in range(3):
        loss = critic(torch.randn(5, 3)).mean()
        clip(critic, 0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
