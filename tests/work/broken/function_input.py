"""A Function of one's own has saved its input, and the layer that calls it writes to that tensor afterwards."""

import torch
from torch import nn


class Clipped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors  # FAILED
        return grad * (x.abs() < 1)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        h = self.linear(x) * 3
        y = Clipped.apply(h)  # SAVED
        h += x  # CHANGED
        return y + h


def main():
    torch.manual_seed(0)
    model = nn.Sequential(Layer(), Layer())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        loss = model(torch.randn(5, 3)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
