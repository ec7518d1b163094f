"""Policy gradients with a divergence, a target network, pairs of predictions, errors that are shown: all is meant."""

import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

torch.manual_seed(0)

actor, critic, target, ranker = nn.Linear(3, 1), nn.Linear(3, 2), nn.Linear(3, 2), nn.Linear(3, 1)
target.load_state_dict(critic.state_dict())
optimizer = torch.optim.SGD([*actor.parameters(), *critic.parameters(), *ranker.parameters()], lr=0.01)
old = nn.Linear(3, 1)
for _ in range(5):
    x, then, reward = torch.randn(6, 3), torch.randn(6, 3), torch.randn(6)
    policy = Normal(actor(x), 1.0)
    action = policy.sample()
    with torch.no_grad():
        before = Normal(old(x), 1.0)
        goal = reward + 0.9 * target(then).max(1).values
    worth = (policy.log_prob(action).squeeze(1) * reward).mean() - 0.1 * kl_divergence(policy, before).mean()
    value = nn.functional.smooth_l1_loss(critic(x).gather(1, torch.zeros(6, 1, dtype=torch.long)).squeeze(1), goal)
    ranks = ranker(x)
    pairs = torch.relu(1 - (ranks - ranks.squeeze(1))).mean() + (ranks[:, [0]] - reward[None]).square().mean()
    consistent = nn.functional.mse_loss(critic(x), critic(x + 0.1))
    optimizer.zero_grad()
    (value - worth + pairs + consistent).backward()
    optimizer.step()
    error = (ranker(x) - reward).abs().mean()  # shown, and in no pass
    print(error.item() > 0)
