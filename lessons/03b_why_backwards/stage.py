"""The chart of part 03b: the price of both directions, as a network grows."""

from coursekit import chart

SIZES = (1, 4, 16, 64, 256, 1024)


def both_directions(chain, count, backward_sweeps, forward_sweeps):
    """Count both directions with n inputs and with n outputs; print the factor for n inputs, return the chart."""
    panels = {}
    for words, ends in (("n inputs, 1 output", lambda n: (n, 1)), ("1 input, n outputs", lambda n: (1, n))):
        backwards = {n: count(backward_sweeps, chain(*ends(n)))[1] for n in SIZES}
        forwards = {n: count(forward_sweeps, chain(*ends(n)))[1] for n in SIZES}
        panels[words] = {"backward sweeps": backwards, "forward sweeps": forwards}
    backwards, forwards = panels["n inputs, 1 output"].values()
    print("forwards / backwards, on the left:", [forwards[n] / backwards[n] for n in SIZES])
    return chart(panels, across="n", up="multiplications", log=True)
