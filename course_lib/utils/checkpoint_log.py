"""The log that `checkpoint(debug=True)` adds to an error: the operations of both runs, and where they first differ.

PyTorch: torch/utils/checkpoint.py (_get_debug_context_and_cb). There it is every operation, with the C++ stack of each;
here it is those that were recorded in the graph, each with its line of the program.
"""

import contextlib
from collections.abc import Iterator

from course_lib.autograd.anomaly_mode import describe, user_place
from course_lib.engine.grad_mode import state
from course_lib.engine.graph import forward_name
from course_lib.engine.ops import INSTRUMENTS

REPORT = """{}

An error happened while unpacking tensors. debug=True noted the recorded operations of both runs.

Operations executed during the original forward:

{}

Operations executed during recomputation:

{}

{}"""


class OperationLog:
    """The recorded operations of the first run and of the last second run: (operation, line of the program)."""

    def first(self) -> object:
        """Note what the first run does, while the block runs."""
        self.in_first = []
        return noted(self.in_first)

    def second(self) -> object:
        """Note what a second run does."""
        self.in_second = []
        return noted(self.in_second)

    def report(self, error: object) -> str:
        """Return the text of an error with both lists and the first difference."""
        pairs = zip(self.in_first, self.in_second, strict=False)
        found = [(number, one, other) for number, ((one, _), (other, _)) in enumerate(pairs, 1) if one != other]
        shorter = min(len(self.in_first), len(self.in_second))
        same = "Operation 1 is the same" if shorter == 1 else f"Operations 1 to {shorter} are the same"
        difference = (
            f"{same} in both; then one of the runs has no more. (A second run may be ended early, in the operation "
            "that saves the last tensor that is needed.)"
        )
        if found:
            number, one, other = found[0]
            difference = f"They first differ at operation {number}: {one} in the forward pass, {other} when recomputed."
        elif len(self.in_first) == len(self.in_second):
            difference = "Both runs recorded the same operations."
        return REPORT.format(error, listing(self.in_first), listing(self.in_second), difference)


@contextlib.contextmanager
def noted(operations: list) -> Iterator:
    """Note each operation that is recorded while the block runs."""

    def note(node, result):
        form = f"{str(result.dtype).removeprefix('torch.')} {tuple(result.shape)}"
        operations.append((f"{forward_name(node)} -> {form}", user_place()))

    INSTRUMENTS.append(note)
    state.recorders += 1
    state.update()
    try:
        yield
    finally:
        INSTRUMENTS.remove(note)
        state.recorders -= 1
        state.update()


def listing(operations: list) -> str:
    """Return one line for each operation."""
    lines = [f"  {number}. {what}, {describe(place)}" for number, (what, place) in enumerate(operations, 1)]
    return "\n".join(lines) or "  none"
