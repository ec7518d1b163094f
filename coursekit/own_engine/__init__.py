"""The thread "Build your own engine": the learner's `my_engine.py`, which grows from lesson to lesson.

CONTRIBUTING.md says how it works, and which file holds what.
"""
