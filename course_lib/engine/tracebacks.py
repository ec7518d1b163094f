"""The traceback that anomaly mode keeps of each node, and the warning that shows it when the node's backward fails.

PyTorch: torch/csrc/autograd/python_anomaly_mode.cpp.
"""

import sys
import traceback
import warnings

from course_lib.engine.anomaly import describe, user_frame
from course_lib.engine.grad_mode import state
from course_lib.engine.graph import AccumulateGrad

MADE_BEFORE = "No forward pass information available. Enable detect anomaly during forward pass for more information."
CAUSED = "Traceback of forward call that caused the error:\n"
INDUCED = "Traceback of forward call that induced the previous calculation:\n"

LOOK_ABOVE = (
    " Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable in "
    "question was changed in there or anywhere later. Good luck!"
)


def note_node(node, result):
    """Called for every node made in anomaly mode: where in the program, and in which node's backward, if in one."""
    lines = traceback.format_stack(user_frame())
    for made in (node, *made_beside(node, result)):
        made.metadata["traceback_"] = lines
        if state.evaluating is not None:
            made.metadata["parent_"] = state.evaluating


def made_beside(node, result):
    """The nodes that came with this one: of leaves that were not used before, of a view and its base after a write."""
    beside = [edge for edge in node.edges if type(edge) is AccumulateGrad and edge.notes is None]
    view = getattr(getattr(result, "meta", None), "view", None)
    if view is not None and getattr(view.base.node, "fn", None) is node:  # CopySlices
        beside += [view.base.node, result.node]
    return beside


def report(node):
    """Warn where a node that failed comes from, and what the node comes from in whose backward it was made."""
    name, noted = node.name(), node.notes or {}
    lines = noted.get("traceback_")
    warn(f"Error detected in {name}. {MADE_BEFORE if lines is None else CAUSED + ''.join(lines)}")
    while (parent := noted.get("parent_")) is not None:
        name, noted = parent.name(), parent.notes or {}
        lines = noted.get("traceback_")
        if lines is None:
            warn(f"Error detected in {name}. {MADE_BEFORE}")
        else:
            warn(f"\n\nPrevious calculation was induced by {name}. {INDUCED}{''.join(lines)}")


def warn(text):
    """A warning beside an error: where warnings are errors it is only printed, and the first error goes on."""
    try:
        warnings.warn(text, UserWarning, stacklevel=5)
    except UserWarning as warning:
        sys.excepthook(type(warning), warning, None)


# --- what our version error says more than PyTorch's ---------------------------------------------------------


def line_of(node):
    """(file, line number) where a node was made: the last line of the traceback that was noted for it."""
    noted = (node.notes or {}).get("traceback_")
    _, file, rest = noted[-1].split('"', 2) if noted else (None, None, None)
    return file and (file, int(rest.split(",")[1].removeprefix(" line ")))


def explain_change(kept, node):
    """The sentences that anomaly mode adds to a version error."""
    counter = kept.tensor.version
    lines = (counter.lines or {}) if counter is not None else {}
    changed = lines.get(kept.version + 1)
    return LOOK_ABOVE + (
        f" Anomaly mode knows more: {node.name()} saved the tensor at version {kept.version} in "
        f"{describe(line_of(node))}; it was first changed after that by {describe(changed)}."
    )
