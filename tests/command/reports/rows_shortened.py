"""An embedding with max_norm shortens rows of a weight that was used a line earlier."""

import torch
from torch import nn

items, user = nn.Embedding(5, 3, max_norm=0.1), torch.randn(2, 3, requires_grad=True)
scores = user @ items.weight.T  # SAVED
positive = items(torch.tensor([0, 1]))  # CHANGED
(scores.sum() + positive.sum()).backward()  # FAILED
