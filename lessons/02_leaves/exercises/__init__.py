"""Exercises of lesson 02: leaves, requires_grad, and who gets a gradient."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
