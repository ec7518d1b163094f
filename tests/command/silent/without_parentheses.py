import torch
from torch import nn

torch.manual_seed(0)

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad  # noqa: B018  # DOUBT this calls nothing: optimizer.zero_grad()
    model(torch.randn(6, 3)).pow(2).mean().backward()
    optimizer.step()
