import torch
from torch import nn

torch.manual_seed(0)

model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
opt = torch.optim.SGD(model[2].parameters(), lr=0.1)  # the rest stays as it is
for _ in range(4):
    opt.zero_grad()
    nn.functional.cross_entropy(model(torch.randn(6, 3)), torch.randint(0, 2, (6,))).backward()
    opt.step()
