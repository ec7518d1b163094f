import torch
from torch import nn

torch.manual_seed(0)

embed, out = nn.Embedding(9, 4), nn.Linear(4, 2)
opt = torch.optim.SGD([*embed.parameters(), *out.parameters()], lr=0.1)
for _ in range(3):
    tokens = torch.randint(0, 9, (5,))
    rows = embed(tokens).data  # DOUBT no gradient has ever reached embed.weight: `.data` is a tensor without
    loss = out(rows).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(len(rows))
