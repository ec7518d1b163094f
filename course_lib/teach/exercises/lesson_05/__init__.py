"""The exercises of lesson 05: leaf accumulation."""

from course_lib.teach.exercises import in_order

EXERCISES = in_order(__name__)
