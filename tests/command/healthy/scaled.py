import torch
from torch import nn

torch.manual_seed(0)

net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**15)
for k in range(6):
    opt.zero_grad(set_to_none=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = net(torch.randn(6, 3)).float().square().mean()
    scaler.scale(loss * (float("inf") if k < 2 else 1)).backward()  # the first scales are too large
    scaler.unscale_(opt)
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
