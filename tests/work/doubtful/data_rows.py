"""The rows of .data are written to: they are views, and share its counter, which is not the one that is compared."""

import torch
from torch import nn

torch.manual_seed(0)
layer = nn.Linear(4, 4)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for _ in range(2):
    h = torch.exp(layer(torch.randn(3, 4)))
    for row in h.data:
        row.div_(row.sum())  # DOUBT div_ wrote through .data to a tensor that ExpBackward0 had saved
    optimizer.zero_grad()
    h[:, 0].log().mean().backward()
    optimizer.step()
