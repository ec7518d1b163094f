"""The charts of part 10c, and the code that only feeds them."""

import math

from coursekit import chart


def heights(height, runs):
    """The loss along each path, step by step, as a power of ten: {title: [(x, y), …]}."""
    lines = {
        name: {step: round(math.log10(height(*point)), 2) for step, point in enumerate(path)}
        for name, path in runs.items()
    }
    return chart({"the loss after each step, as a power of ten": lines}, across="step", up="power of ten")
