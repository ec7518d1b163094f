"""Exercises of lesson 07: version counters, and the error about in-place operations."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
