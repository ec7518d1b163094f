"""Tell which lesson cell answers which puzzle, which exercise asks it, which tests hold the answer: docs/puzzles.md.

    python tools/puzzles.py [--check]     (make puzzles)

The puzzles are programs that practitioners got wrong, collected from forums and issue trackers. A lesson cell that
answers puzzle 4 carries the tag P4; an exercise that asks it names it in its record (`puzzles=(4,)`). This command
brings the two together and writes the table. It ends with 1, and says what is missing, when a puzzle of a lesson that
exists has no cell or no exercise; with --check also when the table on disk is not the one it would write.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from coursekit.judge.discovery import exercises_module, folder_of, number_in  # noqa: E402

TABLE = ROOT / "docs" / "puzzles.md"

PUZZLES = {  # number -> (the puzzle in a line, the lesson that answers it, itself or in a part)
    1: ("Which in-place edits break backward, and which do no harm?", 7),
    2: ("Is at version 1; expected version 0: versions of what, counted by whom?", 7),
    3: ("An in-place edit of a leaf: when at once an error, when fine?", 7),
    4: ("Why does the message speak of a *view* of a leaf when I wrote `b[:, 4] += 1`?", 8),
    5: ("Why does backward twice fail for one line and not for another?", 6),
    6: ("A part of the graph built once, outside the loop: what does the first pass free?", 6),
    7: ("A recurrent state carried over: detach it, or retain the graph?", 9),
    8: ("`retain_graph=True` cured the error. Why is there another one now?", 6),
    9: ("Two networks, two optimizers: where does detach go, and what does the wrong place cost?", 9),
    10: ("Why is `.grad` None after `.double()` or `* 0.01`?", 2),
    11: ("`loss.requires_grad = True` silences the error. Why does nothing learn?", 2),
    12: ("What does a forgotten zero_grad do, and why does `W -= lr * W.grad` raise?", 5),
    13: ("A gradient of zero or None: the same thing, with momentum?", 5),
    14: ("Micro-batches of unequal size: is the mean of the means the mean?", 5),
    15: ("detach, .data, clone: which share memory, and which the counter?", 9),
    16: ("Why does `total += loss` fill the memory?", 9),
    17: ("A tensor put on ctx instead of saved: what does it cost?", 11),
    18: ("create_graph in backward(): where is the cycle?", 13),
    19: ("Why may the pieces of split and unbind not be edited in place?", 8),
    20: ("In which order do hooks run, and what does each receive?", 12),
    21: ("inference_mode, no_grad, eval: what is the difference?", 9),
    22: ("Two forwards, one backward, with buffers that are broadcast: who changed the version?", 17),
    23: ("A pipeline stepped the weights before an older micro-batch came back. Now what?", 17),
    24: ("A checkpoint whose inputs require no grad: who decides?", 14),
    25: ("Why does a pass never finish when counts include edges that lead nowhere?", 4),
    26: ("Who owns the memory behind a gradient handed to backward?", 5),
}  # fmt: skip


def lesson_files() -> dict:
    """Return {lesson number: its source} of the lessons and parts that exist."""
    return {number_in(path.parent.name): path for path in sorted((ROOT / "lessons").glob("[0-8][0-9]*_*/lesson.py"))}


def cells(source) -> list:
    """Return (number of the cell, its tags) of a lesson's source."""
    found = re.split(r"^# %%(.*)$", source, flags=re.MULTILINE)[1::2]
    return [(i, re.findall(r'"([^"]+)"', head) if "tags=" in head else []) for i, head in enumerate(found)]


def claim_tests(number) -> dict:
    """Return {claim id: the name of its test} of a lesson."""
    path = folder_of(number) / "claims.py"
    names = re.findall(r"^def (test_c(\d\d[a-z]?)_(\d+)_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {f"C{lesson}.{claim}": name for name, lesson, claim in names}


def collect() -> dict:
    """Collect {puzzle: (cells as (lesson, number, claims), exercises as records)} over all lessons that exist."""
    found = {puzzle: ([], []) for puzzle in PUZZLES}
    for lesson, path in lesson_files().items():
        for number, tags in cells(path.read_text(encoding="utf-8")):
            for tag in tags:
                if re.fullmatch(r"P\d+", tag):
                    found[int(tag[1:])][0].append((lesson, number, [t for t in tags if t.startswith("C")]))
        records = exercises_module(lesson).EXERCISES
        for record in records:
            for puzzle in record.puzzles:
                found[puzzle][1].append(record)
    return found


def complaints(found) -> list[str]:
    """List what is missing, one sentence each."""
    said, lessons = [], lesson_files()
    for puzzle, (_, lesson) in PUZZLES.items():
        shown, asked = found[puzzle]
        if f"{lesson:02d}" not in lessons:
            continue
        if not any(int(number[:2]) == lesson for number, *_ in shown):
            said.append(f"Puzzle {puzzle}: no cell of lesson {lesson:02d} has the tag P{puzzle}.")
        if not asked:
            said.append(f"Puzzle {puzzle}: no exercise names it. Add {puzzle} to the `puzzles` of its record.")
    return said


def table(found) -> str:
    """Write docs/puzzles.md."""
    lines = [
        "# The puzzles, and where each is answered",
        "",
        "Programs that practitioners got wrong. Written by `make puzzles`; do not edit by hand.",
        "`make check` proves the exercises (solution, other right answers, every wrong one, on both engines),",
        "`claims.py` in each lesson's folder the claims.",
        "",
        "| | puzzle | answered in | exercises | tests |",
        "| --- | --- | --- | --- | --- |",
    ]
    files = lesson_files()
    for puzzle, (question, lesson) in PUZZLES.items():
        shown, asked = found[puzzle]
        places = [
            f"[{number}](../notebooks/{files[number].parent.name}.ipynb), cell {cell}" for number, cell, _ in shown
        ] or [f"lesson {lesson:02d}, to come"]
        claims = [claim_tests(number).get(c) for number, _, ids in shown for c in ids]
        tests = [f"`{name}`" for name in dict.fromkeys(filter(None, claims))]
        tests += [f"`test_the_check_is_right[{record.id}]`" for record in asked]
        exercises = [f"{record.id} {record.title}" for record in asked]
        row = [str(puzzle), question, "; ".join(places), "; ".join(exercises) or "—", "; ".join(tests) or "—"]
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def main(arguments=None) -> int:
    """Write the table, or compare it with what is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; fail when the table is not up to date")
    options = parser.parse_args(arguments)
    found = collect()
    said, text = complaints(found), table(found)
    if options.check and (not TABLE.exists() or TABLE.read_text(encoding="utf-8") != text):
        said.append("docs/puzzles.md is not up to date: run `make puzzles`.")
    if not options.check:
        TABLE.write_text(text, encoding="utf-8")
        print(f"docs/puzzles.md: {sum(1 for shown, _ in found.values() if shown)} of {len(PUZZLES)} puzzles answered")
    for sentence in said:
        print(sentence, file=sys.stderr)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
