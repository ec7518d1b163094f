"""Exercises of lesson 13: gradients that are differentiated again, and how their history gets lost."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
