"""Exercises of lesson 11: custom Functions, ctx and its methods, and four programs that people really write."""

from course_lib.teach.exercises import in_order

EXERCISES = in_order(__name__)
