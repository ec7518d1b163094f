"""The exercises of part 16c: programs that raise nothing."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
