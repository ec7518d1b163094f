import torch
from torch import nn

torch.manual_seed(0)

G = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3))
D = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
opt_g, opt_d = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
bce = nn.BCEWithLogitsLoss()
real, zeros, ones = torch.randn(6, 3), torch.zeros(6, 1), torch.ones(6, 1)
for _ in range(5):
    fake = G(torch.randn(6, 2))
    loss_d = bce(D(real), ones) + bce(D(fake.detach()), zeros)
    loss_d.backward()
    opt_d.step()
    opt_d.zero_grad()
    opt_g.zero_grad()
    loss_g = bce(D(fake), ones)
    loss_g.backward()  # DOUBT this pass fills the gradients of D.0.weight, D.0.bias, D.2.weight, D.2.bias too
    opt_g.step()
