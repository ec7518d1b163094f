"""The exercises of lesson 05: leaf accumulation."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
