"""Exercises of lesson 15: a real model, read with what the lessons before have taught."""

from coursekit.judge.discovery import in_order

EXERCISES = in_order(__name__)
