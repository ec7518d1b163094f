"""A code is normalised after it was told to require grad, and goes to an optimizer in another function."""

import torch


class Codes:
    def __init__(self):
        base = torch.randn(4, 2, requires_grad=True)
        self.z = base / base.norm(dim=1, keepdim=True)  # MADE


def optimizer_of(codes):
    return torch.optim.Adam([{"params": [codes.z]}])  # FAILED


optimizer_of(Codes())  # CALLER
