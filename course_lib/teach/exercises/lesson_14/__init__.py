"""Exercises of lesson 14: what nodes hold instead of tensors, and what is computed a second time."""

from course_lib.teach.exercises import in_order

EXERCISES = in_order(__name__)
