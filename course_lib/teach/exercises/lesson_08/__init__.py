"""Exercises of lesson 08: views share memory."""

from course_lib.teach.exercises import in_order

EXERCISES = in_order(__name__)
