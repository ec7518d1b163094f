"""A language model whose LSTM state is carried from one batch to the next, with its history."""

import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self, letters=20, width=16):
        super().__init__()
        self.embed = nn.Embedding(letters, width)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, letters)

    def forward(self, text, state):
        out, state = self.lstm(self.embed(text), state)  # BUILT
        return self.head(out), state


def main():
    torch.manual_seed(0)
    model = Reader()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    text = torch.randint(0, 20, (2, 41))
    state = (torch.zeros(1, 2, 16), torch.zeros(1, 2, 16))
    for start in range(0, 40, 10):
        given, wanted = text[:, start : start + 10], text[:, start + 1 : start + 11]
        logits, state = model(given, state)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten())
        optimizer.zero_grad()
        loss.backward()  # FAILED
        optimizer.step()
        print(start)


if __name__ == "__main__":
    main()
