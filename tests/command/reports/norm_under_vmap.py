"""Gradients of each sample, of a net whose norm keeps running statistics."""

import torch
from torch import nn
from torch.func import functional_call, grad, vmap

layers = [nn.Conv1d(2, 4, 3)]
layers.append(nn.BatchNorm1d(4))  # BUILT
net = nn.Sequential(*layers)
parameters, buffers = dict(net.named_parameters()), dict(net.named_buffers())


def loss(parameters, buffers, x):
    return functional_call(net, (parameters, buffers), x[None]).square().mean()  # FAILED


vmap(grad(loss), in_dims=(None, None, 0))(parameters, buffers, torch.randn(5, 2, 8))
