import torch
from torch import nn

torch.manual_seed(0)

embed, net = nn.Embedding(9, 3), nn.Linear(3, 1)
slow, fast = torch.optim.SGD(embed.parameters(), lr=0.1), torch.optim.Adam(net.parameters())
for k in range(8):
    net(embed(torch.randint(0, 9, (5,)))).square().mean().backward()
    fast.step()
    fast.zero_grad()
    if k % 4 == 3:
        slow.step()
        slow.zero_grad()
