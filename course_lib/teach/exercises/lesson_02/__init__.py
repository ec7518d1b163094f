"""Exercises of lesson 02: leaves, requires_grad, and who gets a gradient."""

from course_lib.teach.exercises import in_order

EXERCISES = in_order(__name__)
