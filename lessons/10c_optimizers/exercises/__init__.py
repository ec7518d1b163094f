"""The exercises of part 10c: what optimizers remember."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
