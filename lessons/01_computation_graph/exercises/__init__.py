"""Exercises of lesson 01: reading and building graphs, and the pictures they ask about."""

from coursekit.judge.discovery import in_order

from .shared import pictures  # noqa: F401  (lesson 01 uses it)

EXERCISES = in_order(__name__)
