"""LBFGS calls its closure several times, and the loss was computed once, before it."""

import torch

image = torch.rand(3, requires_grad=True)
optimizer = torch.optim.LBFGS([image], max_iter=3)


def iterate():
    out = image.exp()
    loss = (out - 2).pow(2).sum()  # BUILT

    def closure():
        optimizer.zero_grad()
        loss.backward()  # FIRST FAILED
        return loss

    optimizer.step(closure)  # CALLER


iterate()
