import torch
from torch import nn

torch.manual_seed(0)

model, states = nn.Linear(3, 2), []
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(6, 3)).pow(2).mean().backward()
    optimizer.step()
    states.append(model.state_dict())  # DOUBT steps have changed it since, and line 15 loads what the model is then
for state in states:
    member = nn.Linear(3, 2)
    member.load_state_dict(state)
