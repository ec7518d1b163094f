"""The exercises of lesson 09: detach and the other ways out."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
