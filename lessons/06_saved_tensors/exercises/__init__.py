"""Exercises of lesson 06: what nodes keep, and until when."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
