import torch
from torch import nn

torch.manual_seed(0)

model, crit = nn.Linear(4, 2), nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    for part in torch.randn(3, 6, 4):
        loss = crit(model(part), part[:, :2]) / 3  # DOUBT loss is set anew in each turn of the loop of line 9
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
