"""A GAN: the discriminator steps between the generator's forward and its backward pass."""

import torch
from torch import nn


def net(*widths):
    layers = []
    for a, b in zip(widths, widths[1:], strict=False):
        layers += [nn.Linear(a, b), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers[:-1])


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 16)
        self.last = nn.Linear(16, 1)

    def forward(self, x):
        h = torch.tanh(self.inner(x))
        return self.last(h)  # SAVED


def main():
    torch.manual_seed(0)
    generator, critic = net(4, 16, 2), Critic()
    opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
    opt_d = torch.optim.SGD(critic.parameters(), lr=1e-2)
    criterion = nn.BCEWithLogitsLoss()
    ones, zeros = torch.ones(8, 1), torch.zeros(8, 1)
    for _ in range(5):
        fake = generator(torch.randn(8, 4))
        loss_g = criterion(critic(fake), ones)
        loss_d = criterion(critic(torch.randn(8, 2)), ones) + criterion(critic(fake.detach()), zeros)
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()  # CHANGED
        opt_g.zero_grad()
        loss_g.backward()  # FAILED
        opt_g.step()


main()
