import torch
from torch import nn

torch.manual_seed(0)

net = nn.Linear(3, 2)
log_vars = nn.Parameter(torch.zeros(2))  # DOUBT log_vars received 4 gradients, and no optimizer has it
opt = torch.optim.Adam(net.parameters())
for _ in range(4):
    opt.zero_grad()
    losses = net(torch.randn(5, 3)).square().mean(0)
    (losses * torch.exp(-log_vars) + log_vars).sum().backward()
    opt.step()
