"""A penalty is computed in a function that somebody calls where recording is off."""

import torch

net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))


def penalty(x):
    x = x.clone().requires_grad_()
    value = net(x).sum()  # CUT
    (slope,) = torch.autograd.grad(value, x)  # FAILED
    return slope.norm()


@torch.no_grad()  # OFF
def validate(x):
    return penalty(x)  # CALLER


validate(torch.randn(3, 2))
