"""The pages that a teacher reads: one of all students, and one of each that can be handed back.

They have no script, and fetch nothing.
"""

import collections
import functools
import html
import re
import unicodedata
from pathlib import Path

from coursekit.judge import exercise as ex
from coursekit.notebook import card
from coursekit.notebook.home import lessons_in
from coursekit.notebook.lesson import lesson

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
NOT_JUDGED = "not judged"
SIGNS = {**card.SIGNS, NOT_JUDGED: ("⊘", "#7A0060")}
ORDER = (ex.CORRECT, ex.ALMOST, ex.NOT_YET, ex.ERROR, NOT_JUDGED, ex.NOT_ATTEMPTED)
STYLE = """
:root { color-scheme: light }
body { font-family: Helvetica, Arial, "DejaVu Sans", sans-serif; color: #1A1A1A; background: #FFFFFF; line-height: 1.5;
       max-width: 1000px; margin: 24px auto 80px; padding: 0 20px }
h1 { font-size: 28px; margin: 0 0 4px } h2 { font-size: 20px; margin: 36px 0 8px } a { color: #00588A }
p.small, .small { color: #5A5A5A; font-size: 14px }
table { border-collapse: collapse; font-size: 15px; margin: 8px 0 } .wide { overflow-x: auto }
th, td { border-bottom: 1px solid #DDDDDD; padding: 5px 12px 5px 0; text-align: left; vertical-align: top }
th { font-weight: 600; white-space: nowrap }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.bar { display: flex; height: 14px; width: 220px; border: 1px solid #888888; background: #FFFFFF }
.bar i { display: block; height: 14px }
.note { border-left: 6px solid #9A5B00; background: #FFF8EC; padding: 6px 14px; margin: 8px 0; overflow-wrap: anywhere }
.name { overflow-wrap: anywhere }
.key span { margin-right: 18px; white-space: nowrap; display: inline-block }
details { margin: 4px 0 } summary { cursor: pointer }
@media print { details { display: none } }
"""
BARS = {ex.CORRECT: "#00694A", ex.ALMOST: "#E69F00", ex.NOT_YET: "#56B4E9", ex.ERROR: "#B3261E", NOT_JUDGED: "#7A0060",
        ex.NOT_ATTEMPTED: "#FFFFFF"}  # fmt: skip


def write(folder, all_graded, found, fence):
    """Write index.html and students/NAME.html into a new folder."""
    students = collections.defaultdict(list)
    for each in all_graded:
        students[each.student].append(each)
    names = file_names(students)
    (folder / "students").mkdir()
    for student, lessons in students.items():
        (folder / "students" / names[student]).write_text(student_page(student, lessons), encoding="utf-8")
    (folder / "index.html").write_text(index_page(students, names, found, fence), encoding="utf-8")


def file_names(students):
    """{student: a file name of plain letters}, each used once."""
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


def page(title, *parts):
    """A whole page."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{text(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>\n'
        f"<body>{''.join(parts)}</body></html>\n"
    )


def text(words):
    """Words of anybody's, safe in a page: no markup, and nothing that turns the line around."""
    plain = "".join(each if each.isprintable() or each in "\n\t" else " " for each in str(words))
    return html.escape(plain)


@functools.cache
def lesson_names():
    """{number: name} of the lessons."""
    return {number: title.partition(":")[0] for number, _, title, _ in lessons_in(NOTEBOOKS)}


def title_of(number):
    """What the pages call a lesson."""
    if number is None:
        return "A file that is no lesson we know"
    return f"Lesson {number}: {text(lesson_names().get(number, ''))}"


# ------------------------------------------------------------------------------------------------ one student


def student_page(student, lessons):
    """The page of one student."""
    told = f'<p class="small">{in_all(lessons)}</p>'
    parts = [f'<h1 class="name">{text(student)}</h1>', told, key()]
    for each in lessons:
        parts += lesson_part(each)
    return page(student, *parts)


def exercises_in(graded):
    """How many exercises were judged: none in a notebook that could not be read or run."""
    return 0 if graded.missing else sum(".p" not in id for id in graded.answers)


def in_all(lessons):
    """What a student has got right, with what is not known."""
    correct, total = sum(each.count(ex.CORRECT) for each in lessons), sum(map(exercises_in, lessons))
    missing = [f"{each.lesson or 'a file'} {each.missing}" for each in lessons if each.missing]
    said = [f"{correct} of {total} exercises correct"] if total or not missing else []
    return text("; ".join(said + missing))


def key():
    """What the signs and colours mean."""
    signs = (f'<span><b style="color:{SIGNS[each][1]}">{SIGNS[each][0]} {each}</b></span>' for each in ORDER)
    return f'<p class="small key">{"".join(signs)}</p>'


def lesson_part(graded):
    """One lesson on a student's page: remarks, exercises, predictions."""
    known = {} if graded.lesson is None else lesson(graded.lesson).exercises
    right = f" · {graded.count(ex.CORRECT)} of {exercises_in(graded)} correct"
    right = right if graded.answers and not graded.problem else ""
    yield f'<h2 id="lesson-{graded.lesson}">{title_of(graded.lesson)}{right}</h2>'
    yield f'<p class="small name">{text(", ".join(graded.files))}</p>'
    if graded.problem:
        yield f'<div class="note">{graded.missing.capitalize()}: {text(graded.problem)}</div>'
    for note in dict.fromkeys(graded.notes):
        yield f'<div class="note">{text(note)}</div>'
    if graded.problem:
        return
    for answer in graded.answers.values():
        if ".p" not in answer.id:
            yield answer_card(answer, known[answer.id])
    predictions = [answer for answer in graded.answers.values() if ".p" in answer.id]
    if predictions:
        yield f"<details><summary>{len(predictions)} predictions, noted and not graded</summary>"
        yield from (answer_card(answer, known[answer.id]) for answer in predictions)
        yield "</details>"


def answer_card(answer, exercise):
    """What became of one exercise, as the card that learners know."""
    sign, colour = SIGNS[answer.outcome]
    title = f'<div class="small">{text(answer.id)} · {text(exercise.title)}</div>'
    head = card.head("", sign, answer.outcome)
    parts = [title, head]
    if answer.outcome != ex.NOT_ATTEMPTED:
        details = [each for each in answer.details if not each.startswith("L.hint(")]
        parts += [card.prose(printable(answer.text)), card.prose(printable("\n".join(details)))]
    elif "no cell" in answer.text:
        parts.append(card.prose(answer.text))
    if answer.said is not None and answer.outcome != ex.NOT_ATTEMPTED:
        parts.insert(2, f"<div>predicted: <code>{text(answer.said)}</code></div>")
    if answer.asked > 1:
        parts.append(f'<div class="small">judged {answer.asked} times; the best counts</div>')
    if answer.printed:
        parts.append(card.folded("what the code printed", card.block(printable(answer.printed))))
    if answer.source and answer.said is None and answer.outcome != ex.NOT_ATTEMPTED:
        parts.append(card.folded("the cell", card.source(printable(answer.source[:6000]))))
    return card.paper(colour, *parts)


def printable(words):
    return "".join(each if each.isprintable() or each in "\n\t" else " " for each in words)


# ---------------------------------------------------------------------------------------------- all students


def index_page(students, names, found, fence):
    """The page of all students: a table, what the class found hard, and what was left out."""
    all_graded = [each for lessons in students.values() for each in lessons]
    numbers = sorted({each.lesson for each in all_graded if each.lesson is not None})
    parts = [
        "<h1>What came back</h1>",
        f'<p class="small">{len(students)} students, {sum(len(each.files) for each in all_graded)} notebooks. '
        f'The same as a table for a spreadsheet: <a href="grades.csv">grades.csv</a>. {text(fence)}</p>',
        '<p><a href="#students">Students</a> · <a href="#exercises">Exercises</a>',
        f' · <a href="#left-out">Left out ({len(found.others)})</a></p>' if found.others else "</p>",
        '<h2 id="students">Students</h2><p class="small">Exercises that are correct, of those the lesson has. '
        "! means that something happened which the student's page tells.</p>",
        students_table(students, names, numbers),
        '<h2 id="exercises">Exercises</h2>', key_of_bars(), exercises_table(all_graded, numbers),
    ]  # fmt: skip
    if found.others:
        count = f'<p class="small">Files that were not graded: {len(found.others)}</p>'
        parts.append(f'<h2 id="left-out">Left out</h2>{count}<ul>')
        parts += [f'<li class="name">{text(name)}: {text(why)}</li>' for name, why in found.others[:500]]
        parts.append("</ul>")
    return page("What came back", *parts)


def students_table(students, names, numbers):
    """One row for each student: correct exercises of each lesson, and their sum."""
    heads = "".join(f"<th>{number}</th>" for number in numbers)
    rows = [f"<tr><th>student</th>{heads}<th>sum</th></tr>"]
    for student, lessons in students.items():
        by_lesson = {each.lesson: each for each in lessons}
        cells = "".join(lesson_cell(by_lesson.get(number), names[student]) for number in numbers)
        correct, total = sum(each.count(ex.CORRECT) for each in lessons), sum(map(exercises_in, lessons))
        summed = f"{correct} of {total}" if total else "–"
        mark = " <b>!</b>" if None in by_lesson else ""
        link = f'<a class="name" href="students/{names[student]}">{text(student)}</a>{mark}'
        rows.append(f'<tr><td>{link}</td>{cells}<td class="number">{summed}</td></tr>')
    return f'<div class="wide"><table>{"".join(rows)}</table></div>'


def lesson_cell(graded, name):
    if graded is None:
        return '<td class="number">–</td>'
    words = f"{graded.count(ex.CORRECT)}/{exercises_in(graded)}{' !' if graded.notes else ''}"
    words = graded.missing or words
    return f'<td class="number"><a href="students/{name}#lesson-{graded.lesson}">{words}</a></td>'


def key_of_bars():
    box = '<i style="display:inline-block;width:12px;height:12px;border:1px solid #888888;background:{}"></i>'
    return '<p class="small key">' + "".join(f"<span>{box.format(BARS[each])} {each}</span>" for each in ORDER) + "</p>"


def exercises_table(all_graded, numbers):
    """One row for each exercise: how it went, and the mistakes that were named most often."""
    rows = ["<tr><th>exercise</th><th>how it went</th><th>correct</th><th>mistakes with a name</th></tr>"]
    for number in numbers:
        for exercise in lesson(number).exercises.values():
            if ".p" in exercise.id:
                continue
            asked = [each for each in all_graded if exercise.id in each.answers and not each.problem]
            answers = [each.answers[exercise.id] for each in asked]
            if answers:
                rows.append(exercise_row(exercise, answers))
    return f'<div class="wide"><table>{"".join(rows)}</table></div>'


def exercise_row(exercise, answers):
    counts = collections.Counter(answer.outcome for answer in answers)
    widths = {each: f"width:{100 * counts[each] / len(answers):.1f}%;background:{BARS[each]}" for each in ORDER}
    parts = "".join(f'<i style="{widths[each]}" title="{counts[each]} {each}"></i>' for each in ORDER)
    named = collections.Counter(answer.mistake for answer in answers if answer.outcome == ex.ALMOST and answer.mistake)
    said = {answer.mistake: answer.text for answer in answers if answer.mistake}
    mistakes = "".join(
        card.folded(f"{count} × {mistake.removeprefix('guard: ')}", card.prose(printable(said[mistake])))
        for mistake, count in named.most_common(3)
    )
    words = ", ".join(f"{counts[each]} {each}" for each in ORDER if counts[each])
    return (
        f"<tr><td>{exercise.id} · {text(exercise.title)}</td>"
        f'<td><div class="bar" role="img" aria-label="{words}">{parts}</div></td>'
        f'<td class="number">{counts[ex.CORRECT]} of {len(answers)}</td><td>{mistakes}</td></tr>'
    )
