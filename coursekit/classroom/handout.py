"""Write what a class gets: notebooks without answers, a key for the teacher, a slide for each lesson's question.

Nothing that is there is written over: a folder with something in it is refused.
"""

import json
import re
from pathlib import Path

from markupsafe import Markup

from backscope.pictures.style import with_code
from coursekit.classroom.grade import ROOT, lesson_files
from coursekit.classroom.pages import render
from coursekit.cli.workspace import clear_outputs
from coursekit.judge import exercise as ex
from coursekit.judge.discovery import number_of
from coursekit.notebook.lesson import lesson
from coursekit.own_engine import stages

QUESTION = re.compile(r"#\s+(\d\d[a-z]?) · ([^:\n]+):\s*(.+)")
HOOK = re.compile(r"\*\*(.+?)\*\*\s*$", re.M)
ABILITIES = re.compile(r"After this lesson you can\n\n((?:- .+\n?)+)")
FOR_YOU = "For the teacher. Each wrong answer is recognised, and gets the sentence that stands below it."
HAND_IN = """\
# How to work with these notebooks, and how to hand them in

1. You need the course: its README says how to install it with one command. Put these notebooks beside your own copies
   (`my_course/`), or open them there.
2. Write your answers where a cell says `L.check(...)` or `L.predict(...)`. Leave those lines in their cells.
3. Before you hand in, choose *Run > Restart Kernel and Run All Cells*: what is graded is what that gives, from top to
   bottom. Names that you made in a cell and deleted afterwards are not there.
4. Save, and hand in the notebook itself (`.ipynb`), under the name it has. If there is one folder for the whole class,
   put your name before it: `NAME_07_version_counters.ipynb`.
"""


def handout(lessons="all", to="handout", out=print) -> int:
    """Write students/, key/ and slides.html for these lessons; the exit status."""
    files = lesson_files()
    chosen = numbers_in(lessons, files)
    if chosen is None:
        first, last = (int(each[:2]) for each in (min(files), max(files)))
        out(f"--lessons {lessons}: write numbers and ranges, such as 1-9 or 0,3,5-7. There are lessons {first} to "
            f"{last}.")  # fmt: skip
        return 1
    folder = Path(to)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        out(f"{folder} is there already and not empty, and may hold what you have changed. Nothing was written. Name "
            "another folder with --to, or move this one away.")  # fmt: skip
        return 1
    for each in ("students", "key"):
        (folder / each).mkdir(parents=True, exist_ok=True)
    notebooks = {number: json.loads(files[number].read_text(encoding="utf-8")) for number in chosen}
    for number, notebook in notebooks.items():
        write(folder / "students" / files[number].name, student_copy(notebook))
        write(folder / "key" / (files[number].stem + ".md"), key(number, notebook))
    home = json.loads((ROOT / "notebooks" / "home.ipynb").read_text(encoding="utf-8"))
    write(folder / "students" / "home.ipynb", student_copy(home))
    write(folder / "students" / stages.NAME, stages.start())
    write(folder / "students" / "how_to_hand_in.md", HAND_IN)
    write(folder / "slides.html", slides(notebooks))
    out(f"{folder / 'students'}: {len(chosen)} notebooks without answers, and how to hand them in.\n"
        f"{folder / 'key'}: for you alone: solutions, other right answers, wrong answers and what each is told.\n"
        f"{folder / 'slides.html'}: one slide for each lesson's question.")  # fmt: skip
    return 0


def numbers_in(words, known) -> list[str] | None:
    """List the lessons that "1-9" or "0,3,5-7,5b" names, in order, a range with its parts; None for other words."""
    if words.strip() == "all":
        return list(known)
    chosen = set()
    for part in words.replace(" ", "").split(","):
        match = re.fullmatch(r"(\d+[a-z]?)(?:-(\d+[a-z]?))?", part)
        try:
            first, last = (number_of(match[place] or match[1]) for place in (1, 2))
        except (TypeError, ValueError):
            return None
        if first not in known or last not in known:
            return None
        upto = last + "z" if match[2] and last.isdigit() else last
        chosen |= {number for number in known if first <= number <= upto}
    return sorted(chosen) or None


def write(path, text) -> None:
    """Write a new file; one that is there stays."""
    with open(path, "x", encoding="utf-8", newline="\n") as file:
        file.write(text)


def student_copy(notebook) -> str:
    """Return the text of a notebook as a learner begins with it, as `course.py open` makes it."""
    clear_outputs(notebook)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def opening(notebook) -> tuple:
    """Return (number, name, question, hook, abilities) from a notebook's first cell."""
    first = "".join(notebook["cells"][0]["source"])
    number, name, question = QUESTION.match(first).groups()
    hook = HOOK.search(first)
    abilities = ABILITIES.search(first)
    listed = [line[2:].rstrip(";.") for line in abilities[1].splitlines()] if abilities else []
    return number, name, question, hook[1] if hook else "", listed


# ---------------------------------------------------------------------------------------------------- the key


def key(number, notebook) -> str:
    """Return the key of one lesson, as Markdown."""
    _, name, question, _, _ = opening(notebook)
    parts = [f"# Key to lesson {number}: {name}", f"*{question}*", FOR_YOU]
    for exercise in lesson(number).exercises.values():
        kind = "prediction" if ".p" in exercise.id else exercise.kind
        parts += [f"## {exercise.id} · {exercise.title}",
                  f"*{kind}, {exercise.minutes} minutes, difficulty {exercise.difficulty} of 3*",
                  exercise.question, "**A solution**", code(exercise.solution), exercise.why]  # fmt: skip
        if exercise.alternatives:
            parts.append("**Right as well**")
            parts += [code(each) for each in exercise.alternatives]
        parts.append("**Wrong answers, and what each is told**")
        parts += [f"{code(each.answer)}\n\n> {ex.tidy(each.says) or each.name}" for each in exercise.mistakes]
        parts.append("**Hints**")
        parts.append("\n".join(f"{place}. {ex.tidy(hint)}" for place, hint in enumerate(exercise.hints, 1)))
    return "\n\n".join(parts) + "\n"


def code(source) -> str:
    return f"```python\n{source.strip()}\n```"


# --------------------------------------------------------------------------------------------------- the slides


def slides(notebooks) -> str:
    """Render a page with a slide for each lesson: its question, and the story it begins with."""
    return render("slides.html", slides=[opening(notebook)[:4] for notebook in notebooks.values()], marked=marked)


def marked(words) -> Markup:
    """Set a line of Markdown as HTML: code and emphasis."""
    return Markup(re.sub(r"\*([^*<>]+)\*", r"<em>\1</em>", with_code(words.strip())))
