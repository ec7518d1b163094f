"""The exercises of part 09b: carried states and two players."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
