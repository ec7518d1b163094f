"""The charts of part 14c, and the code that only feeds them."""

from coursekit import chart


def valley(peak, *depths):
    """The peak over the length of the segments, a panel for each depth."""
    panels = {}
    for n in depths:
        measured = {length: peak(n, length) for length in (1, 2, 4, 8, 16, 32, 64) if length <= n}
        panels[f"{n} layers"] = {"checkpointed": measured, "without": {1: n, n: n}}
    return chart(panels, across="layers in a segment", up="activations at the peak", log=True, numbers=True)


def deeper(peak, *depths):
    """The peak over the depth: without checkpoints, and with segments of √n layers."""
    lines = {"without": {n: n for n in depths}, "segments of √n layers": {n: peak(n, int(n**0.5)) for n in depths}}
    return chart({"deeper and deeper": lines}, across="layers", up="activations at the peak", log=True, numbers=True)
