"""The exercises of part 14b: what packing saves, and what it costs."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
