"""What every lesson must be, as functions from a notebook to a list of problems in words.

The tests beside this file ask that the lists are empty; test_teeth.py breaks a healthy notebook in every
way and asks that they are not.
"""

import ast
import base64
import re
from pathlib import Path

import nbformat
import pytest

from coursekit.own_engine import stages
from tools import build_notebooks

ROOT = Path(__file__).resolve().parent.parent.parent
NOTEBOOKS = ROOT / "notebooks"

# An appendix (a number from 90 up) has no template, claims or exercises; all else here holds for it, too. That no
# lesson is missing is seen by test_no_claims_without_a_lesson, and by the README's table in tests/setup.
FOUND = build_notebooks.everything_named()
LESSONS = [path.parent.name for path in FOUND if build_notebooks.is_lesson(path)]
ALL = [path.parent.name for path in FOUND]

every_lesson = pytest.mark.parametrize("stem", LESSONS)
every_notebook = pytest.mark.parametrize("stem", ALL)


def load(stem: str):
    """The committed notebook of a lesson."""
    return nbformat.read(NOTEBOOKS / f"{stem}.ipynb", as_version=4)


def report(stem: str, problems: list[str]) -> str:
    """Problems as the text of a failing test."""
    return "\n".join([f"{stem}: {len(problems)} problems"] + [f"  - {p}" for p in problems])


def code_cells(nb) -> list:
    """All code cells, as pairs of their index in the notebook and the cell."""
    return [(i, cell) for i, cell in enumerate(nb.cells) if cell.cell_type == "code"]


def tags(cell) -> list[str]:
    """The tags of a cell."""
    return list(cell.metadata.get("tags", []))


def code_lines(source: str) -> list[str]:
    """Lines that are not blank."""
    return [line for line in source.splitlines() if line.strip()]


def printed(cell) -> str:
    """What a cell wrote to its standard output."""
    return "".join(o.text for o in cell.outputs if o.output_type == "stream" and o.name == "stdout")


def said(cell) -> str:
    """What a cell printed and the text of what it showed."""
    return "\n".join([printed(cell), *results(cell)])


def results(cell) -> list[str]:
    """The text form of everything a cell showed."""
    return [o.data.get("text/plain", "") for o in cell.outputs if "data" in o]


def output_texts(cell) -> list[tuple[str, str]]:
    """Every text in a cell's outputs with its kind, pictures unpacked to their SVG."""
    texts = []
    for output in cell.outputs:
        if output.output_type == "stream":
            texts.append((output.name, output.text))
        elif output.output_type == "error":
            texts.append(("error", f"{output.ename}: {output.evalue}"))
        for mime, data in output.get("data", {}).items():
            text = data if isinstance(data, str) else repr(data)
            texts.append((mime, PICTURE.sub("", text)))
            texts += [("picture", svg) for svg in pictures(text)]
    return texts


PICTURE = re.compile(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)")


def pictures(html: str) -> list[str]:
    """The SVG texts inside the data URIs of an HTML output."""
    return [base64.b64decode(data).decode("utf-8") for data in PICTURE.findall(html)]


def has_picture(cell) -> bool:
    """Does the cell show a picture that is also visible in an untrusted notebook?"""
    return any("<img" in o.get("data", {}).get("text/html", "") for o in cell.get("outputs", []))


FORBIDDEN = {
    "a memory address": re.compile(r"\b0x[0-9a-fA-F]{4,}\b"),
    "what looks like an id() or data_ptr()": re.compile(r"(?<![\d.])\d{13,16}(?![\d.])"),
    "an absolute path": re.compile(
        r"(?<![\w:/.<>])/(?:home|root|tmp|usr|Users|var|opt|mnt|private|work|workspaces|srv|etc)/"
        r"|\b[A-Za-z]:\\\w"
    ),
    "a time": re.compile(
        r"\b\d{1,2}:\d\d:\d\d\b|\b20\d\d-\d\d-\d\d\b|Wall time|CPU times"
        r"|\b\d+\.\d+ ?(?:s|sec|seconds|ms|µs|us|ns)\b|\b\d+ ?(?:ms|µs|ns)\b"
    ),
    "a call that the lesson makes wrongly": re.compile(r"\bL\.\w+ could not do this"),
}
# nbval compares none of these, so a lesson may not rest on them; a bare SVG is not shown when untrusted. A PNG may
# stand beside the HTML of a drawing, where the build has put it.
UNCOMPARED = ("image/png", "image/jpeg", "image/svg+xml", "application/vnd.jupyter.widget-view+json")
TAG = re.compile(r"engine|tells|C\d\d[a-z]?\.\d+|P\d+")
MARKER = re.compile(r"#\s*(NBVAL_\w+|PYTEST_VALIDATE_IGNORE_OUTPUT)")


def hygiene(nb) -> list[str]:
    """What in a notebook would differ from one machine or one run to the next, or hide from the checks."""
    problems = [
        f"cell {index}: tag {tag!r}; only claim ids, puzzles (P4), 'engine' and 'tells' are tags here"
        for index, cell in enumerate(nb.cells)
        for tag in tags(cell)
        if not TAG.fullmatch(tag)
    ]
    counts = [cell.execution_count for _, cell in code_cells(nb)]
    if counts != list(range(1, len(counts) + 1)):
        problems.append(f"execution counts are {counts}, not 1..{len(counts)}: build it in one run")
    for index, cell in code_cells(nb):
        problems += [f"cell {index}: {problem}" for problem in cell_hygiene(cell)]
    raw = sum(raw_tracebacks(cell) for _, cell in code_cells(nb))
    if raw > 1:
        problems.append(f"{raw} raw tracebacks; one is the most a lesson may show, use expect_error")
    return problems


def raw_tracebacks(cell) -> int:
    """How many tracebacks a cell shows, raised or printed."""
    raised = sum(o.output_type == "error" for o in cell.outputs)
    return raised + sum(text.count("Traceback (most recent call last)") for _, text in output_texts(cell))


def cell_hygiene(cell) -> list[str]:
    """The problems of one code cell."""
    problems = []
    if MARKER.search(cell.source):
        problems.append("a marker that tells nbval not to look")
    for line in cell.source.splitlines():
        if re.match(r"\s*[%!]", line):
            problems.append(f"a magic or shell line: {line.strip()!r}")
    if any(o.output_type == "stream" and o.name == "stderr" for o in cell.outputs):
        problems.append("it wrote to stderr; lessons show no warnings")
    for kind, text in output_texts(cell):
        for name, pattern in FORBIDDEN.items() if kind != "image/png" else ():  # its base64 holds all words by chance
            if found := pattern.search(text):
                problems.append(f"{name} in its {kind} output: {found[0]!r}")
        if kind in UNCOMPARED and not (kind == "image/png" and has_picture(cell)):
            problems.append(f"an output of kind {kind}, which nobody compares or some readers do not see")
    for output in cell.outputs:
        data = output.get("data", {})
        if PICTURE.search(data.get("text/html", "")) and "image/png" not in data:
            problems.append("a picture without its PNG, for viewers that show no HTML: make notebooks")
    return problems


LONGEST_LOOK = 25  # lines of the engine opened at once, without the line that names the file


def sections(nb) -> list[tuple[str, list]]:
    """The `## ` sections in order: heading and the (index, cell) pairs under it; what comes before is ''.

    A markdown cell may hold several headings; code below it belongs to the last of them.
    """
    found: list[tuple[str, list]] = [("", [])]
    for index, cell in enumerate(nb.cells):
        if cell.cell_type == "code":
            found[-1][1].append((index, cell))
            continue
        for part in re.split(r"^(?=## )", cell.source, flags=re.MULTILINE):
            if part.startswith("## "):
                heading, _, part = part.partition("\n")
                found.append((heading[3:].strip(), []))
            if part.strip():
                found[-1][1].append((index, nbformat.v4.new_markdown_cell(part)))
    return found


def template(nb, number: str) -> list[str]:
    """Where a lesson leaves the template."""
    story = promise_problems(nb) + story_problems(nb, number)
    return story + look_problems(nb) + import_problems(code_cells(nb), number)


ABILITIES = "After this lesson you can"
TITLE = {
    "first line `# NN · Name: the question?`": r"\A# \d\d[a-z]? · .+\?\n",
    "`**Minutes** 60`": r"\*\*Minutes\*\* \d+",
    "`**Needs** …`": r"\*\*Needs\*\*",
    "`**Out of scope** …`": r"\*\*Out of scope\*\*",
    "link to home.ipynb": r"\]\(home\.ipynb\)",
}
BUILD, EXERCISES, CLOSE, REST = "Build your own engine", "Exercises", "What you can now claim", "A rest"


def promise_problems(nb) -> list[str]:
    """The title cell: a question, three or four abilities, minutes, what it needs, links; and no claim."""
    title = nb.cells[0].source
    problems = [f"the title cell has no {what}" for what, words in TITLE.items() if not re.search(words, title)]
    abilities = re.findall(r"^- ", title.partition(ABILITIES)[2], flags=re.MULTILINE)
    if not 3 <= len(abilities) <= 4:
        problems.append(f"after '{ABILITIES}' the title cell lists {len(abilities)} abilities, not three or four")
    links = {*re.findall(r"\]\((\w+\.ipynb)\)", title)} - {"home.ipynb"}  # that one is made for each learner
    problems += [f"the title cell links to {n}, which is no notebook" for n in links if not (NOTEBOOKS / n).exists()]
    for heading, cells in sections(nb)[:-1]:
        if any(CLAIM.search(cell.source) for _, cell in cells if cell.cell_type == "markdown"):
            problems.append(f"claims stand under {heading or 'the title'!r}; their place is the last section")
    return problems


def story_problems(nb, number: str) -> list[str]:
    """The headings tell the story: questions, the learner's own engine (up to lesson 13), exercises, what is proved."""
    found = sections(nb)[1:]
    headings = [heading for heading, _ in found]
    problems = []
    if headings[-1:] != [CLOSE]:
        problems.append(f"the last section is {headings[-1:]}, not {CLOSE!r}")
    if number.isdigit() and int(number) <= stages.LAST and not any(heading.startswith(BUILD) for heading in headings):
        problems.append(f"no section '{BUILD}: …'")
    if sum(heading.endswith("?") for heading in headings) < 2:
        problems.append("fewer than two headings are questions")
    for heading, cells in found:
        code = [cell for _, cell in cells if cell.cell_type == "code"]
        source = "\n".join(cell.source for cell in code)
        place = f"{heading} (cell {cells[0][0]})" if cells else heading
        if not (heading.endswith("?") or heading == CLOSE or heading.startswith((BUILD, EXERCISES, REST))):
            problems.append(f"{place}: a heading is a question, or begins with {BUILD!r}, {EXERCISES!r} or {REST!r}")
        if "L.predict(" in source and not heading.endswith("?"):
            problems.append(f"{place}: a prediction stands under the question that it answers")
        if "L.predict(" in source and "L.predict(" in code[-1].source:
            problems.append(f"{place}: nothing is run after the prediction")
        if heading.startswith(EXERCISES) and "L.check(" not in source:
            problems.append(f"{place}: no L.check")
        if heading.startswith(BUILD) and "L.build(" not in source:
            problems.append(f"{place}: no L.build")
    for name in ("L.predict(", "L.check("):
        if not any(name in cell.source for _, cell in code_cells(nb)):
            problems.append(f"no {name}…) in the whole lesson")
    return problems


def look_problems(nb) -> list[str]:
    """Pictures are talked about; if the engine is opened, a little of it."""
    problems = []
    if not any(has_picture(cell) for _, cell in code_cells(nb)):
        problems.append("no picture in the whole lesson")
    for index, cell in code_cells(nb):
        following = nb.cells[index + 1 : index + 2]
        if has_picture(cell) and [each.cell_type for each in following] != ["markdown"]:
            problems.append(f"cell {index}: after its picture nothing says what was seen")
        if "show(" in cell.source:
            if (n := len(code_lines(said(cell))) - cell.source.count("show(")) > LONGEST_LOOK:
                problems.append(f"cell {index}: shows {n} lines of the engine, not {LONGEST_LOOK}")
    engine, all_cells = sum("engine" in tags(cell) for _, cell in code_cells(nb)), len(code_cells(nb))
    if 3 * engine > all_cells:
        problems.append(f"{engine} of {all_cells} code cells are tagged engine: at most a third")
    return problems


def import_problems(code: list, number: str) -> list[str]:
    """The setup cell has all the imports, in the shape that the swap test can change."""
    problems, setup = [], code[0][1].source
    if setup.splitlines()[0] != "import course_lib as torch":
        problems.append("the first line of the first code cell is not `import course_lib as torch`")
    line = f"L = lesson({int(number)})" if number.isdigit() else f'L = lesson("{number}")'
    if line not in setup.splitlines():
        problems.append(f"the first code cell has no line `{line}`")
    for index, cell in code[1:]:
        tree = ast.parse(cell.source)
        if any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(tree)):
            problems.append(f"cell {index}: an import outside the setup cell")
    return problems


PREDICTED = re.compile(r"^L\.predict\(\s*[\"'](\d\d[a-z]?\.\w+)[\"']", re.MULTILINE)


def given_away(nb, exercises) -> list[str]:
    """Predictions whose answer can be read above their cell. `reveals` in the record says which words would tell it.

    Each of these words must stand below, where the answer is seen, so that the list cannot become hollow.
    """
    problems, records = [], {exercise.id: exercise for exercise in exercises}
    texts = [readable(cell) for cell in nb.cells]
    for index, cell in code_cells(nb):
        for ident in PREDICTED.findall(cell.source):
            record = records[ident]
            if not record.reveals:
                problems.append(f"cell {index}: the record of {ident} has no `reveals`: which words tell the answer?")
            for phrase in record.reveals:
                places = [i for i, text in enumerate(texts) if one_line(phrase).lower() in text]
                if places and places[0] < index:
                    problems.append(f"{phrase!r} answers {ident}, in cell {index}, and stands above it, in {places[0]}")
                if not places or places[-1] <= index:
                    problems.append(f"{phrase!r}, which is to answer {ident} in cell {index}, stands nowhere below it")
    return problems


def spoilt(nb, exercises) -> list[str]:
    """Predictions that are answered below their cell before they are made: in a learner's copy, on the same screen.

    A copy has no outputs and no cells with the tag `tells`. What follows a prediction, down to the next one or to the
    next heading, that heading included, must not hold the words that tell the answer, in text or code. The next code
    cell runs the program with `L.run(…, after=…)`, which shows whatever comes, and is silent about what that is; so
    does every cell further down whose output has such words.
    """
    problems, records = [], {exercise.id: exercise for exercise in exercises}
    for index, cell in code_cells(nb):
        for ident in PREDICTED.findall(cell.source):
            told = [one_line(phrase).lower() for phrase in records[ident].reveals]
            found = answers_below(nb, index, ident, told)
            problems += [f"{ident}, asked in cell {index}: {problem}" for problem in found]
    return problems


HINTS = ("expect_error", "no error", "raises-exception")


def answers_below(nb, index, ident, told) -> list[str]:
    """What below a prediction answers it; told: the words that would."""
    problems, runs = [], []
    for place, cell in enumerate(nb.cells[index + 1 :], index + 1):
        if cell.cell_type == "markdown":
            heading = re.search(r"^## .*", cell.source, flags=re.MULTILINE)
            text = cell.source[: heading.end()] if heading else cell.source
            words = [] if "tells" in tags(cell) else [word for word in told if word in low(text)]
            problems += [f"{word!r} stands in cell {place}, which a copy shows" for word in words]
            if heading:
                break
            continue
        if "L.predict(" in cell.source:
            break
        if f'after="{ident}"' in cell.source:
            runs.append(place)
        elif any(word in readable(cell) for word in told):
            problems.append(f'cell {place} shows the answer without `L.run(…, after="{ident}")`')
        words = [word for word in told if word in low(cell.source)]
        problems += [f"{word!r} stands in the code of cell {place}" for word in words]
        if runs == [place]:
            problems += [f"the code of cell {place} has {word!r}" for word in HINTS if word in cell.source]
            if "#" in cell.source:
                problems.append(f"cell {place} has a comment; a comment there tells what is to come")
    first = next((place for place, cell in code_cells(nb) if place > index), None)
    if not runs or runs[0] != first:
        problems.append(f'the next code cell does not run its program with `L.run(…, after="{ident}")`')
    return problems


def low(text: str) -> str:
    """A text as one line in small letters."""
    return one_line(text).lower()


def readable(cell) -> str:
    """All that a reader sees of a cell, as one line in small letters."""
    shown = [text for kind, text in output_texts(cell) if kind != "picture"] if cell.cell_type == "code" else []
    return low("\n".join([cell.source, *shown]))


def in_order(nb) -> list[str]:
    """Where exercises or predictions are not numbered 1, 2, 3, … as they are read."""
    asked = [ident.partition(".")[2] for _, cell in code_cells(nb) for ident in ASKED.findall(cell.source)]
    problems = []
    for what, found in (
        ("predictions", [each for each in asked if each.startswith("p")]),
        ("exercises", [each for each in asked if not each.startswith("p")]),
    ):
        wanted = [f"{'p' * (what == 'predictions')}{number}" for number in range(1, len(found) + 1)]
        if found != wanted:
            problems.append(f"{what} are read in the order {', '.join(found)}, not {', '.join(wanted)}")
    return problems


ASKED = re.compile(r"^L\.(?:predict|check)\(\s*[\"'](\d\d[a-z]?\.p?\d+)[\"']", re.MULTILINE)


CLAIM = re.compile(r"^- \*\*(C\d\d[a-z]?\.\d+)\*\* +(.+?) *$", re.MULTILINE)


def one_line(text: str) -> str:
    """A text with all runs of white space as one space."""
    return " ".join(text.split())


def tested_claims(source: str) -> tuple[dict[str, str], list[str]]:
    """From the text of a claims.py: claim id -> docstring, and problems."""
    found: dict[str, str] = {}
    problems = []
    for node in ast.parse(source).body:
        if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test"):
            continue
        name = re.match(r"test_c(\d\d[a-z]?)_(\d+)_\w", node.name)
        if not name:
            problems.append(f"{node.name}: a claim's test is named like test_c07_1_words")
            continue
        claim = f"C{name[1]}.{name[2]}"
        if claim in found:
            problems.append(f"{node.name}: a second test of {claim}")
        if [arg.arg for arg in node.args.args][:1] != ["torch"]:
            problems.append(f"{node.name}: its first argument is not `torch`, so it runs on one library only")
        found[claim] = one_line(ast.get_docstring(node) or "")
    return found, problems


def claims(nb, number: str, test_source: str | None) -> list[str]:
    """Where title cell, tagged cells and tests of a lesson's claims disagree."""
    if test_source is None:
        return [f"claims.py is missing in the folder of lesson {number}"]
    place = "the last section"
    closing = "\n".join(c.source for h, cells in sections(nb)[-1:] for _, c in cells)
    listed = CLAIM.findall(closing)
    stated = {claim: one_line(sentence) for claim, sentence in listed}
    tagged = {tag for _, cell in code_cells(nb) for tag in tags(cell) if tag.startswith("C")}
    tested, problems = tested_claims(test_source)
    wanted = [f"C{number}.{k}" for k in range(1, len(listed) + 1)]
    if not listed or sorted([claim for claim, _ in listed], key=lambda claim: int(claim.partition(".")[2])) != wanted:
        problems.append(f"{place} lists {[c for c, _ in listed]}, wanted {wanted or 'some claims'}")
    for claim in sorted(stated.keys() | tagged | tested.keys()):
        places = {place: stated, "a cell's tags": tagged, "the claims tests": tested}
        missing = [name for name, place in places.items() if claim not in place]
        problems += [f"{claim} is missing from {name}" for name in missing]
        if claim in stated and claim in tested and stated[claim] != tested[claim]:
            problems.append(f"{claim}: {place} says {stated[claim]!r}, its test says {tested[claim]!r}")
    shown = {tag: cell for _, cell in code_cells(nb) for tag in tags(cell)}
    for claim in sorted(stated.keys() & tagged):
        cell = shown[claim]
        if not (said(cell).strip() or "assert " in cell.source):
            problems.append(f"{claim}: its cell neither prints nor asserts anything")
    return problems
