"""Helpers that the exercises of lesson 10 and of its parts share."""

import math
import random

from lessons.shared import numbers


def fresh(torch, lr=0.1, **settings):
    """The lesson's network, two layers of one weight each, both 1, and its optimizer."""
    model = torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False), torch.nn.Linear(1, 1, bias=False))
    for p in model.parameters():
        torch.nn.init.ones_(p)
    return model, torch.optim.SGD(model.parameters(), lr=lr, **settings)


def random_tensor(torch, *shape):
    """A tensor of random numbers, away from zero, of either sign."""
    values = [random.choice((-1, 1)) * value for value in numbers(math.prod(shape))]
    return torch.tensor(values).reshape(shape)


def tables_but(name, table):
    """A function that gives the source of a table of answers, with one of them changed."""
    return lambda letter, said: f"{name} = {table | {letter: said}!r}"
