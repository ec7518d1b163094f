"""The files that students have returned: which is whose, which lesson it is, and what is no notebook at all.

Nothing is run here and nothing is written. A notebook's lesson is read in its cells, since file names change on the
way; its student is the folder it lies in, or what its name says beside the lesson.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from coursekit.judge.discovery import number_of

LARGEST = 20 * 1024 * 1024  # bytes of a notebook: a lesson with all its pictures has about one
MOST_CELLS = 2000
LESSON = re.compile(r"\blesson\(\s*[\"']?(\d{1,2}[a-z]?)[\"']?\s*\)")
OLD_IMPORT = re.compile(r"\bfrom course_lib\.teach import\b")
TITLE = re.compile(r"#\s+(\d\d[a-z]?) · ")
IN_NAME = re.compile(r"(?<!\d)(\d\d?[a-z]?)(?![\da-z])", re.IGNORECASE)
PUBLISHED_ID = re.compile(r"lesson-(\d\d[a-z]?)-cell-\d+$")
IGNORED = {"__MACOSX", "desktop.ini", "Thumbs.db", "course_progress.json", "my_engine.py", "my_tests.py"}

# What learning platforms add to names: Moodle's folders, Canvas' and Blackboard's files, a browser's second download.
ADDED_BY_PLATFORMS = (
    re.compile(r"_\d+_assignsubmission_file_?$"),
    re.compile(r"(_LATE)?_\d{3,}_\d{3,}$"),
    re.compile(r"_attempt_\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d$"),
    re.compile(r"( ?\(\d+\)|-\d{1,2}| - Copy|\.kept-\d{4}-\d\d-\d\d(-\d+)?|\.new(-\d+)?)$"),
)


@dataclass
class Copy:
    """One returned notebook, as read."""

    student: str
    path: Path
    name: str  # below the folder that was given
    lesson: str | None = None
    edition: str = ""  # "0.9.0": a notebook of that course or an earlier one, with the numbers of its exercises
    cells: list = field(default_factory=list)  # {"id": text, "source": text}, code only
    problem: str = ""  # why it cannot be graded, in a sentence
    digest: str = ""


@dataclass
class Found:
    """Everything in a folder."""

    copies: list = field(default_factory=list)
    others: list = field(default_factory=list)  # (name, why it is not graded)
    nameless: bool = False  # files that tell no student: the folder's own name was taken


def look(folder, titles) -> Found:
    """Find all notebooks in a folder, each with its student and lesson. titles: {lesson: its file's stem}."""
    folder = Path(folder)
    found = Found()
    for path in walk(folder, folder, found):
        name = path.relative_to(folder).as_posix()
        if path.suffix.lower() != ".ipynb":
            found.others.append((name, not_a_notebook(path)))
            continue
        copy = read(path, name)
        copy.lesson = copy.lesson if copy.lesson is not None else lesson_in_name(path.stem, titles)
        copy.student = student_of(path.relative_to(folder), copy.lesson, titles)
        if not copy.student:
            copy.student, found.nameless = folder.resolve().name, True
        if not copy.problem and copy.lesson not in titles:
            found.others.append((name, "it is none of the lessons with exercises"))
            continue
        found.copies.append(copy)
    return found


def walk(folder, root, found) -> Iterator:
    """Yield the files of a folder in order, without hidden ones; links are not followed."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in IGNORED:
            continue
        if path.is_symlink():
            found.others.append((path.relative_to(root).as_posix(), "links are not followed"))
        elif path.is_dir():
            yield from walk(path, root, found)
        elif path.is_file():
            yield path


def not_a_notebook(path) -> str:
    """Say why a file that is no notebook is left out."""
    if path.suffix.lower() in (".zip", ".7z", ".tar", ".gz", ".rar"):
        return "it is an archive: unpack it, and grade again"
    return "it is no notebook"


# ---------------------------------------------------------------------------------------------- one file


def read(path, name) -> Copy:
    """Read one notebook's code cells and its lesson; `problem` says why there are none. Never raises."""
    copy = Copy("", path, name)
    try:
        size = path.stat().st_size
        if size > LARGEST:
            copy.problem = f"the file has {size / 1e6:.0f} MB; a lesson with all its outputs has about one."
            return copy
        data = path.read_bytes()
        copy.digest = hashlib.sha256(data).hexdigest()
        notebook = json.loads(data.decode("utf-8-sig"))
        copy.lesson, copy.cells = understood(notebook)
        copy.edition = "0.9.0" if any(OLD_IMPORT.search(cell["source"]) for cell in copy.cells) else ""
    except OSError as error:
        copy.problem = f"the file cannot be read: {error.strerror or error}."
    except UnicodeDecodeError:
        copy.problem = "the file is no text in UTF-8, as every notebook is."
    except RecursionError:
        copy.problem = "the file is no notebook: it is nested without end."
    except ValueError as error:
        copy.problem = "the file is empty." if not data.strip() else f"the file is no valid JSON: {error}."
    except (KeyError, TypeError, AttributeError, IndexError):
        copy.problem = "the file is JSON, but no notebook: it has no list of cells with sources."
    return copy


def understood(notebook) -> tuple:
    """Return (lesson, code cells) of a parsed notebook, of format 4 or an older one."""
    cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
    if not isinstance(cells, list):
        raise TypeError("cells")
    lesson, code, ids, titles = None, [], [], []
    for cell in cells[:MOST_CELLS]:
        source = cell.get("source", cell.get("input", ""))
        source = source if isinstance(source, str) else "".join(source)
        if cell["cell_type"] == "code":
            code.append({"id": str(cell.get("id", "")), "source": source})
            ids += PUBLISHED_ID.findall(str(cell.get("id", "")))
            if lesson is None and (match := LESSON.search(source)):
                lesson = number_of(match[1])
        elif match := TITLE.match(source):
            titles.append(match[1])
    if lesson is None:
        lesson = next(iter(titles), ids[0] if ids else None)
    return lesson, code


# ------------------------------------------------------------------------------------------------ whose it is


def lesson_in_name(stem, titles) -> str | None:
    """Return the lesson that a file name tells: 07_version_counters, NAME_07, or NAME-7."""
    for number, title in titles.items():
        if title.lower() in stem.lower():
            return number
    numbers = [number_of(each) for each in IN_NAME.findall(without_additions(stem))]
    return next((each for each in reversed(numbers) if each in titles), None)


def student_of(path, lesson, titles) -> str:
    """Name the student of a file: its first folder, or its name without the lesson's; '' when neither tells."""
    if len(path.parts) > 1:
        return without_additions(path.parts[0]).strip() or path.parts[0]
    name = without_additions(path.stem)
    title = titles.get(lesson, "")
    if title and title.lower() in name.lower():
        at = name.lower().index(title.lower())
        name = name[:at].rstrip("_- .") + " " + name[at + len(title) :].lstrip("_- .")
    elif lesson is not None:
        number = lesson.removeprefix("0")
        name = re.sub(rf"(?i)[_\-. ]*(lesson)?[_\-. ]*(?<!\d)0?{number}(?!\d)[_\-. ]*$", "", name)
        name = re.sub(rf"(?i)^(lesson)?[_\-. ]*0?{number}(?!\d)[_\-. ]*", "", name)
    return without_additions(name.strip("_- .")).strip("_- .")


def without_additions(name) -> str:
    """Return a name without what platforms and browsers add to it."""
    for _ in range(4):
        for added in ADDED_BY_PLATFORMS:
            name = added.sub("", name)
    return name
