"""The discriminator steps between the generator's loss and its backward pass."""

import torch
from torch import nn

generator, critic = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
of_generator = torch.optim.SGD(generator.parameters(), 0.1)
of_critic = torch.optim.SGD(critic.parameters(), 0.1)
for _ in range(2):
    fake = generator(torch.randn(5, 2))
    loss_c = critic(fake.detach()).mean() - critic(torch.randn(5, 3)).mean()
    loss_g = -critic(fake).mean()  # SAVED
    of_critic.zero_grad()
    loss_c.backward()
    of_critic.step()  # CHANGED
    of_generator.zero_grad()
    loss_g.backward()  # FAILED
    of_generator.step()
