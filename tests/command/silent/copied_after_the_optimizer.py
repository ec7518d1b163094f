import copy

import torch
from torch import nn

torch.manual_seed(0)

first = nn.Linear(4, 1)
optimizer = torch.optim.Adam(first.parameters())
model = copy.deepcopy(first)  # DOUBT model.weight, model.bias received 5 gradients, and no optimizer has them
for _ in range(5):
    model.zero_grad()
    model(torch.randn(5, 4)).pow(2).mean().backward()
    optimizer.step()  # DOUBT no gradient has ever reached first.weight, first.bias
