"""A transformer that masks its scores out of place."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        mask = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
        weights = torch.softmax(self.query(x) @ self.key(x).mT, dim=-1)
        weights = weights.masked_fill(mask, 0.0)
        return x + weights @ self.value(x)


torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
model = nn.Sequential(nn.Embedding(10, 8), Attention(8), Attention(8), encoder, nn.Linear(8, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
tokens = torch.randint(0, 10, (2, 7))
for _ in range(3):
    loss = nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
print(round(loss.item(), 3))
