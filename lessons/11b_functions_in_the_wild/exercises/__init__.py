"""The exercises of part 11b: Functions in the wild."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
