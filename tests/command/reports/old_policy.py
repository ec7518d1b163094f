"""The log probabilities of the old policy are a constant, and keep their history."""

import torch
from torch import nn

policy = nn.Linear(3, 2)
optimizer = torch.optim.Adam(policy.parameters())
seen, done = torch.randn(8, 3), torch.randint(0, 2, (8, 1))
before = torch.log_softmax(policy(seen), -1).gather(1, done)  # BUILT
for _ in range(3):
    now = torch.log_softmax(policy(seen), -1).gather(1, done)
    loss = -((now - before).exp() * 0.5).mean()  # JOINED
    optimizer.zero_grad()
    loss.backward()  # FIRST FAILED
    optimizer.step()
