"""A hook makes the embedding's output require grad, and the model then adds to it in place."""

import torch
from torch import nn

table = nn.Embedding(5, 3).requires_grad_(False)
table.register_forward_hook(lambda module, given, out: out.requires_grad_(True))  # MADE
layer = nn.Linear(3, 1)
h = table(torch.tensor([1, 2]))
h += 0.5  # FAILED
layer(h).sum().backward()
