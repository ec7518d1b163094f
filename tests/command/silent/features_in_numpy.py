import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.features, self.head = nn.Linear(3, 4), nn.Linear(4, 1)

    def forward(self, x):
        h = self.features(x)
        h = h.detach().cpu().numpy()  # DOUBT no gradient has ever reached model.features.weight, model.features.bias
        h = h / (h.std(axis=1, keepdims=True) + 1e-6)
        return self.head(torch.from_numpy(h))


class Trainer:
    def __init__(self):
        self.model = Model()
        self.opt = torch.optim.Adam(self.model.parameters())

    def step(self):
        loss = self.model(torch.randn(5, 3)).square().mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


trainer = Trainer()
for _ in range(3):
    trainer.step()
