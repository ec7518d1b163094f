"""What `checkpoint(debug=True)` adds to an error: the operations of both runs, and where they first differ.

PyTorch: torch/utils/checkpoint.py (_get_debug_context_and_cb). There it is every operation, with the C++ stack of each;
here it is those that were recorded in the graph, each with its line of the program.
"""

import contextlib

from course_lib.autograd.anomaly_mode import describe, user_frame
from course_lib.engine.grad_mode import state
from course_lib.engine.graph import forward_name
from course_lib.engine.ops import INSTRUMENTS

REPORT = """{error}

An error happened while unpacking tensors. debug=True noted the recorded operations of both runs.

Operations executed during the original forward:

{first}

Operations executed during recomputation:

{second}

{difference}"""


class OperationLog:
    """The recorded operations of the first run and of the last second run: (operation, line of the program)."""

    def __init__(self):
        self.first, self.second = [], []

    def contexts(self):
        """Two contexts, as a context_fn returns them."""
        return noted(self.first), self.second_run()

    @contextlib.contextmanager
    def second_run(self):
        self.second.clear()
        with noted(self.second):
            yield

    def report(self, error):
        """The text of an error with both lists and the first difference."""
        return REPORT.format(
            error=error, first=listing(self.first), second=listing(self.second), difference=self.difference()
        )

    def difference(self):
        """Where the two runs first did different things."""
        for number, ((one, _), (other, _)) in enumerate(zip(self.first, self.second, strict=False), 1):
            if one != other:
                return f"They first differ at operation {number}: {one} in the forward pass, {other} when recomputed."
        if len(self.first) == len(self.second):
            return "Both runs recorded the same operations."
        shorter = min(len(self.first), len(self.second))
        if not shorter:
            return "One of the runs recorded nothing."
        same = "Operation 1 is the same" if shorter == 1 else f"Operations 1 to {shorter} are the same"
        return (
            f"{same} in both; then one of the runs has no more. (A second run may be ended early, in the operation "
            "that saves the last tensor that is needed.)"
        )


@contextlib.contextmanager
def noted(operations):
    """Note each operation that is recorded while the block runs."""

    def note(node, result):
        frame = user_frame()
        place = None if frame is None else (frame.f_code.co_filename, frame.f_lineno)
        form = f"{str(result.dtype).removeprefix('torch.')} {tuple(result.shape)}"
        operations.append((f"{forward_name(node)} -> {form}", place))

    INSTRUMENTS.append(note)
    state.recorders += 1
    state.update()
    try:
        yield
    finally:
        INSTRUMENTS.remove(note)
        state.recorders -= 1
        state.update()


def listing(operations):
    """One line for each operation."""
    lines = [f"  {number}. {what}, {describe(place)}" for number, (what, place) in enumerate(operations, 1)]
    return "\n".join(lines) or "  none"
