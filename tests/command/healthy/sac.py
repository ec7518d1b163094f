import copy

import torch
from torch import nn

torch.manual_seed(0)

actor, critic = nn.Linear(3, 2), nn.Linear(5, 1)
target = copy.deepcopy(critic).requires_grad_(False)
log_alpha = torch.zeros((), requires_grad=True)
opt_a, opt_c = torch.optim.Adam(actor.parameters()), torch.optim.Adam(critic.parameters())
opt_l = torch.optim.Adam([log_alpha])
for _ in range(5):
    s, r = torch.randn(6, 3), torch.randn(6, 1)
    with torch.no_grad():
        y = r + 0.9 * target(torch.cat([s, actor(s)], 1))
    loss_c = (critic(torch.cat([s, actor(s).detach()], 1)) - y).square().mean()
    opt_c.zero_grad()
    loss_c.backward()
    opt_c.step()
    a = actor(s)
    loss_a = (log_alpha.exp().detach() * a.square() - critic(torch.cat([s, a], 1))).mean()
    opt_a.zero_grad()
    loss_a.backward()
    opt_a.step()
    loss_l = -(log_alpha * (a.square().sum(1) - 2).detach()).mean()
    opt_l.zero_grad()
    loss_l.backward()
    opt_l.step()
    with torch.no_grad():
        for p, t in zip(critic.parameters(), target.parameters(), strict=True):
            t.lerp_(p, 0.01)
