"""Exercises of lesson 03: vector-Jacobian products, their rules and their cost."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
