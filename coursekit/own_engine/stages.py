"""The reference engine as it is after each lesson, made from one text: engine_by_lesson.txt.

In that text a line belongs to the lesson of the heading above it, unless it ends in a mark:

    #07       there from lesson 07 on
    #00-03    there in lessons 00 to 03; a later lesson replaces it
    #08v      there only with the stretch of lesson 08, writes through views; #08n: only without it

Only the standard library is needed here: `course.py` reads this file before anything is installed.
"""

import re
from functools import cache
from pathlib import Path

TEXT = Path(__file__).with_name("engine_by_lesson.txt")
MARK = re.compile(r"  #(\d\d)(?:-(\d\d))?([vn]?)$")
HEADING = re.compile(r"# ---- lesson (\d\d)")
NAME = "my_engine.py"  # what the learner's file is called
LAST = 13  # the last lesson that adds lines
MINUTES = {  # what each lesson's piece takes: a line a minute, and less where the lesson gives the words
    0: 25, 1: 25, 2: 30, 3: 25, 4: 25, 5: 12, 6: 20, 7: 25, 8: 8, 9: 3, 10: 15, 11: 20, 12: 8, 13: 20,
}  # fmt: skip
GIVEN_UP_TO = "class Node:"  # what stands before it is given to the learner
BEGIN_HERE = """

# Your lines begin here. Lesson 00 says what to write, under "Build your own engine".
"""


@cache
def lines() -> list:
    """Return all lines of the text, as (words, first lesson, last lesson, variant)."""
    found, lesson = [], 0
    for raw in TEXT.read_text(encoding="utf-8").splitlines():
        mark, words = MARK.search(raw), MARK.sub("", raw).rstrip()
        if heading := HEADING.match(words):
            lesson = int(heading[1])
        first = int(mark[1]) if mark and not heading else lesson
        found.append((words, first, int(mark[2]) if mark and mark[2] else LAST, mark[3] if mark else ""))
    return found


def stage(lesson, views=False) -> str:
    """Write `my_engine.py` as after a lesson; `views`: with the stretch of lesson 08. ValueError for no lesson."""
    if lesson not in range(LAST + 1):
        raise ValueError(f"no stage {lesson!r}: the engine grows in lessons 00 to {LAST}")
    left_out = "n" if views else "v"
    kept = [words for words, first, last, variant in lines() if first <= lesson <= last and variant != left_out]
    text = re.sub(r"\n{4,}", "\n\n\n", "\n".join(kept))
    text = re.sub(r"\n\n\n(?=    |import )", "\n\n", text)
    return text.rstrip() + "\n"


def write(lesson=None) -> None:
    """Write `my_engine.py` as it is after a lesson, or its beginning, and keep what was there under another name.

    For the course in a browser, where there is no terminal; elsewhere `course.py my-engine` does it.
    """
    path, text, said = Path(NAME), start() if lesson is None else stage(lesson), ""
    if path.exists() and path.read_bytes() not in (text.encode(), start().encode()):
        number = 1
        while (kept := Path(f"my_engine.kept-{number}.py")).exists():
            number += 1
        kept.write_bytes(path.read_bytes())
        said = f" What you had is {kept}."
    path.write_text(text, encoding="utf-8")
    what = "the beginning of your engine" if lesson is None else f"the engine as it is after lesson {lesson:02d}"
    print(f"{NAME} is now {what}.{said}")


def start() -> str:
    """Return the text that a learner begins with: a box around an array, and nothing that knows about gradients."""
    return stage(0).partition(GIVEN_UP_TO)[0].rstrip() + "\n" + BEGIN_HERE
