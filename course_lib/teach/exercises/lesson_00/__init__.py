"""The exercises of lesson 00: start here, with the graph idea."""

from course_lib.teach.exercises import in_order

EXERCISES = in_order(__name__)
