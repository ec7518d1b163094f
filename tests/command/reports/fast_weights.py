"""Meta-learning: the fast weights are updated in place, and the inner pass has saved them."""

import torch


def adapt(weights, x):
    fast = [w.clone() for w in weights]
    for _ in range(2):
        loss = (x @ fast[0] @ fast[1]).pow(2).mean()
        slopes = torch.autograd.grad(loss, fast, create_graph=True)  # SAVED
        for w, g in zip(fast, slopes, strict=True):
            w -= 0.1 * g  # CHANGED
    return fast


weights = [torch.randn(3, 4, requires_grad=True), torch.randn(4, 1, requires_grad=True)]
x = torch.randn(5, 3)
fast = adapt(weights, x)  # CALLER
(x @ fast[0] @ fast[1]).mean().backward()  # FAILED
