"""The exercises of part 05b: whose memory a gradient is."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
