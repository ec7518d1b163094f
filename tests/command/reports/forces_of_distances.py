"""Forces are a gradient, and a loss of forces a second one: cdist has only the first."""

import torch


def energy(positions, strength):
    return (torch.cdist(positions, positions) * strength).sum()  # RAN


positions, strength = torch.randn(5, 3).requires_grad_(), torch.ones((), requires_grad=True)
(forces,) = torch.autograd.grad(energy(positions, strength), positions, create_graph=True)
forces.pow(2).sum().backward()  # FAILED
