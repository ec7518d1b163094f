import copy
import io

import torch
from torch import nn

torch.manual_seed(0)

net = nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
total, seen, history, best, lowest = 0.0, 0, [], None, float("inf")
for _ in range(6):
    x, y = torch.randn(6, 3), torch.randint(0, 2, (6,))
    logits = net(x)
    loss = nn.functional.cross_entropy(logits, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss.item() * len(x)
    seen = seen + (logits.argmax(1) == y).sum()
    history.append(loss.detach())
    if loss.item() < lowest:
        lowest, best = loss.item(), copy.deepcopy(net.state_dict())
    torch.save(net.state_dict(), io.BytesIO())
print(len(history), seen.ndim, torch.stack(history).mean().ndim)
net.load_state_dict(best)
