"""What several exercises of lesson 07 share."""

import re

from lessons.shared import leaf, nodes_behind, numbers

IN_PLACE = "modified by an inplace operation"
VERSIONS = re.compile(r"is at version (\d+); expected version (\d+) instead")


def stale_slots(y):
    """Pairs (node, slot) behind y whose tensor was written to after it was saved."""
    found = []
    for node in nodes_behind(y):
        for name in dir(node):
            if name.startswith("_saved_"):
                try:
                    getattr(node, name)
                except RuntimeError as error:
                    if IN_PLACE in str(error):
                        found.append((node, name.removeprefix("_saved_")))
    return found


def small_network(torch, dtype=None, samples=3, inputs=2, hidden=2):
    """x, t and the four parameters of a network like the lesson's, as random numbers."""

    def rows(height, width, low=0.2, high=1.5):
        return [numbers(width, low, high) for _ in range(height)]

    dtype = dtype or torch.float32
    x, t = torch.tensor(rows(samples, inputs), dtype=dtype), torch.tensor(rows(samples, 1), dtype=dtype)
    shapes = {"W1": rows(inputs, hidden), "b1": numbers(hidden), "W2": rows(hidden, 1), "b2": numbers(1)}
    return x, t, {name: leaf(torch, values, dtype) for name, values in shapes.items()}
