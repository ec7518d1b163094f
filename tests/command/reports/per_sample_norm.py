"""torch.func differentiates a model whose batch norm writes to its statistics."""

import torch
from torch import nn
from torch.func import functional_call, grad

net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))


def loss(weights, x):
    return functional_call(net, weights, (x,)).pow(2).mean()  # FAILED


grad(loss)({name: one.detach() for name, one in net.named_parameters()}, torch.randn(5, 3))
