import torch
from torch import nn

torch.manual_seed(0)

body, policy, value = nn.Linear(3, 6), nn.Linear(6, 2), nn.Linear(6, 1)
opt = torch.optim.Adam([*body.parameters(), *policy.parameters(), *value.parameters()])
for _ in range(4):
    h = body(torch.randn(8, 3)).tanh()
    choice = torch.distributions.Categorical(logits=policy(h))
    action, v, returns = choice.sample(), value(h)[:, 0], torch.randn(8)
    advantage = returns - v.detach()
    loss = -(choice.log_prob(action) * advantage).mean() + 0.5 * (returns - v).square().mean()
    loss = loss - 0.01 * choice.entropy().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
