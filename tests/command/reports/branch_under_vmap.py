"""A spring that pushes only below the floor, differentiated for many samples at once."""

import torch
from torch.func import jacrev, vmap


def force(height):
    if height.sum() < 0:  # FAILED
        return -50 * height
    return torch.zeros_like(height)


vmap(jacrev(force))(torch.randn(4, 1))  # VMAP
