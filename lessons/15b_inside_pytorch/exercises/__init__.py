"""The exercises of part 15b: PyTorch's own source."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
