import torch
from torch import nn

torch.manual_seed(0)

backbone = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU())
head = nn.Linear(4, 2)
backbone.requires_grad_(False)
backbone.eval()
opt = torch.optim.SGD([p for p in [*backbone.parameters(), *head.parameters()] if p.requires_grad], lr=0.1)
for _ in range(3):
    head.train()
    for _ in range(2):
        with torch.no_grad():
            features = backbone(torch.randn(6, 3))
        loss = nn.functional.cross_entropy(head(features), torch.randint(0, 2, (6,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
    head.eval()
    with torch.no_grad():
        head(backbone(torch.randn(6, 3)))
