"""The pictures of the gallery: the cells of lessons/90_gallery/lesson.py, each run in a namespace of its own.

What they say is compared elsewhere: by nbval with the notebook, and in tests/lessons/test_swap.py on PyTorch.
"""

import ast
import linecache
import re
from pathlib import Path

SOURCE = (Path(__file__).resolve().parents[2] / "lessons" / "90_gallery" / "lesson.py").read_text(encoding="utf-8")
CELLS = re.compile(r"^# %% \[markdown\]\n(.*?)^# %%.*?\n(.*?)(?=^# %%|\Z)", re.MULTILINE | re.DOTALL)
SETUP, PICTURES, WORDS = "", {}, {}  # cells that show no picture; by heading: the code of a picture, the words above it

for words, code in CELLS.findall(SOURCE):
    heading = re.search(r"^# ### (.+)$", words, re.MULTILINE)
    if heading:
        PICTURES[heading[1]], WORDS[heading[1]] = code.strip(), words
    else:
        SETUP += code

DRAWN = [title for title, code in PICTURES.items() if code.splitlines()[-1].startswith("draw(")]


def picture(title):
    """What the cell below this heading shows, on our engine."""
    names = {}
    exec(SETUP, names)
    code = PICTURES[title]
    linecache.cache["<cell>"] = len(code), None, code.splitlines(keepends=True), "<cell>"  # as a notebook does
    body = ast.parse(code)
    last = ast.Expression(body.body.pop().value)
    exec(compile(body, "<cell>", "exec"), names)
    return eval(compile(last, "<cell>", "eval"), names)
