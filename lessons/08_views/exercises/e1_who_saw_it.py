"""Exercise 08.1: who saw it?"""

from coursekit.judge.exercise import Exercise, Mistake, correct, edit, not_yet
from lessons.shared import as_number

from .shared import counted

WRITES = """\
t = torch.zeros(2, 3)
a, b, c, d = t.T, t.reshape(6), t.T.reshape(6), t[[0]]
a[2] = 1.0
b[0] = 2.0
c[5] = 3.0
d[0] = 4.0
t[1:] += 5.0
"""
COUNTS = ("t version", "a version", "d version")
STATE = {"t": [[2, 0, 1], [5, 5, 6]], "t version": 4, "a version": 4, "d version": 1}


def check(answer, torch):
    if not isinstance(answer, dict) or any(answer.get(name) is None for name in STATE):
        return not_yet("Put something in the place of each None; keep the four names.")
    try:
        given = [[float(number) for number in row] for row in answer["t"]]
    except (TypeError, ValueError):
        return not_yet("t is a list of two lists, each with three numbers.")
    if [len(row) for row in given] != [3, 3]:
        return not_yet("t is a list of two lists, each with three numbers.")
    if not {as_number(answer[name]) for name in COUNTS} <= set(range(100)):
        return not_yet("A version is a whole number.")
    space = {"torch": torch}
    exec(WRITES, space)
    versions = {name: as_number(answer[name]) for name in COUNTS}
    truth = {"t": space["t"].tolist()} | {name: space[name[0]]._version for name in COUNTS}
    right = sum(({"t": given} | versions)[name] == truth[name] for name in STATE)
    if right == len(STATE):
        return correct("you know who shares the memory, and that the counter belongs to it.")
    if given != truth["t"]:
        named = WRONG_VALUES.get(tuple(tuple(row) for row in given))
        look = "The values of t are not; go line by line: whose memory is written to?"
    else:
        named, look = wrong_versions(*versions.values()), "The values of t are; count the writes to each memory."
    return counted(named, right, len(STATE), look, EXERCISE)


WRONG_VALUES = {
    ((2, 0, 0), (5, 5, 5)): "turning copies",
    ((0, 0, 1), (5, 5, 6)): "reshape copies",
    ((2, 0, 1), (5, 5, 8)): "reshape shares",
    ((4, 4, 4), (5, 5, 6)): "a list shares",
    ((4, 4, 4), (5, 5, 8)): "all share",
    ((2, 0, 1), (0, 0, 1)): "the slice copies",
    ((2, 5, 6), (0, 5, 6)): "columns for rows",
}


def wrong_versions(t, a, d):
    """The name of the mistake behind three versions, or None."""
    if d == 0:
        return "copies do not count"
    if d == t:
        return "copies share a counter"
    if a != t:
        return "own counters"
    if t == 3:
        return "one write"
    if t == 2:
        return "only its own name"
    return "lost writes counted" if t > 4 else None


def state_but(**changed):
    return f"state = {STATE | {name.replace('_', ' '): value for name, value in changed.items()}!r}"


EXERCISE = Exercise(
    id="08.1", kind="predict state", title="Who saw it?", minutes=5, difficulty=1,
    question=f"What does t hold, and at which version are t, a and d?\n\n```python\n{WRITES}```",
    name="state", starter='state = {"t": None, "t version": None, "a version": None, "d version": None}',
    hints=(
        "Mark each of a, b, c, d as a view or a copy first. You decided the same about four expressions at the start.",
        "a[2] is the third row of the transposed matrix. Which numbers of t is that?",
        "In lesson 07, an augmented assignment to an item or a slice was two writes.",
    ),
    solution=f"state = {STATE!r}",
    why="a and b are views, so their writes reach t: its last column, and its first number. c and d are copies that "
    "nobody looks at again. t counts the writes through a, b and twice through the slice; d counts its own.",
    alternatives=(
        f"state = dict(reversed({STATE!r}.items()))",
        edit("[[2, 0, 1], [5, 5, 6]]", "((2.0, 0.0, 1.0), (5.0, 5.0, 6.0))"),
    ),
    mistakes=(
        Mistake("turning copies", "The ones are missing. t.T is a view: its third row is the third column of t.",
                edit("1], [5, 5, 6", "0], [5, 5, 5")),
        Mistake("reshape copies", "The 2 is missing. t lies in memory in just the order that reshape(6) wants, so b "
                "is a view.", edit("2", "0")),
        Mistake("reshape shares", "The 3 reached your t. c is a reshape of the transposed matrix, whose order memory "
                "does not have, so c is a copy.", edit("6", "8")),
        Mistake("a list shares", "The fours reached your t. t[[0]] indexes with a list, and that copies.",
                edit("2, 0, 1", "4, 4, 4")),
        Mistake("all share", "Both the 3 and the fours reached your t, as if nothing were ever copied. c and d are "
                "copies.", edit("2, 0, 1], [5, 5, 6", "4, 4, 4], [5, 5, 8")),
        Mistake("the slice copies", "The fives are missing. t[1:] is a view, and the augmented assignment writes "
                "through it.", edit("5, 5, 6", "0, 0, 1")),
        Mistake("columns for rows", "The fives went to columns. A single slice cuts the first dimension: t[1:] is "
                "every row but the first.", edit("0, 1], [5", "5, 6], [0")),
        Mistake("own counters", "The values are right, but you gave `t` and its view `a` different versions. A view "
                "and its base have one counter between them.", edit("version': 4, 'd", "version': 1, 'd")),
        Mistake("one write", "The values are right. The last line is two writes: into the slice, and then the slice "
                "back into t.", state_but(t_version=3, a_version=3)),
        Mistake("lost writes counted", "The values are right, but t was not written to so often. What is written to "
                "c and d goes to other memory.", state_but(t_version=6, a_version=6)),
        Mistake("only its own name", "The values are right. The counter belongs to the memory: what is written "
                "through a and b counts for t.", state_but(t_version=2, a_version=2)),
        Mistake("copies share a counter", "The values are right, but you gave the copy d the counter of t. It has "
                "memory of its own, and a counter of its own.", edit(" 1}", " 4}")),
        Mistake("copies do not count", "A copy is no view of t, but it is a tensor with a counter of its own, and d "
                "was written to once.", edit(" 1}", " 0}")),
    ),
    check=check,
)  # fmt: skip
