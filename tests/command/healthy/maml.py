import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)

net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
meta = torch.optim.Adam(net.parameters())
for _ in range(3):
    meta.zero_grad()
    total = 0.0
    for _ in range(2):
        fast = dict(net.named_parameters())
        loss = functional_call(net, fast, torch.randn(4, 3)).square().mean()
        grads = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
        fast = {name: p - 0.1 * g for (name, p), g in zip(fast.items(), grads, strict=True)}
        total = total + functional_call(net, fast, torch.randn(4, 3)).square().mean()
    total.backward()
    meta.step()
