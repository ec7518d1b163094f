import torch
from torch import nn

torch.manual_seed(0)


class Halve(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        grad_output *= 0.5  # DOUBT the backward of Halve writes to the gradient that it is given
        return grad_output


model = nn.Linear(3, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    h = model(torch.randn(5, 3))
    optimizer.zero_grad()
    (Halve.apply(h) + h).pow(2).mean().backward()
    optimizer.step()
