import torch
from torch import nn

torch.manual_seed(0)

words, out = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)
out.weight = nn.Parameter(words.weight)  # DOUBT words.weight, out.weight are two parameters on one memory
optimizer = torch.optim.SGD([*words.parameters(), *out.parameters()], lr=0.1)
for _ in range(3):
    ids = torch.randint(0, 7, (6,))
    optimizer.zero_grad()
    nn.functional.cross_entropy(out(words(ids)), ids).backward()
    optimizer.step()
