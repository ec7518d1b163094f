"""Lessons that do not keep all rules of "one idea a lesson" yet. The list only gets shorter: no lesson is put in.

A lesson that has come to keep a rule loses the rule's word here; a test asks for that. The rules:

    minutes   at most 90, and the title cell names them up to a tenth (python tools/lesson.py --minutes)
    spoilt    no prediction is answered by what stands below it in a learner's copy
    order     exercises and predictions are numbered as they are read
"""

STILL = {}
