"""Helpers that several exercises of lesson 03 share."""

import random


def numbers(*shape):
    """Nested lists of random numbers away from 0 and from each other's products."""
    if not shape:
        return random.choice((-1, 1)) * random.uniform(0.5, 2.0)
    return [numbers(*shape[1:]) for _ in range(shape[0])]


def plain(answer):
    """A prediction as numbers in lists: tensors and tuples become lists. None when it is anything else."""
    if hasattr(answer, "tolist"):
        answer = answer.tolist()
    if isinstance(answer, (list, tuple)):
        parts = [plain(part) for part in answer]
        return None if None in parts else parts
    return answer if type(answer) in (int, float) else None


WRITTEN = (
    "The same grad may be on its way to other nodes, and a saved operand belongs to the user: make a new tensor, "
    "without *=, += or a method ending in _."
)


def two_outputs(torch, u=2.0, v=3.0):
    """The tensors of the first question: two leaves and their product and sum, side by side."""
    u, v = torch.tensor(u, requires_grad=True), torch.tensor(v, requires_grad=True)
    return u, v, torch.stack([u * v, u + v])
