"""Exercise 07.1: five names."""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, edit, not_yet
from coursekit.judge.table import judged_rows
from lessons.shared import as_number

COUNTERS = """\
x = torch.zeros(4)
v, d, q, c = x[1:], x.detach(), x.data, x.clone()
x.add_(1); x.add_(0); x.mul_(1); x.sub_(0)
with torch.no_grad():
    d.add_(1); v.mul_(2)
q.add_(5); q.add_(5); q.add_(5); c.mul_(3)
x[0] += 1
x = x + 0
"""
AT = {"x": 0, "v": 8, "d": 8, "q": 3, "c": 1}
WRONG_AT = {  # what one misunderstanding makes of the table
    "own counters": ({"v": 1, "d": 1}, {"v": 1, "d": 1, "x": 4}, {"v": 1, "d": 1, "x": 6}, {"d": 1}, {"v": 1}),
    "no_grad hides": ({"v": 6, "d": 6},),
    "values decide": ({"v": 5, "d": 5},),
    "one write": ({"v": 7, "d": 7},),
    "data counts nothing": ({"q": 0},),
    "data shares": ({"v": 11, "d": 11, "q": 11}, {"q": 8}, {"q": 11}, {"v": 11, "d": 11}, {"v": 11, "d": 11, "q": 0}),
    "clone shares": ({"c": 9}, {"c": 8}, {"v": 9, "d": 9, "c": 9}, {"c": 12}),
    "same x": ({"x": 8}, {"x": 9}, {"x": 9, "v": 9, "d": 9}, {"v": 9, "d": 9}),
}

OF_ONE = {"c": "c alone", "q": "q alone", "d": "d alone", "v": "v alone", "x": "same x"}  # another wrong count


def check(answer, torch):
    if not isinstance(answer, dict) or not {as_number(answer.get(name)) for name in AT} <= set(range(100)):
        return not_yet("Put a whole number in the place of each None; keep the five names.")
    answer = {name: as_number(answer[name]) for name in AT}
    space = {"torch": torch}
    exec(COUNTERS, space)
    truth = {name: space[name]._version for name in AT}
    wrong = {name: answer[name] for name in AT if answer[name] != truth[name]}
    for name, tables in WRONG_AT.items():
        if wrong in tables:
            return almost(name)
    pairs = [(table, name) for name, tables in WRONG_AT.items() for table in tables]
    single = {next(iter(table.items())): name for table, name in pairs if len(table) == 1}
    named = {row: single.get((row, count), OF_ONE[row]) for row, count in wrong.items()}
    if "v" in wrong and "d" in wrong and wrong["v"] != wrong["d"]:
        named["v"] = "own counters"
    return judged_rows(list(wrong), list(AT), named, "are right") or correct(
        "you know what counts, and who shares the count."
    )


EXERCISE = Exercise(
    id="07.1", kind="predict state", title="Five names", minutes=5, difficulty=1, puzzles=(15,),
    question=f"At which version is each of the five names after the last line?\n\n```python\n{COUNTERS}```",
    name="versions", starter='versions = {"x": None, "v": None, "d": None, "q": None, "c": None}',
    hints=(
        "First group the names: which of them share a counter?",
        "Then count writes for each counter: no_grad changes nothing, and neither does adding zero. One line is two "
        "writes.",
        "What does the very last line do to the name x?",
    ),
    solution=f"versions = {AT!r}",
    why="x, its view and its detach share a counter: 4 + 2 + 2 writes. .data counts its own three, the clone its own "
    "one. The last line gives the name x to a new tensor, at version 0.",
    alternatives=(
        f"versions = dict({', '.join(f'{k}={n}' for k, n in reversed(AT.items()))})",
        f"versions = { {name: str(count) for name, count in AT.items()}!r}",
    ),
    mistakes=(
        Mistake("own counters", "x, its view v and its detach d look at one memory, and the counter belongs to the "
                "memory: a write through any of them is counted for all.", edit("8, 'd': 8", "1, 'd': 1")),
        Mistake("no_grad hides", "Two writes are missing in v and d. no_grad stops the recording, not the counting: "
                "values change there too.", edit("8, 'd': 8", "6, 'd': 6")),
        Mistake("values decide", "Three writes are missing in v and d. No values are compared, so adding 0, "
                "multiplying by 1 and subtracting 0 count like any other.", edit("8, 'd': 8", "5, 'd': 5")),
        Mistake("one write", "One write is missing in v and d. x[0] += 1 writes to the view x[0], and then assigns "
                "the view back into x.", edit("8, 'd': 8", "7, 'd': 7")),
        Mistake("data counts nothing", "Writes through .data leave x's version alone, but q itself has a counter, "
                "and that one moves.", edit("3", "0")),
        Mistake("data shares", "You let .data share the counter. It shares the memory only: its writes are counted "
                "for itself, and x never hears of them.", edit("8, 'd': 8, 'q': 3", "11, 'd': 11, 'q': 11")),
        Mistake("clone shares", "clone() has memory of its own, so it starts at 0 and counts only what is written to "
                "it.", edit("1", "9")),
        Mistake("c alone", "c is a clone, with memory and counter of its own. Count the writes to c, and no others.",
                edit("1", "2")),
        Mistake("q alone", "q is .data: it has a counter of its own, which begins at 0. Count the writes to q, and no "
                "others.", edit("3", "7")),
        Mistake("d alone", "d shares the counter of x and v. Count all writes to the three, and every name ending in _ "
                "and every assignment to a part is one.", edit("'d': 8", "'d': 3")),
        Mistake("v alone", "v shares the counter of x and d. Count all writes to the three, and every name ending in _ "
                "and every assignment to a part is one.", edit("'v': 8", "'v': 3")),
        Mistake("same x", "x = x + 0 is no edit: it makes a new tensor and gives it the name x. The old memory keeps "
                "its count, and v and d still see it.", edit("0", "8")),
    ),
    check=check,
)  # fmt: skip
