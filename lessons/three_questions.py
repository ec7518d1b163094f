"""Answers to the second and the third question about a repair, in lesson 16 and its parts. Copy it where you like.

`torch` is the library that your tensors are of: `import torch`, and hand it on.
"""

import math


def slopes(torch, loss_of, parameters):
    """The slopes in eight random directions: as the gradients have them, and as they are measured. A sentence."""
    parameters = [p for p in parameters if p.requires_grad]
    starts, differences, measured = [p.detach().clone() for p in parameters], [], []

    def loss():
        torch.manual_seed(2)  # the same dropout each time
        return loss_of()

    with torch.random.fork_rng():
        now = loss()
        gradients = torch.autograd.grad(now, parameters, allow_unused=True)
        for seed in range(8):
            torch.manual_seed(seed)
            directions = [torch.randn(p.shape) for p in parameters]
            length = sum((d * d).sum().item() for d in directions) ** 0.5
            said = sum((g * d).sum().item() for g, d in zip(gradients, directions, strict=True) if g is not None)
            losses = {}
            with torch.no_grad():
                for size in (0.01, -0.01, 0):  # forwards, backwards, and back to where they were
                    for p, start, d in zip(parameters, starts, directions, strict=True):
                        p.copy_(start + size / length * d)
                    losses[size] = loss().item() if size else None
            measured.append((losses[0.01] - losses[-0.01]) / 0.02)
            differences.append(said / length - measured[-1])
    off, size = math.hypot(*differences), math.hypot(*measured)
    rounding = 3e-5 * abs(now.item())  # what the digits of a float32 loss leave open
    if max(off, size) < 10 * rounding:
        return "too small to tell"
    verdict = "the same" if off <= 0.03 * size + rounding else "DIFFERENT"
    return f"backward is off by {100 * off / size:.1f}% of the measured slopes: {verdict}"


def copies(model):
    """The numbers of all parameters by name, as they are now."""
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def moved(model, before):
    """The names of the parameters that are not as they were."""
    return [name for name, p in model.named_parameters() if (p - before[name]).abs().max().item() > 1e-6]
