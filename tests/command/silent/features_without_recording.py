import torch
from torch import nn

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 4)

    def forward(self, x):
        x = self.a(x).relu()
        return self.b(x)


encoder, head = Encoder(), nn.Linear(4, 1)
opt = torch.optim.Adam([*encoder.parameters(), *head.parameters()])
for _ in range(3):
    with torch.no_grad():
        code = encoder(torch.randn(5, 3))  # DOUBT encoder.a.weight, encoder.a.bias, encoder.b.weight, encoder.b.bias
    loss = head(code).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        head(encoder(torch.randn(5, 3)))
