import torch
from torch import nn

torch.manual_seed(0)

G, D = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))
opt_g, opt_d = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
for it in range(9):
    real, fake = torch.randn(5, 3), G(torch.randn(5, 2)).detach()
    mix = torch.lerp(real, fake, torch.rand(5, 1)).requires_grad_()
    (grad,) = torch.autograd.grad(D(mix).sum(), mix, create_graph=True)
    loss = D(fake).mean() - D(real).mean() + 10 * (grad.norm(dim=1) - 1).square().mean()
    opt_d.zero_grad()
    loss.backward()
    opt_d.step()
    if it % 3 == 2:
        opt_g.zero_grad()
        (-D(G(torch.randn(5, 2))).mean()).backward()
        opt_g.step()
