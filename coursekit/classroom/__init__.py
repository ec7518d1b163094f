"""For a teacher: what students are handed, and the grading of what they return. docs/classroom.md explains it.

Reading order: returned.py (which file is whose), keeper.py (the fence around one process), worker.py (what runs inside
it), grade.py (all of them), pages.py (what the teacher reads), handout.py.
"""
