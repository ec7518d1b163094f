"""A GAN's trainer hands one fake batch to the step of either player."""

import torch
from torch import nn

generator, critic = nn.Sequential(nn.Linear(2, 3), nn.Tanh()), nn.Linear(3, 1)


def critic_step(fake):
    critic(fake).mean().backward()  # FIRST


def generator_step(fake):
    (-critic(fake).mean()).backward()  # JOINED FAILED


fake = generator(torch.randn(4, 2))  # BUILT
critic_step(fake)  # CALLER
generator_step(fake)  # CALLER
