"""The exercises of part 03b: why backwards, and how to check a rule."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
