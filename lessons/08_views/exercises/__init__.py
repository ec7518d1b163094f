"""Exercises of lesson 08: views share memory."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
