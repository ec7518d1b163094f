"""Three hundred returned notebooks, hostile ones among them, graded as a teacher would: is every honest answer right?

    python tests/classroom/three_hundred.py [--copies 300] [--keep FOLDER]

Not part of `make test`: it takes some minutes. Exit status 1, and a list, when a grade is not the one that was to come.
"""

import argparse
import collections
import contextlib
import csv
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from course_lib.teach.classroom import grade  # noqa: E402
from tests.classroom import copies  # noqa: E402

LESSONS = range(1, 10)


class Listener:
    """Somebody on this machine who would hear of a student's process with a network."""

    def __init__(self):
        self.heard = 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        with contextlib.suppress(OSError):
            while True:
                self.socket.accept()[0].close()
                self.heard += 1


def make(folder, number, listener):
    """Write `number` copies; {(student, lesson): (kind, expected)}."""
    known, returned = {}, folder / "returned"
    (folder / "canary").mkdir(parents=True)
    (folder / "canary" / "exam.txt").write_text("not yours")
    (folder / "key.py").write_text("versions = happens = answer = 1")
    kinds = [*(("hostile", name) for name in copies.HOSTILE), *(("forged", name) for name in copies.FORGERIES),
             *(("broken", name) for name in copies.BROKEN)]  # fmt: skip
    for place in range(number):
        lesson, student = LESSONS[place % len(LESSONS)], f"student {place:03d}"
        path = returned / student / f"{lesson:02d}.ipynb" if place % 2 else returned / f"{student}_{lesson:02d}.ipynb"
        copy = copies.honest(lesson, copies.mixed(place))
        kind, name = kinds[place // 5] if place % 5 == 2 and place // 5 < len(kinds) else ("honest", "")
        source = copies.filled(
            {**copies.HOSTILE, **copies.FORGERIES}.get(name, ""), canary=folder / "canary", key=folder / "key.py",
            returned=returned, port=listener.port, id=f"{lesson:02d}.1",
        )  # fmt: skip
        if source:
            copies.with_cell(copy, source)
        copy.write(path)
        if kind == "broken":
            path.write_bytes(copies.BROKEN[name])
        known[student, f"{lesson:02d}"] = kind, name, copy.expected
    return known


def wrong_grades(known, rows):
    """Sentences on every grade that is not the one that was to come."""
    found = {(row["student"], row["lesson"]): row for row in rows}
    if set(found) != set(known):
        yield f"students and lessons differ: {sorted(set(found) ^ set(known))[:5]}"
    for (student, lesson), (kind, name, expected) in known.items():
        row = found.get((student, lesson), {})
        for id, (outcome, _) in expected.items():
            got = row.get(id.partition(".")[2])
            if ".p" in id:
                continue
            fine = (outcome,)
            if kind == "broken":
                fine = ("not attempted",)
            if kind == "forged" and "called" not in name:
                fine = (outcome, "not judged")
            if name == "solution read" and outcome != "correct":
                fine = ("almost", "not yet", "error in your code", "not attempted")
            if got not in fine:
                yield f"{student}, {id} ({kind} {name}): {outcome} was to come, {got} came"
        if kind == "broken" and "Not graded:" not in row.get("remarks", ""):
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
        folder = options.keep or Path(scratch) / "class"
        listener = Listener()
        known = make(folder, options.copies, listener)
        print(collections.Counter(kind for kind, _, _ in known.values()))
        before = {path: path.read_bytes() for path in sorted((folder / "returned").rglob("*.ipynb"))}
        began = time.monotonic()
        status = grade.grade(folder / "returned", folder / "graded")
        took = time.monotonic() - began
        with open(folder / "graded" / "grades.csv", encoding="utf-8-sig", newline="") as file:
            wrong = list(wrong_grades(known, csv.DictReader(file)))
        after = {path: path.read_bytes() for path in sorted((folder / "returned").rglob("*.ipynb"))}
        if status:
            wrong.append(f"grade ended with {status}")
        if after != before:
            wrong.append("returned files changed")
        if (folder / "canary" / "exam.txt").read_text() != "not yours":
            wrong.append("the canary was written to")
        if listener.heard:
            wrong.append(f"{listener.heard} connections came through")
        if b"987.25" in subprocess.run(["ps", "-eo", "args"], capture_output=True).stdout:
            wrong.append("a process was left behind")
        pages = len(list((folder / "graded" / "students").glob("*.html")))
        if pages != options.copies:
            wrong.append(f"{pages} pages")
    answers = sum(len(expected) for _, _, expected in known.values())
    print(f"{options.copies} copies with {answers} answers in {took:.0f} s on {os.cpu_count()} processors; "
          f"{len(wrong)} not as they should be")  # fmt: skip
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
