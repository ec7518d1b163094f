"""A small transformer whose attention weights are masked in place, after the softmax."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x, mask):
        scores = self.query(x) @ self.key(x).transpose(-2, -1) / x.shape[-1] ** 0.5
        weights = torch.softmax(scores, dim=-1)  # SAVED
        weights.masked_fill_(mask, 0.0)  # CHANGED
        return weights @ self.value(x)


class Model(nn.Module):
    def __init__(self, width=16, depth=3, words=50):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(Attention(width) for _ in range(depth))
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        mask = torch.ones(tokens.shape[1], tokens.shape[1]).triu(1).bool()
        x = self.embed(tokens)
        for block in self.blocks:
            x = x + block(x, mask)
        return self.head(x)


def main():
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens = torch.randint(0, 50, (4, 9))
    for step in range(3):
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        print("step", step)
        loss.backward()  # FAILED
        optimizer.step()


if __name__ == "__main__":
    main()
