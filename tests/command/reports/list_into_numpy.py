"""Losses in a list, and NumPy takes their mean: NumPy's own line asks for the values."""

import numpy as np
import torch

history = []
for _ in range(2):
    loss = torch.nn.Linear(2, 1)(torch.randn(4, 2)).pow(2).mean()
    history.append(loss)
print(float(np.mean(history)) > 0)  # FAILED
