"""A wrapper of the user's steps the optimizers; the loss of the second pass was computed before."""

import torch
from torch import nn


class Stepper:
    def __init__(self, optimizer):
        self.optimizer = optimizer

    def go(self):
        self.optimizer.step()  # CHANGED


body, head = nn.Linear(3, 3), nn.Linear(3, 1)
first = Stepper(torch.optim.SGD(body.parameters(), 0.1))
second = Stepper(torch.optim.SGD(head.parameters(), 0.1))
x = torch.randn(5, 3)
out = head(torch.tanh(body(x)))  # SAVED
out.mean().backward(retain_graph=True)
first.go()
second.go()  # CALLER
(-out.mean()).backward()  # FAILED
