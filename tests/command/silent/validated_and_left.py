import torch
from torch import nn

torch.manual_seed(0)

net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
opt = torch.optim.Adam(net.parameters())


@torch.no_grad()
def validate(model):
    model.eval()  # DOUBT no train() follows
    return model(torch.randn(8, 3)).mean().item()


net.train()
for _ in range(3):
    for _ in range(3):
        opt.zero_grad()
        net(torch.randn(8, 3)).square().mean().backward()
        opt.step()
    validate(net)
