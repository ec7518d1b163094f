"""Gradients that are set to zero in part, or cleared and then written by hand; a row written to under no_grad."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
table, layer = nn.Embedding(10, 4), nn.Linear(4, 10)
optimizer = torch.optim.SGD([*table.parameters(), *layer.parameters()], lr=0.1)
for _ in range(3):
    x = torch.randint(0, 10, (6,))
    optimizer.zero_grad()
    nn.functional.cross_entropy(layer(table(x)), x).backward()
    table.weight.grad[0].zero_()
    layer.weight.grad[:5].zero_()
    optimizer.step()
    with torch.no_grad():
        table.weight[0].zero_()

optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for _ in range(3):
    found = []
    for row in torch.randn(4, 4):
        layer.zero_grad(set_to_none=False)
        layer(row).pow(2).sum().backward()
        found.append([p.grad / p.grad.norm() for p in layer.parameters()])
    layer.zero_grad(set_to_none=False)
    for p, directions in zip(layer.parameters(), zip(*found, strict=True), strict=True):
        p.grad.add_(sum(directions))
    optimizer.step()

fast, meta = copy.deepcopy(layer), torch.optim.SGD(layer.parameters(), lr=0.1)
for p, f in zip(layer.parameters(), fast.parameters(), strict=True):
    p.grad = (p - f).detach()
meta.step()
