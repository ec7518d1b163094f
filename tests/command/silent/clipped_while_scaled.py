import torch
from torch import nn

torch.manual_seed(0)

net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for _ in range(4):
    opt.zero_grad()
    loss = net(torch.randn(6, 3)).square().mean()
    scaler.scale(loss).backward()
    nn.utils.clip_grad_value_(net.parameters(), 0.5)  # DOUBT scaler.unscale_(optimizer) before
    scaler.step(opt)
    scaler.update()
