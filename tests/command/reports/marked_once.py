"""A gradient penalty goes through a Function whose backward is marked once_differentiable, without need."""

import torch
from torch.autograd.function import once_differentiable


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @once_differentiable  # MARKED
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad


x = torch.randn(3, requires_grad=True)
(slope,) = torch.autograd.grad(Square.apply(x).exp().sum(), x, create_graph=True)  # RAN
slope.norm().backward()  # FAILED
