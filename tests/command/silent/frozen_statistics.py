import torch
from torch import nn

torch.manual_seed(0)

stem, head = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), nn.Linear(4, 1)
model = nn.Sequential(stem, nn.ReLU(), head)
stem.requires_grad_(False)
stem.eval()
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
for _ in range(7):
    model.train()  # DOUBT back into training mode, after the eval() of line 9: their parameters are frozen
    optimizer.zero_grad()
    model(torch.randn(5, 4) + 1).pow(2).mean().backward()
    optimizer.step()
