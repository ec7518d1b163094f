import torch
from torch import nn

torch.manual_seed(0)


model = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
model[2] = nn.Linear(6, 5)  # DOUBT model.2.weight, model.2.bias received 3 gradients, and no optimizer has them
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(torch.randn(4, 3)), torch.tensor([0, 1, 2, 4])).backward()
    optimizer.step()
