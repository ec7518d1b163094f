"""Exercises of lesson 01: reading and building graphs, and the pictures they ask about."""

from course_lib.teach.exercises import in_order
from course_lib.teach.exercises.lesson_01.shared import pictures  # noqa: F401  (lesson 01 uses it)

EXERCISES = in_order(__name__)
