"""Exercises of lesson 17: gradients, buffers and weights on two machines."""

from course_lib.teach.exercises import in_order

EXERCISES = in_order(__name__)
