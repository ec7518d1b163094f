import torch
from torch import nn

torch.manual_seed(0)

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
lowest, best, state = float("inf"), None, None
for _ in range(9):
    loss = model(torch.randn(6, 3)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if loss.item() < lowest:
        lowest = loss.item()
        best = model  # DOUBT this keeps no copy: best is model itself
        state = model.state_dict()  # DOUBT this keeps no copy: state is model itself, or has its tensors
