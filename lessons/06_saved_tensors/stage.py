"""The chart of lesson 06, and the code that only feeds it."""

from coursekit import chart


def two_gates(gates):
    """The gate that each step of the story used, and the gate of the `s` that the step left: [(used, present)]."""
    lines = {
        "used in training": {number: used for number, (used, _) in enumerate(gates, 1)},
        "of the present s": {number: present for number, (_, present) in enumerate(gates, 1)},
    }
    return chart({"two gates": lines}, across="step", up="gate")
