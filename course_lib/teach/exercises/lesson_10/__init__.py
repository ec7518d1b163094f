"""Exercises of lesson 10: a training loop, who reads what and who writes what."""

from course_lib.teach.exercises import in_order

EXERCISES = in_order(__name__)
