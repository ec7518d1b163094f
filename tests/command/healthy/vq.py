import torch
from torch import nn

torch.manual_seed(0)

encoder, decoder, codes = nn.Linear(4, 3), nn.Linear(3, 4), nn.Embedding(5, 3)
opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters(), *codes.parameters()])
for _ in range(4):
    x = torch.randn(6, 4)
    z = encoder(x)
    q = codes(torch.cdist(z, codes.weight).argmin(1))
    straight = z + (q - z).detach()
    loss = (decoder(straight) - x).square().mean() + (q - z.detach()).square().mean()
    loss = loss + 0.25 * (z - q.detach()).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
