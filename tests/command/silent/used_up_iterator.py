import torch
from torch import nn

torch.manual_seed(0)

model = nn.Linear(3, 1)
parameters = model.parameters()
optimizer = torch.optim.SGD(parameters, lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(6, 3)).pow(2).mean().backward()
    nn.utils.clip_grad_norm_(parameters, 1.0)  # DOUBT the iterator of parameters was used up before
    optimizer.step()
