import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.features, self.head = nn.Linear(3, 4), nn.Linear(4, 1)

    def forward(self, x):
        return self.head(self.features(x))


model = Model()
model.features.requires_grad = False  # DOUBT freezes nothing, model.features.weight, model.features.bias
opt = torch.optim.Adam(model.parameters())
for _ in range(3):
    opt.zero_grad()
    model(torch.randn(5, 3)).square().mean().backward()
    opt.step()
