"""A U-Net that adds what comes up into the skip connection, in place."""

import torch
from torch import nn
from torch.nn import functional as F


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.bottom = nn.Conv2d(4, 4, 3, padding=1)
        self.up = nn.Conv2d(4, 4, 3, padding=1)
        self.last = nn.Conv2d(4, 1, 1)

    def forward(self, x):
        skip1 = torch.tanh(self.down1(x))
        skip2 = torch.exp(-self.down2(F.avg_pool2d(skip1, 2)).abs())  # SAVED
        low = self.bottom(skip2[..., ::2, ::2].contiguous())
        high = F.interpolate(low, scale_factor=2)
        skip2 += high  # CHANGED
        return self.last(torch.cat([skip1, F.interpolate(self.up(skip2), scale_factor=2)], 1)[:, :4])


def train(model, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    image = torch.randn(1, 1, 8, 8)
    for _ in range(steps):
        optimizer.zero_grad()
        F.mse_loss(model(image), image).backward()  # FAILED
        optimizer.step()


if __name__ == "__main__":
    torch.manual_seed(0)
    train(UNet(), 2)
