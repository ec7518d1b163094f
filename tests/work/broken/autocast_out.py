"""Under autocast a buffer is filled with out=, again and again, while its first contents are still needed."""

import torch
from torch import nn


class Mixer(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)
        self.register_buffer("scale", torch.ones(width))

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            h = torch.tanh(self.first(x))
            y = self.second(h) * self.scale  # SAVED
        self.scale.mul_(0.99)  # CHANGED
        return y.float()


def main():
    torch.manual_seed(0)
    model = Mixer()
    for _ in range(2):
        loss = model(torch.randn(4, 8)).square().mean()
        loss.backward()  # FAILED


main()
