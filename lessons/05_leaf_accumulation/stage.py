"""The charts of lesson 05, and the code that only feeds them."""

from fractions import Fraction

from coursekit import chart


def numbered(values):
    """A list as points over the steps, from 1 on."""
    return dict(enumerate(values, 1))


def curves(up, lines, level=None):
    """Lists of numbers as lines over the steps. level: (its name, its height), a thin line across."""
    found = {name: numbered(values) for name, values in lines.items()}
    if level:
        name, height = level
        found[name] = {1: height, max(map(max, found.values())): height}
    return chart({f"{up}, step by step": found}, across="step", up=up)


def beside(panels):
    """Two loops beside each other: {title: (slopes, what .grad held)}."""
    return chart(
        {
            title: {
                "the slope": numbered(slopes), "what .grad holds": numbered(held), "zero": {1: 0.0, len(held): 0.0}
            }
            for title, (slopes, held) in panels.items()
        },
        across="step", up="value",
    )  # fmt: skip


def shares(slopes):
    """Draw how much each sample counts: {way of cutting the batch: the slopes of the loss for the samples}."""
    found = {
        name: numbered([Fraction(slope).limit_denominator(9) for slope in values]) for name, values in slopes.items()
    }
    across = "sample (the fourth is the outlier)"
    return chart({"how much a sample counts": found}, across=across, up="slope", bars=True)
