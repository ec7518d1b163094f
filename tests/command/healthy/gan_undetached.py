import torch
from torch import nn

torch.manual_seed(0)

G, D = nn.Linear(2, 3), nn.Linear(3, 1)
opt_g, opt_d = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
for _ in range(4):
    opt_d.zero_grad()
    loss = D(G(torch.randn(5, 2))).mean() - D(torch.randn(5, 3)).mean()  # fills G.grad, which is cleared below
    loss.backward()
    opt_d.step()
    opt_g.zero_grad()
    (-D(G(torch.randn(5, 2))).mean()).backward()
    opt_g.step()
