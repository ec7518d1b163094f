import torch
from torch import nn

torch.manual_seed(0)

model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
model[0].requires_grad_(False)
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad])
for epoch in range(6):
    if epoch == 2:
        model[0].requires_grad_(True)  # DOUBT it is told to require grad here, after the
    optimizer.zero_grad()
    model(torch.randn(5, 4)).pow(2).mean().backward()
    optimizer.step()
