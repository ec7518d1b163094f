"""The thread "Build your own engine": the learner's `my_engine.py`, which grows from lesson to lesson.

engine_by_lesson.txt has every line with its lessons, stages.py makes the file of each lesson from it, checkpoints.py
has the programs that it must run, mistakes.py what often goes wrong, judge.py answers `L.build("05")`.
"""
