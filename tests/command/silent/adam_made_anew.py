import torch
from torch import nn

torch.manual_seed(0)

model = nn.Linear(3, 1)
for _ in range(4):
    optimizer = torch.optim.Adam(model.parameters())  # DOUBT this makes an optimizer anew for each step
    optimizer.zero_grad()
    model(torch.randn(6, 3)).pow(2).mean().backward()
    optimizer.step()
