"""Exercises of lesson 04: the engine. Toy engines on graphs of plain numbers, and the real one's queue."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
