"""A validation switches recording off, and nobody switches it on again."""

import torch

net = torch.nn.Linear(3, 1)


def validate():
    torch.set_grad_enabled(False)  # OFF
    score = net(torch.randn(2, 3)).mean()
    return score.item()


for _ in range(2):
    loss = net(torch.randn(2, 3)).mean()  # CUT
    loss.backward()  # FAILED
    validate()
