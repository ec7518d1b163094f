"""The chart of part 05b: the record of the passes that are handed one gradient."""

import json

from coursekit import chart
from coursekit.records import records


def doubling():
    """Draw what `.grad` held in PyTorch after each pass, and what it should have held."""
    line = records()["handed again and again"].splitlines()[0]
    held = dict(enumerate(json.loads(line.partition(": ")[2]), 1))
    wanted = {number: float(number) for number in held}
    return chart({"x.grad after each pass": {"in PyTorch": held, "wanted": wanted}}, across="pass", up="x.grad")
