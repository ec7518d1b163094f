"""The exercises of part 12b: hooks of old scripts."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
