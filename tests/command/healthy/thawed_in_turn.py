import torch
from torch import nn

torch.manual_seed(0)

blocks = nn.ModuleList([nn.Linear(4, 4) for _ in range(4)])
head = nn.Linear(4, 1)
blocks.requires_grad_(False)
optimizer = torch.optim.AdamW(head.parameters(), lr=0.01)
for epoch in range(12):
    if epoch % 3 == 2:  # from the last block to the first one, each with a group of its own
        blocks[-(epoch + 1) // 3].requires_grad_(True)
        optimizer.add_param_group({"params": blocks[-(epoch + 1) // 3].parameters(), "lr": 0.001})
    h = torch.randn(6, 4)
    for block in blocks:
        h = h + block(h).relu()
    optimizer.zero_grad()
    head(h).pow(2).mean().backward()
    optimizer.step()
    for p in head.parameters():  # decay by hand
        p.data.add_(p.data, alpha=-0.001)
