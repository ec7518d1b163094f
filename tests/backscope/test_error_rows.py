"""backscope/explaining/errors/*.toml: what a row may hold, and that each is found by the message it names."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from backscope.explaining import conditions
from backscope.explaining.rows import FILES, FOLDER, LESSONS, find_row, read, rows

ROOT = Path(__file__).parent.parent.parent
ROW = {  # key: its type, and whether every row has it
    "key": (str, True), "example": (str, True), "pattern": (list, True), "says": (list, True), "cures": (list, True),
    "cases": (list, False), "silences": (list, False), "lesson": (int, False), "seek": (str, False),
}  # fmt: skip
SEEK = {
    "stale", "freed", "detached", "asked", "leaf", "view", "plain", "unused", "hooks", "node", "NotImplemented",
}  # fmt: skip
CONDITIONS = {name for name, _ in inspect.getmembers(conditions, inspect.isfunction)} - {"facts_of", "loaded"}
FOUND = {"raised_by", "writes", "twin", "by", "leaf", "first", "cut"}  # facts besides those of a message
SENTENCES = read("sentences")
ERRORS = [error for name in FILES for error in read(name)["error"]]


def names_in(text):
    return set(re.findall(r"\{(\w+)\}", text))


def wrong_sentences(texts, known):
    """What is wrong with sentences of a row: no text, without a point at the end, with names that nothing gives."""
    for text in texts:
        if not isinstance(text, str) or text != " ".join(text.split()):
            yield f"no text, or with spaces too many: {text!r}"
        elif not text.endswith((".", "}")):
            yield f"does not end in a point: {text}"
        elif unknown := names_in(text) - known:
            yield f"no pattern and no sentence gives {sorted(unknown)}: {text}"


def wrong_when(when, known):
    """What is wrong with a condition."""
    for one in when if isinstance(when, list) else [when]:
        if isinstance(one, str) and one not in CONDITIONS:
            yield f"conditions.py has no {one}"
        elif isinstance(one, dict) and (unknown := set(one) - known):
            yield f"nobody knows the facts {sorted(unknown)}"
        elif not isinstance(one, str | dict) or not one:
            yield f"no condition: {one!r}"


def wrong(row):
    """Everything that is wrong with a row as it stands in a file."""
    kinds = [key for key in row if key not in ROW or type(row[key]) is not ROW[key][0]]
    missing = [key for key, (_, needed) in ROW.items() if needed and not row.get(key)]
    if kinds or missing:
        return [f"unknown, or of another type: {kinds}; missing: {missing}"]
    try:
        groups = set(re.compile("|".join(row["pattern"])).groupindex)
    except re.error as error:
        return [f"pattern: {error}"]
    known = groups | set(SENTENCES) | FOUND
    found = [*wrong_sentences(row["says"] + row["cures"], known)]
    for case in row.get("cases", ()):
        if set(case) != {"when", "cures"} or not case["cures"]:
            found.append(f"a case has when and cures: {case}")
            continue
        found += [*wrong_when(case["when"], known), *wrong_sentences(case["cures"], known)]
    for each in row.get("silences", ()):
        if set(each) != {"what", "cost"} or not all(each.values()) or each["cost"].endswith("."):
            found.append(f"what silences has what and cost, which are a sentence together: {each}")
    if len(row["says"]) != 3:
        found.append("what happened is told in three sentences")
    if len(row["pattern"]) != len(set(row["pattern"])) or "" in row["pattern"]:
        found.append("a pattern stands twice, or is empty")
    if row.get("lesson", 0) not in LESSONS:
        found.append(f"no lesson {row['lesson']}")
    if row.get("seek", "stale") not in SEEK:
        found.append(f"report.py cannot seek {row['seek']}")
    if (met := find_row(row["example"].partition(": ")[2])[0]) is None or met.key != row["key"]:
        found.append(f"the example is found by {met and met.key}")
    return found


@pytest.mark.parametrize("row", ERRORS, ids=lambda row: row["key"])
def test_row_is_sound(row):
    """Keys, types, patterns, names in braces, conditions, lesson, and an example that no row before it takes."""
    assert wrong(row) == []


SOUND = next(row for row in ERRORS if row["key"] == "freed")


@pytest.mark.parametrize(
    "change, complaint",
    [
        ({"cure": ["x."]}, "unknown, or of another type: ['cure']"),
        ({"lesson": "6"}, "unknown, or of another type: ['lesson']"),
        ({"example": ""}, "missing: ['example']"),
        ({"pattern": ["a second time("]}, "pattern: "),
        ({"pattern": ["freed", "freed"]}, "twice"),
        ({"says": ["One.", "Two."]}, "three sentences"),
        ({"says": ["One.", "Two.", "Three"]}, "does not end in a point"),
        ({"says": ["One.", "Two.", "{nothing} three."]}, "gives ['nothing']"),
        ({"cures": [3]}, "no text"),
        ({"cases": [{"when": "moon_is_full", "cures": ["Wait."]}]}, "conditions.py has no moon_is_full"),
        ({"cases": [{"when": {"moon": "full"}, "cures": ["Wait."]}]}, "nobody knows the facts ['moon']"),
        ({"cases": [{"cures": ["Wait."]}]}, "a case has when and cures"),
        ({"silences": [{"what": "x", "cost": "Costs."}]}, "are a sentence together"),
        ({"lesson": 99}, "no lesson 99"),
        ({"seek": "moon"}, "cannot seek moon"),
        ({"example": "RuntimeError: the moon is full"}, "the example is found by None"),
        ({"key": "second"}, "the example is found by freed"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_kind_of_mistake_is_seen(change, complaint):
    """A row that is sound, with one mistake in it, is not."""
    assert wrong(SOUND) == []
    assert any(complaint in each for each in wrong(SOUND | change))


def test_keys_are_unique_and_every_file_is_read():
    """One key is one row over all files; a file that FILES does not name would never be read."""
    keys = [row.key for row in rows()]

    assert len(keys) == len(set(keys))
    assert {path.stem for path in FOLDER.iterdir()} == {*FILES, "sentences"}
    assert all(set(read(name)) == {"error"} for name in FILES)


def test_lessons_are_those_of_the_course():
    """Each number that a row may send to has a folder."""
    assert set(LESSONS) == {int(folder.name[:2]) for folder in (ROOT / "lessons").glob("[01][0-9]_*")}


@pytest.mark.parametrize("name", SENTENCES)
def test_sentences_that_stand_for_a_name_are_sound(name):
    """Each is used, its conditions can be decided, and names in it are facts of the rows that use it."""
    texts = {row["key"]: " ".join(row["says"] + row["cures"]) for row in ERRORS}
    users = [row for row in ERRORS if name in names_in(texts[row["key"]])]

    assert users
    for choice in SENTENCES[name]:
        assert set(choice) in ({"when", "says"}, {"says"})
        for row in users:
            known = set(re.compile("|".join(row["pattern"])).groupindex) | FOUND
            conditional = {*choice["when"]} if isinstance(choice.get("when"), dict) else set()
            assert not [*wrong_when(choice.get("when", {"by": True}), known | {"indices", "name", "type"})]
            assert names_in(choice["says"]) <= known | conditional, (row["key"], choice)


def test_an_import_reads_no_row():
    """`import backscope` neither reads the files nor loads what reads them; the first explain() does, once."""
    program = (
        "import sys, backscope\n"
        "from backscope.explaining import rows\n"
        "assert 'tomllib' not in sys.modules and rows.rows.cache_info().currsize == 0\n"
        "backscope.explain('RuntimeError: x'), backscope.explain('RuntimeError: y')\n"
        "print(rows.rows.cache_info().misses)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, timeout=60)

    assert (done.stdout, done.stderr) == ("1\n", "")
