import torch
from torch import nn

torch.manual_seed(0)

model = nn.Linear(3, 2)
shadow = [p.data for p in model.parameters()]  # DOUBT this keeps no copy: it shares the memory of the parameter
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for turn in range(4):
    optimizer.zero_grad()
    model(torch.randn(6, 3)).pow(2).mean().backward()
    optimizer.step()
    if turn:
        shadow = [0.9 * s + 0.1 * p.data for s, p in zip(shadow, model.parameters(), strict=True)]
