import torch
from torch import nn

torch.manual_seed(0)

encoder, decoder = nn.Linear(4, 3), nn.Linear(3, 4)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
for _ in range(5):
    x = torch.randn(6, 4)
    z = encoder(x)
    code = z + (z.round() - z)  # DOUBT encoder.weight, encoder.bias is exactly zero in each step
    loss = (decoder(code) - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
