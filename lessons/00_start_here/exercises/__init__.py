"""The exercises of lesson 00: start here, with the graph idea."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
