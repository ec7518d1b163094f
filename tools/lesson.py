#!/usr/bin/env python3
"""One lesson while it is written: build it, keep its rules, run its claims, run it again (also on PyTorch), prove it.

    python tools/lesson.py 07            (make lesson L=07)
    python tools/lesson.py 07b --watch   again at each save of the lesson's files (make lesson L=07b WATCH=1)
    python tools/lesson.py --minutes     the honest minutes of all lessons; nothing is run

It ends with the minutes: 200 words a minute, 12 seconds a line of code, 1.5 minutes a prediction, the exercises' own
minutes and those of the piece of one's own engine. What stands under "Exercises: more, if you like" is counted apart.
The title cell and README may differ from the minutes by a tenth.
"""

import argparse
import dataclasses
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from coursekit.judge.discovery import exercises_module, folder_of, lesson_numbers, number_of  # noqa: E402
from coursekit.judge.source import cells_of  # noqa: E402
from coursekit.own_engine import stages  # noqa: E402

WORDS, LINE, PREDICTION = 200, 12 / 60, 1.5  # words a minute; minutes a line, and a prediction
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Minutes:
    """The work that a lesson asks of its reader, and the minutes it takes."""

    words: int
    lines: int
    predictions: int
    exercises: float  # minutes
    build: float  # minutes
    more: float  # minutes of the exercises that are there for who likes more

    @property
    def total(self) -> float:
        """All of it, in minutes."""
        read = self.words / WORDS + self.lines * LINE + self.predictions * PREDICTION
        return read + self.exercises + self.build

    def __str__(self):
        return (f"{self.total:.0f} minutes: {self.words} words, {self.lines} lines of code, {self.predictions} "
                f"predictions, exercises {self.exercises:g}, own engine {self.build:g}"
                + (f"; and {self.more:g} for more exercises" if self.more else ""))  # fmt: skip


MORE = "## Exercises: more, if you like"


def without_more(cells) -> tuple:
    """Leave out the section of optional exercises: the cells without it, and the ids of the exercises it asks for."""
    core, ids, inside = [], [], False
    for cell in cells:
        headings = re.findall(r"^## .*", cell.source, re.MULTILINE) if cell.kind != "code" else []
        inside = headings[-1].startswith(MORE) if headings else inside
        if inside:
            ids += re.findall(r'L\.check\("([^"]+)"', cell.source) if cell.kind == "code" else []
            cell = dataclasses.replace(cell, source=cell.source.partition(MORE)[0] if headings else "")
        core.append(cell)
    return core, ids


def minutes(number) -> Minutes:
    """Count the honest minutes of a lesson."""
    number = number_of(number)
    words = lines = 0
    cells, optional = without_more(cells_of((folder_of(number) / "lesson.py").read_text(encoding="utf-8")))
    for cell in cells:
        if cell.kind == "code":
            lines += lines_in(cell.source)
        else:
            lines += sum(lines_in(code) for language, code in FENCE.findall(cell.source) if language == "python")
            words += len(re.sub(r"\]\([^)]*\)", "]", FENCE.sub("", cell.source)).split())
    records = exercises_module(number).EXERCISES
    asked = [record for record in records if record.kind != "predict"]
    more = sum(record.minutes for record in asked if record.id in optional)
    build = stages.MINUTES.get(int(number), 0) if number.isdigit() else 0
    counted = sum(record.minutes for record in asked) - more
    return Minutes(words, lines, len(records) - len(asked), counted, build, more)


def lines_in(code) -> int:
    """Count the lines of code that are not blank."""
    return sum(bool(line.strip()) for line in code.splitlines())


def steps(number) -> dict:
    """List what is run for a lesson: {words: command}. The proof needs no notebook, and runs beside the other two."""
    stem = folder_of(number).name
    tests = [f"notebooks/{stem}.ipynb", f"lessons/{stem}/claims.py"]
    tests += ["tests/lessons/test_lessons.py", "tests/lessons/test_swap.py"]
    python = [sys.executable, "-m"]
    strict = ["--nbval", "--nbval-current-env", "--nbval-sanitize-with", "tests/lessons/nbval_sanitize.cfg"]
    chosen = ["-k", stem, "-p", "tests.quick_start", "-p", "no:cacheprovider", *strict]
    return {
        "proof": [*python, "coursekit.judge.prove", number],
        "build": [sys.executable, "tools/build_notebooks.py", number],
        "rules, claims, nbval, swap": [*python, "pytest", "-q", *chosen, *tests],
    }


def once(number) -> bool:
    """Run every step and tell the minutes; of a step that fails its last lines. True when all is well."""
    begun, commands = time.monotonic(), steps(number)
    proof = start(number, commands.pop("proof"))
    well = all([ended(words, start(number, command)) for words, command in commands.items()])
    well = ended("proof", proof) and well
    print(f"{number}: {minutes(number)}  ({time.monotonic() - begun:.0f} s)")
    return well


def start(number, command) -> tuple:
    """Start a process for a command of one lesson, whose words go to a file."""
    only = {**os.environ, "COURSE_LESSON": folder_of(number).name}
    log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
    process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, env=only)
    return process, log


def ended(words, running) -> bool:
    """Wait for a process; say whether all was well, and the last lines of what it said if not."""
    process, log = running
    verdict = "ok" if process.wait() == 0 else "FAILED"
    print(f"{words:30} {verdict}", flush=True)
    if process.returncode:
        log.seek(0)
        print("\n".join(log.read().strip().splitlines()[-60:]), flush=True)
    return process.returncode == 0


def saved(number) -> float:
    """Return when a file of the lesson was last changed."""
    files = [path for path in folder_of(number).rglob("*.py") if "__pycache__" not in path.parts]
    return max(path.stat().st_mtime for path in files)


def watch(number) -> None:
    """Run the steps at once, and again whenever a file of the lesson is saved, until Ctrl-C."""
    seen = None
    while True:
        if saved(number) != seen:
            seen = saved(number)
            once(number)
            print("Waiting for the next save; Ctrl-C ends it.", flush=True)
        time.sleep(0.5)


def main(arguments=None) -> int:
    """Run the command; 0 when all is well."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lesson", nargs="?", type=number_of, help="the number: 07, or 07b for a part")
    parser.add_argument("--watch", action="store_true", help="again at each save")
    parser.add_argument("--minutes", action="store_true", help="only tell the minutes, of all lessons by default")
    options = parser.parse_args(arguments)
    have = lesson_numbers()
    if options.lesson not in [None, *have] or not (options.lesson or options.minutes):
        print(f"Name one lesson of {', '.join(have)}:  make lesson L=07")
        return 2
    if options.minutes:
        for number in [options.lesson] if options.lesson else have:
            print(f"{number:4}{minutes(number)}")
        return 0
    try:
        return watch(options.lesson) if options.watch else int(not once(options.lesson))
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
