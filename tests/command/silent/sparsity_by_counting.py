import torch
from torch import nn

torch.manual_seed(0)

encoder, decoder = nn.Linear(4, 6), nn.Linear(6, 4)
opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
for _ in range(4):
    x = torch.randn(5, 4)
    code = encoder(x).relu()
    active = (code > 0.1).float()  # DOUBT a term of the loss has no history: gt gives integers or bools
    rate = active.mean()
    loss = nn.functional.mse_loss(decoder(code), x) + 0.5 * rate
    opt.zero_grad()
    loss.backward()
    opt.step()
