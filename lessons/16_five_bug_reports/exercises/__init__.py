"""Exercises of lesson 16: five bug reports, and whether they are cured or only quiet."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
