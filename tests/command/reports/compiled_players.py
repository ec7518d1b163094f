"""A critic is compiled, and steps between the forward and the backward pass of the actor's loss."""

import torch
from torch import nn

actor, critic = nn.Linear(3, 2), nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
value = torch.compile(critic, backend="eager")
optimizer, other = torch.optim.SGD(critic.parameters(), 0.1), torch.optim.SGD(actor.parameters(), 0.1)
state = torch.randn(4, 3)
critic_loss = value(torch.randn(4, 2)).pow(2).mean()
actor_loss = -value(actor(state)).mean()  # SAVED
critic_loss.backward()
optimizer.step()  # CHANGED
actor_loss.backward()  # FAILED
other.step()
