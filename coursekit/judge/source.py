"""The cells of a lesson's source, `lesson.py` in jupytext's percent format, read without jupytext."""

import json
import re
from dataclasses import dataclass


@dataclass
class Cell:
    """One cell of a percent-format source."""

    number: int  # as the learner counts: all cells, from 1
    kind: str  # "code" or "markdown"
    tags: list
    source: str
    asks: str = ""  # the exercise it ends with a check of
    how: str = ""  # "check" or "predict"
    given: str = ""  # its text before the check: what must equal the starter


def cells_of(text) -> list:
    """Return the cells of a percent-format source; markdown without its comment marks."""
    cells, lines = [], None
    for line in text.splitlines():
        if line.startswith("# %%"):
            tags = re.search(r"tags=(\[[^\]]*\])", line)
            kind = "markdown" if "[markdown]" in line else "code"
            lines = []
            cells.append((kind, json.loads(tags[1]) if tags else [], lines))
        elif lines is not None:
            lines.append(re.sub(r"^# ?", "", line) if kind == "markdown" else line)
    cells = [(kind, tags, "\n".join(lines).strip("\n")) for kind, tags, lines in cells]
    return [Cell(number, *cell) for number, cell in enumerate(cells, 1)]
