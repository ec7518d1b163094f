"""The exercises of part 14c: where to put checkpoints, and what they cost."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
