"""A learning rate schedule by hand writes to the parameters of a policy whose loss is kept for later."""

import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, state):
        return torch.log_softmax(self.head(torch.relu(self.body(state))), -1)  # SAVED


def main():
    torch.manual_seed(0)
    policy = Policy()
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=1e-2)
    old = policy(torch.randn(5, 3))[:, 0].mean()
    for step in range(3):
        new = policy(torch.randn(5, 3))[:, 0].mean()
        optimizer.zero_grad()
        new.backward()
        optimizer.step()  # CHANGED
        if step == 1:
            (old + 1).backward()  # FAILED


main()
