"""Exercises of lesson 13: gradients that are differentiated again, and how their history gets lost."""

from course_lib.teach.exercises import in_order

EXERCISES = in_order(__name__)
