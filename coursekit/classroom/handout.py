"""What a class gets: notebooks without answers, a key for the teacher, a slide for each lesson's question.

Nothing that is there is written over: a folder with something in it is refused.
"""

import html
import json
import re
from pathlib import Path

from coursekit.classroom.grade import ROOT, lesson_files
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


def handout(lessons="all", to="handout", out=print):
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


def numbers_in(words, known):
    """The lessons that "1-9" or "0,3,5-7,5b" names, in order, a range with its lessons' parts; None for other words."""
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


def write(path, text):
    """Write a new file; one that is there stays."""
    with open(path, "x", encoding="utf-8", newline="\n") as file:
        file.write(text)


def student_copy(notebook):
    """The text of a notebook as a learner begins with it, as `course.py open` makes it."""
    clear_outputs(notebook)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def opening(notebook):
    """(number, name, question, hook, abilities) from a notebook's first cell."""
    first = "".join(notebook["cells"][0]["source"])
    number, name, question = QUESTION.match(first).groups()
    hook = HOOK.search(first)
    abilities = ABILITIES.search(first)
    listed = [line[2:].rstrip(";.") for line in abilities[1].splitlines()] if abilities else []
    return number, name, question, hook[1] if hook else "", listed


# ---------------------------------------------------------------------------------------------------- the key


def key(number, notebook):
    """The key of one lesson, as Markdown."""
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


def code(source):
    return f"```python\n{source.strip()}\n```"


# --------------------------------------------------------------------------------------------------- the slides

SLIDES = """
* { box-sizing: border-box }
html { scroll-snap-type: y mandatory }
body { margin: 0; font-family: Helvetica, Arial, "DejaVu Sans", sans-serif; color: #1A1A1A; background: #FFFFFF }
section { height: 100vh; scroll-snap-align: start; display: flex; flex-direction: column; justify-content: center;
          padding: 6vh 9vw; border-bottom: 1px solid #DDDDDD; position: relative; overflow: hidden }
section::before { content: ""; position: absolute; left: 0; top: 0; bottom: 0; width: 1.4vw; background: #0072B2 }
.of { color: #00588A; font-size: min(2.4vw, 4vh); font-weight: 600; margin: 0 0 2vh }
h1 { font-size: min(4.6vw, 8vh); line-height: 1.18; margin: 0 0 4vh; font-weight: 700; text-wrap: balance }
.hook { font-size: min(2.0vw, 3.3vh); line-height: 1.5; color: #333333; margin: 0; max-width: 74vw }
code { font-family: Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 0.92em; background: #F0F0F0;
       padding: 0 0.2em; border-radius: 0.2em; white-space: nowrap }
@page { size: 13.33in 7.5in; margin: 0 }
@media print { section { height: 7.5in; break-after: page; border: 0 } }
"""
TURNING = """
addEventListener("keydown", event => {
  const step = {ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1}[event.key];
  if (!step) return;
  event.preventDefault();
  const slides = document.querySelectorAll("section");
  const now = Math.round(scrollY / innerHeight);
  slides[Math.min(Math.max(now + step, 0), slides.length - 1)].scrollIntoView();
});
"""


def slides(notebooks):
    """One page with a slide for each lesson: its question, and the story it begins with."""
    parts = []
    for notebook in notebooks.values():
        number, name, question, hook, _ = opening(notebook)
        asked = marked(question[:1].upper() + question[1:])
        parts.append(f'<section id="lesson-{number}"><p class="of">{number} · {marked(name)}</p>'
                     f'<h1>{asked}</h1><p class="hook">{marked(hook)}</p></section>')  # fmt: skip
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>The questions of the lessons</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{SLIDES}</style></head>\n<body>\n'
        + "\n".join(parts) + f"\n<script>{TURNING}</script></body></html>\n"
    )  # fmt: skip


def marked(words):
    """A line of Markdown as HTML: code and emphasis."""
    words = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(words.strip(), quote=False))
    return re.sub(r"\*([^*<>]+)\*", r"<em>\1</em>", words)
