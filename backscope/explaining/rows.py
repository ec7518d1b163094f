"""The kind of row that `explain()` knows errors by: one row for each kind of message.

A row is matched by its pattern, a regular expression with PyTorch's key phrases; the named groups are the facts
that its sentences repeat. `seek` says what to look for in the picture (report.py), `silences` holds pairs: what
makes the message go away without repairing anything, and what that costs.
"""

from dataclasses import dataclass


@dataclass
class Row:
    """One kind of error: what happened, in three sentences; cures; what only silences it; where to read."""

    key: str
    pattern: str
    says: tuple
    cures: tuple
    silences: tuple = ()
    lesson: int | None = None
    seek: str = ""
