import torch
from torch import nn

torch.manual_seed(0)


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.body, self.out = nn.Embedding(9, 4), nn.Linear(4, 4), nn.Linear(4, 9, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, x):
        return self.out(self.body(self.embed(x)).tanh())


net = Language()
decay = [p for p in net.parameters() if p.dim() > 1]
rest = [p for p in net.parameters() if p.dim() <= 1]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}])
for _ in range(4):
    x = torch.randint(0, 9, (6,))
    opt.zero_grad()
    nn.functional.cross_entropy(net(x), x).backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
