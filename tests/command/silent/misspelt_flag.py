import torch
from torch import nn

torch.manual_seed(0)

model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
for p in model[0].parameters():
    p.require_grad = False  # DOUBT this sets a new attribute, require_grad
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(6, 3)).pow(2).mean().backward()
    optimizer.step()
