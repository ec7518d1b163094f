"""Exercises of lesson 11: custom Functions, ctx and its methods, and four programs that people really write."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
