"""The last layer works on a detached copy: the body before it never gets a gradient."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        code = torch.tensor(torch.relu(self.body(x)).tolist())
        return self.head(code)


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(3):
    loss = nn.functional.cross_entropy(model(torch.randn(6, 4)), torch.randint(0, 2, (6,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # DOUBT model.body.weight, model.body.bias
