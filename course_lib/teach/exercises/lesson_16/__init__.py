"""Exercises of lesson 16: five bug reports, and whether they are cured or only quiet."""

from course_lib.teach.exercises import in_order

EXERCISES = in_order(__name__)
