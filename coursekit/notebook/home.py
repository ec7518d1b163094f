"""`home()`: all lessons with links, minutes and the learner's progress, and what to do next.

A part, 05b, stands below its lesson; the advice passes over it, since no later lesson needs it.

It reads the notebooks that lie beside it and the progress file, so it has no list of its own.
"""

import html
import json
import re
from pathlib import Path

from backscope.pictures.style import LIGHT
from coursekit.judge import discovery
from coursekit.notebook.card import WASH
from coursekit.notebook.progress import Progress
from coursekit.own_engine import stages

TITLE = re.compile(r"# (\d\d[a-z]?) · (.+)")
MINUTES = re.compile(r"\*\*Minutes\*\* (\d+)")
NEXT = f"padding:12px 18px;margin:0 0 14px;border-left:4px solid {LIGHT['ok']};border-radius:8px;{WASH}"
WIDTH = 10  # characters of a bar in the text


def home(folder=".") -> "Home":
    """Return the table of lessons of a folder: shown under a cell, printed elsewhere."""
    return Home(lessons_in(Path(folder)), Progress().read())


def lessons_in(folder) -> list:
    """Return the lessons of a folder, in order: (number, file name, title, minutes). What is no lesson is left out."""
    found = []
    for path in sorted(folder.glob("[0-8][0-9]*_*.ipynb")):
        try:
            first = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
        except (OSError, ValueError, LookupError, TypeError):
            continue
        title, minutes = TITLE.match(first), MINUTES.search(first)
        if title and minutes and path.stem.count(".") == 0:
            found.append((title[1], path.name, title[2], int(minutes[1])))
    return found


class Home:
    """The table: one line for each lesson, with a bar for what is solved."""

    def __init__(self, lessons, progress):
        self.rows = [(*lesson, *solved(lesson[0], progress)) for lesson in lessons]

    @property
    def next(self) -> tuple:
        """The first lesson with something left to solve, or None; a part only when all lessons are solved."""
        open_ = [row for row in self.rows if row[4] < row[5]]
        return min(open_, key=lambda row: not row[0].isdigit(), default=None)

    def __str__(self):
        if not self.rows:
            return "There are no lessons in this folder. In a terminal, `make open` brings them."
        lines = [f"{self.size()} {self.advice()}"]
        for number, _, title, minutes, done, all_ in self.rows:
            name, more = title.partition(":")[0], "" if number.isdigit() else " (optional)"
            lines.append(f"{number:3} {bar(done, all_)}  {minutes:4} minutes  {name}{more}")
        return "\n".join(lines)

    __repr__ = __str__

    def size(self) -> str:
        """Say how many lessons and parts there are, and how long they take."""
        lessons, parts = ([row for row in self.rows if row[0].isdigit() is whole] for whole in (True, False))
        told = f"{len(lessons)} lessons, about {hours(lessons)} hours"
        return f"{told}, and {counted(parts)}, {hours(parts)} more." if parts else f"{told}."

    def advice(self) -> str:
        """Say what to do next, in a sentence."""
        if self.next is None:
            return "You have solved everything there is."
        begun = "Begin with" if self.next[0] == "00" and not self.next[4] else "Go on with"
        return f"{begun} lesson {self.next[0]}, {self.next[2].partition(':')[0]}."

    @property
    def html(self) -> str:
        """The same with links and coloured bars."""
        if not self.rows:
            return f"<p>{html.escape(str(self))}</p>"
        cell = "padding:5px 12px 5px 0;border:0;text-align:left;vertical-align:middle"
        rows = []
        for number, file, title, minutes, done, all_ in self.rows:
            name, _, question = title.partition(":")
            percent = round(100 * done / all_) if all_ else 0
            place, more = (cell, "") if number.isdigit() else (f"{cell};padding-left:34px", " · optional")
            rows.append(
                f'<tr><td style="{place}"><b><a href="{html.escape(file)}">{number} · {html.escape(name)}</a></b>{more}'
                f'<br><span class="ck-soft">{html.escape(question.strip())}</span></td>'
                f'<td class="ck-soft" style="{cell};white-space:nowrap">{minutes} min</td>'
                f'<td style="{cell}" title="{done} of {all_} solved">'
                '<div class="ck-bar" style="width:96px;height:8px;border-radius:4px;background:rgba(127,127,127,0.25)">'
                f'<div style="width:{percent}%;height:8px;border-radius:4px;background:{LIGHT["ok"]}"></div></div>'
                f'<span class="ck-soft" style="font-size:12px">{done} of {all_}</span></td></tr>'
            )
        advice = html.escape(self.advice())
        if self.next is not None:
            advice = f'<a href="{html.escape(self.next[1])}">{advice}</a>'
        return (
            f'<div class="ck-home"><p class="ck-next" style="{NEXT}"><b>{advice}</b></p>'
            f'<table style="border-collapse:collapse;width:100%">{"".join(rows)}</table></div>'
        )

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": str(self), "text/html": self.html}


def solved(number, progress) -> tuple:
    """Count (the solved tasks of a lesson, all of them); up to lesson 13 one's own engine is one of them."""
    module = discovery.exercises_module(number)
    ids = [exercise.id for exercise in module.EXERCISES]
    ids += [f"{number}.b"] if number.isdigit() and int(number) <= stages.LAST else []
    return sum(progress.get(each, {}).get("solved") is True for each in ids), len(ids)


def counted(parts) -> str:
    """Say how many parts there are."""
    return "an optional part" if len(parts) == 1 else f"{len(parts)} optional parts"


def hours(rows) -> int:
    """Return the hours that these lessons take together."""
    return round(sum(row[3] for row in rows) / 60)


def bar(done, all_) -> str:
    """Return a bar of characters: ####......"""
    filled = done * WIDTH // all_ if all_ else 0
    return "#" * filled + "." * (WIDTH - filled)
