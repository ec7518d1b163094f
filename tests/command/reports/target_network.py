"""The averaged network is moved between the loss and its pass; no optimizer holds its parameters."""

import copy

import torch
from torch import nn


class Learner:
    def __init__(self):
        self.online = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
        self.target = copy.deepcopy(self.online)
        self.optimizer = torch.optim.SGD(self.online.parameters(), 0.1)

    def average(self):
        with torch.no_grad():
            for slow, fast in zip(self.target.parameters(), self.online.parameters(), strict=True):
                slow.lerp_(fast, 0.1)  # CHANGED

    def learn(self, x):
        loss = (self.online(x) - self.target(x)).pow(2).mean()  # SAVED
        self.average()  # CALLER
        self.optimizer.zero_grad()
        loss.backward()  # FAILED
        self.optimizer.step()


learner = Learner()
learner.learn(torch.randn(4, 3))
