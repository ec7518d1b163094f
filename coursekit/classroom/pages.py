"""The pages that a teacher reads: one of all students, and one of each that can be handed back.

They have no script, and fetch nothing. What students wrote is escaped by the templates, all of it; the cards in them
are those of the notebook (card.py), which escapes by itself.
"""

import collections
import functools
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import jinja2
from markupsafe import Markup

from coursekit.judge import exercise as ex
from coursekit.notebook import card
from coursekit.notebook.home import lessons_in
from coursekit.notebook.lesson import lesson

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
NOT_JUDGED = "not judged"
BARS = {ex.CORRECT: "#00694A", ex.ALMOST: "#E69F00", ex.NOT_YET: "#56B4E9", ex.ERROR: "#B3261E", NOT_JUDGED: "#7A0060",
        ex.NOT_ATTEMPTED: "#FFFFFF"}  # fmt: skip
SIGNS = {each: {**card.SIGNS, NOT_JUDGED: ("⊘", "#7A0060")}[each] for each in BARS}


def write(folder, all_graded, found, fence) -> None:
    """Write index.html and students/NAME.html into a new folder."""
    students = collections.defaultdict(list)
    for each in all_graded:
        students[each.student].append(each)
    names = file_names(students)
    (folder / "students").mkdir()
    for student, lessons in students.items():
        page = render("student.html", title=student, lessons=lessons)
        (folder / "students" / names[student]).write_text(page, encoding="utf-8")
    (folder / "index.html").write_text(index_page(students, names, found, fence), encoding="utf-8")


def file_names(students) -> dict[str, str]:
    """Give each student a file name of plain letters, each used once."""
    found, taken = {}, set()
    for student in students:
        plain = unicodedata.normalize("NFKD", student).encode("ascii", "ignore").decode()
        stem = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_")[:60] or "student"
        number, name = 1, stem
        while name.lower() in taken:
            number += 1
            name = f"{stem}_{number}"
        taken.add(name.lower())
        found[student] = name + ".html"
    return found


# ---------------------------------------------------------------------------------------------- the templates


def render(template, **values) -> str:
    """Render a template of the folder templates/."""
    return templates().get_template(template).render(values)


@functools.cache
def templates() -> jinja2.Environment:
    """Make the environment that escapes every value, and knows cards: what a learner saw is what a page shows."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")), autoescape=True, finalize=printable,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    made.tests["prediction"] = is_prediction
    made.globals |= {each.__name__: each for each in (right, exercises_in, in_all, title_of, exercise, without_hints)}
    made.globals |= {each.__name__: escaping(each) for each in (card.head, card.prose, card.block, card.source)}
    made.globals |= {
        "signs": SIGNS,
        "bars": BARS,
        "paper": lambda colour, caller: Markup(card.paper(colour, caller())),
        "folded": lambda summary, inside: Markup(card.folded(printable(summary), inside)),
    }
    return made


def printable(words) -> object:
    """Put a space in the place of each sign that cannot be seen, such as those that turn a line around."""
    if type(words) is not str:  # a number, or Markup, whose words have been here
        return words
    return "".join(each if each.isprintable() or each in "\n\t" else " " for each in words)


def escaping(function) -> Callable:
    """Mark what a function of card.py returns as HTML: it escapes the words that it is given."""
    return lambda *words: Markup(function(*map(printable, words)))


# ------------------------------------------------------------------------------------------ what templates ask


@functools.cache
def lesson_names() -> dict[str, str]:
    """Return {number: name} of the lessons."""
    return {number: title.partition(":")[0] for number, _, title, _ in lessons_in(NOTEBOOKS)}


def title_of(number) -> str:
    """Name a lesson, as the pages call it."""
    if number is None:
        return "A file that is no lesson we know"
    return f"Lesson {number}: {lesson_names().get(number, '')}"


def is_prediction(id) -> bool:
    """Tell predictions, which are not graded, from exercises."""
    return ".p" in id


def exercise(id) -> ex.Exercise:
    """Return the record of an exercise."""
    return lesson(id.partition(".")[0]).exercises[id]


def right(graded) -> int:
    """Count the exercises of a student's lesson that are correct."""
    return graded.count(ex.CORRECT)


def exercises_in(graded) -> int:
    """Count the exercises that were judged: none in a notebook that could not be read or run."""
    return 0 if graded.missing else sum(not is_prediction(id) for id in graded.answers)


def in_all(lessons) -> str:
    """Say what a student has got right, with what is not known."""
    correct, total = sum(map(right, lessons)), sum(map(exercises_in, lessons))
    missing = [f"{each.lesson or 'a file'} {each.missing}" for each in lessons if each.missing]
    said = [f"{correct} of {total} exercises correct"] if total or not missing else []
    return "; ".join(said + missing)


def without_hints(details) -> list[str]:
    """Leave out the lines that tell a learner how to ask for a hint."""
    return [each for each in details if not each.startswith("L.hint(")]


# ---------------------------------------------------------------------------------------------- all students


def index_page(students, names, found, fence) -> str:
    """Render the page of all students: a table, what the class found hard, and what was left out."""
    all_graded = [each for lessons in students.values() for each in lessons]
    numbers = sorted({each.lesson for each in all_graded if each.lesson is not None})
    return render(
        "index.html", title="What came back", fence=fence, numbers=numbers, others=found.others,
        files=sum(len(each.files) for each in all_graded),
        students=[student_row(student, lessons, numbers, names) for student, lessons in students.items()],
        exercises=[*exercise_rows(all_graded, numbers)],
    )  # fmt: skip


def student_row(student, lessons, numbers, names) -> dict:
    """Collect a student's row: each lesson, their sum, and whether a file is no lesson."""
    by_lesson = {each.lesson: each for each in lessons}
    correct, total = sum(map(right, lessons)), sum(map(exercises_in, lessons))
    return {
        "student": student, "page": names[student], "lessons": [by_lesson.get(number) for number in numbers],
        "strays": None in by_lesson, "sum": f"{correct} of {total}" if total else "–",
    }  # fmt: skip


def exercise_rows(all_graded, numbers) -> Iterator:
    """Collect a row for each exercise: how it went, and the mistakes that were named most often."""
    for each in (each for number in numbers for each in lesson(number).exercises.values()):
        asked = [graded for graded in all_graded if each.id in graded.answers and not graded.problem]
        if not asked or is_prediction(each.id):
            continue
        answers = [graded.answers[each.id] for graded in asked]
        counts = collections.Counter(answer.outcome for answer in answers)
        named = collections.Counter(one.mistake for one in answers if one.outcome == ex.ALMOST and one.mistake)
        said = {answer.mistake: answer.text for answer in answers if answer.mistake}
        yield {
            "exercise": each, "counts": counts, "total": len(answers), "correct": counts[ex.CORRECT],
            "words": ", ".join(f"{counts[outcome]} {outcome}" for outcome in BARS if counts[outcome]),
            "mistakes": [
                (f"{count} × {name.removeprefix('guard: ')}", said[name]) for name, count in named.most_common(3)
            ],
        }  # fmt: skip
