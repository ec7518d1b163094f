"""Exercises of lesson 06: what nodes keep, and until when."""

from course_lib.teach.exercises import in_order

EXERCISES = in_order(__name__)
