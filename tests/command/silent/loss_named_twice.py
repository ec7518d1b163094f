import torch
from torch import nn

torch.manual_seed(0)

body, near, far = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*body.parameters(), *near.parameters(), *far.parameters()])
x = torch.randn(6, 4)
for _ in range(5):
    h = body(x).relu()
    loss = (near(h) - x[:, :1]).pow(2).mean()  # DOUBT no gradient has ever reached near.weight
    loss = (far(h) - x[:, 1:2]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
