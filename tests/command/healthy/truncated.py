import torch
from torch import nn

torch.manual_seed(0)

cell, out = nn.LSTMCell(3, 4), nn.Linear(4, 1)
opt = torch.optim.Adam([*cell.parameters(), *out.parameters()])
h, c = torch.zeros(2, 4), torch.zeros(2, 4)
for _ in range(4):
    h, c = h.detach(), c.detach()
    loss = 0.0
    for _ in range(3):
        h, c = cell(torch.randn(2, 3), (h, c))
        loss = loss + out(h).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
