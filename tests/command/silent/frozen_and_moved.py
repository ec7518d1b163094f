import torch
from torch import nn

torch.manual_seed(0)

stem, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*stem.parameters(), *head.parameters()], lr=0.1, momentum=0.9)
for epoch in range(6):
    if epoch == 3:
        stem.requires_grad_(False)  # DOUBT this freezes stem.weight, stem.bias, and the optimizer goes on moving them
    optimizer.zero_grad(set_to_none=False)
    head(stem(torch.randn(5, 4)).relu()).pow(2).mean().backward()
    optimizer.step()
