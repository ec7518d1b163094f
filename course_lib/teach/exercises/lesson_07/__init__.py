"""Exercises of lesson 07: version counters, and the error about in-place operations."""

from course_lib.teach.exercises import in_order

EXERCISES = in_order(__name__)
