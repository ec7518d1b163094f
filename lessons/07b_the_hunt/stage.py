"""The script that part 07b hunts through, and what shows and runs it."""

SCRIPT = '''\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner, self.outer = nn.Linear(width, width), nn.Linear(width, width)
        self.gate = nn.Linear(width, width)
        self.relu = nn.ReLU(inplace=True)
        self.drop = nn.Dropout(0.2, inplace=True)

    def mix(self, x):
        h = self.relu(self.inner(x))
        return self.drop(self.outer(h))

    def weigh(self, x):
        return torch.sigmoid(self.gate(x))

    def forward(self, x):
        h = self.mix(x)
        h *= self.weigh(x)
        x += h
        return x


def batches(number, size=8):
    for _ in range(number):
        pixels = torch.rand(size, 16) * 255
        pixels /= 255
        yield pixels, pixels.sum(1, keepdim=True)


torch.manual_seed(0)
stem, blocks, head = nn.Linear(16, 16), nn.Sequential(Block(16), Block(16), Block(16)), nn.Linear(16, 1)
parameters = [*stem.parameters(), *blocks.parameters(), *head.parameters()]
optimizer = torch.optim.SGD(parameters, lr=0.01)

for pixels, target in batches(20):
    loss = ((head(blocks(stem(pixels))) - target) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
'''
OUT_OF_PLACE = {  # {line: (a write in place, the same out of place)}
    10: ("ReLU(inplace=True)", "ReLU()"),
    11: ("Dropout(0.2, inplace=True)", "Dropout(0.2)"),
    22: ("h *= self.weigh(x)", "h = h * self.weigh(x)"),
    23: ("x += h", "x = x + h"),
    30: ("pixels /= 255", "pixels = pixels / 255"),
}


def listing():
    """Print the script, with the numbers of its lines."""
    print("\n".join(f"{number:2}  {line}".rstrip() for number, line in enumerate(SCRIPT.splitlines(), 1)))


def train(torch, line=None):
    """Run the script on this library, with one of its lines out of place if a line is named."""
    text = SCRIPT if line is None else SCRIPT.replace(*OUT_OF_PLACE[line])
    text = text.replace("import torch\nfrom torch import nn\n", "\n\n", 1)  # the library is given
    exec(compile(text, "train.py", "exec"), {"torch": torch, "nn": torch.nn, "__name__": "train"})


def runs(torch, line):
    """Tell whether the script runs with this line out of place."""
    try:
        train(torch, line)
    except RuntimeError:
        return False
    return True


def tried(torch):
    """Print, for each write, whether the script runs if this one is out of place."""
    for line, (old, new) in OUT_OF_PLACE.items():
        print(f"line {line}, {old:27} as {new:22} {'it runs' if runs(torch, line) else 'the same error'}")
