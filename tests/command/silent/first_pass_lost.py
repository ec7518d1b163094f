import torch
from torch import nn

torch.manual_seed(0)

model = nn.Linear(3, 2)
optimizer = torch.optim.Adam(model.parameters())
for _ in range(4):
    y = model(torch.randn(6, 3))
    y[:, 0].pow(2).mean().backward(retain_graph=True)
    optimizer.zero_grad()  # DOUBT those of the pass of line 10, each time
    y[:, 1].pow(2).mean().backward()
    optimizer.step()
