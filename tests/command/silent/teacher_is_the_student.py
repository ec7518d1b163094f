import torch
from torch import nn

torch.manual_seed(0)

student = nn.Linear(3, 2)
teacher = student  # DOUBT mixes student.weight with itself, since both are one model
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
for _ in range(4):
    x = torch.randn(6, 3)
    loss = (student(x) - teacher(x + 0.1).detach()).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for t, s in zip(teacher.parameters(), student.parameters(), strict=True):
        t.data.mul_(0.9).add_(s.data, alpha=0.1)
