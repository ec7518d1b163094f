"""The exercises of part 13b: tests that notice a defect."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
