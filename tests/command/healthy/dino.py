import torch
from torch import nn

torch.manual_seed(0)

student, teacher = nn.Sequential(nn.Linear(3, 6), nn.GELU()), nn.Sequential(nn.Linear(3, 6), nn.GELU())
student.last_layer, teacher.last_layer = nn.Linear(6, 2), nn.Linear(6, 2)
teacher.load_state_dict(student.state_dict())
teacher.requires_grad_(False)
opt = torch.optim.AdamW(student.parameters(), lr=1e-3)
for epoch in range(4):
    loss = -(teacher(torch.randn(4, 3)).softmax(1) * student(torch.randn(4, 3)).log_softmax(1)).sum(1).mean()
    opt.zero_grad()
    loss.backward()
    if epoch < 2:  # the last layer waits
        for name, p in student.named_parameters():
            if "last_layer" in name:
                p.grad = None
    opt.step()
    with torch.no_grad():
        for s, t in zip(student.parameters(), teacher.parameters(), strict=True):
            t.mul_(0.9).add_(s, alpha=0.1)
