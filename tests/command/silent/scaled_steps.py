import torch
from torch import nn

torch.manual_seed(0)

model, scaler = nn.Linear(3, 1), torch.amp.GradScaler("cpu")
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    optimizer.zero_grad()
    scaler.scale(model(torch.randn(6, 3)).pow(2).mean()).backward()
    optimizer.step()  # DOUBT still multiplied by the scale of the GradScaler: call scaler.step(optimizer)
