"""Three hundred returned notebooks, hostile ones among them, graded as a teacher would: is every honest answer right?

    python tests/classroom/three_hundred.py [--copies 300] [--keep FOLDER]

Not part of `make test`: it takes some minutes. Exit status 1, and a list, when a grade is not the one that was to come.
"""

import argparse
import collections
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from coursekit.classroom import grade  # noqa: E402
from tests.classroom import copies  # noqa: E402

LESSONS = [f"{number:02d}" for number in range(1, 10)]


def fill(school, number):
    """Put `number` copies into a school; {student: (kind, name of what is wrong with the copy)}."""
    kinds = [*(("hostile", name) for name in copies.HOSTILE), *(("forged", name) for name in copies.FORGERIES),
             *(("broken", name) for name in copies.BROKEN)]  # fmt: skip
    cells, made = {**copies.HOSTILE, **copies.FORGERIES, **copies.BROKEN}, {}
    for place in range(number):
        student = f"student {place:03d}"
        kind, name = kinds[place // 5] if place % 5 == 2 and place // 5 < len(kinds) else ("honest", "")
        copy = copies.honest(LESSONS[place % len(LESSONS)], copies.mixed(place))
        file = "{student}/{lesson}.ipynb" if place % 2 else "{student}_{lesson}.ipynb"
        school.add(student, copy, cells.get(name, ""), file)
        made[student] = kind, name
    return made


def wrong_grades(school, made):
    """Sentences on every grade that is not the one that was to come."""
    if set(school.rows) != set(made):
        yield f"students differ: {sorted(set(school.rows) ^ set(made))[:5]}"
        return
    for student, (kind, name) in made.items():
        outcomes = school.outcomes(student)
        for id, outcome in school.known[student].expected.items():
            fine = (outcome,)
            if kind == "broken":
                fine = ("not attempted",)
            if kind == "forged" and "called" not in name:
                fine = (outcome, "not judged")
            if name == "solution read" and outcome != "correct":
                fine = ("almost", "not yet", "error in your code", "not attempted")
            if outcomes[id] not in fine:
                yield f"{student}, {id} ({kind} {name}): {outcome} was to come, {outcomes[id]} came"
        if kind == "broken" and "Not read:" not in school.rows[student]["remarks"]:
            yield f"{student}: nothing says that the file is broken"


def main():
    """Make the copies, grade them, compare."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--copies", type=int, default=300)
    options.add_argument("--keep", type=Path, help="a new folder for the copies and the pages")
    options = options.parse_args()
    if grade.Grader().fence != "namespaces":
        print("Some of these notebooks kill and delete all they can reach, and this system gives no fence: not run.")
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        school = copies.School(options.keep or Path(scratch) / "class")
        made = fill(school, options.copies)
        print(collections.Counter(kind for kind, _ in made.values()))
        began = time.monotonic()
        school.grade()
        took = time.monotonic() - began
        wrong = [*wrong_grades(school, made), *school.trespasses()]
        if school.status:
            wrong.append(f"grade ended with {school.status}")
        if copies.still_running("987.25"):
            wrong.append("a process was left behind")
        pages = len(list((school.graded / "students").glob("*.html")))
        if pages != options.copies:
            wrong.append(f"{pages} pages")
    answers = sum(len(known.expected) for known in school.known.values())
    print(f"{options.copies} copies with {answers} answers in {took:.0f} s on {os.cpu_count()} processors; "
          f"{len(wrong)} not as they should be")  # fmt: skip
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
