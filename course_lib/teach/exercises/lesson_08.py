"""Exercises of lesson 08: views share memory."""

import math
import random
import re

from course_lib.teach.exercises.outcomes import check_table, happens, judged_rows
from course_lib.teach.exercises.shared import as_number, called, flat, leaf, near, nodes_behind, numbers, set_of_names
from course_lib.teach.practice.exercise import Exercise, Mistake, almost, correct, not_yet

LEAF_VIEW = "a view of a leaf Variable"
MODIFIED = "modified by an inplace operation"
MANY_VIEWS = "returns multiple views"
NO_GRAD_VIEW = "was created in no_grad mode"


# --- 08.p1 ----------------------------------------------------------------------------------------

MADE = {
    "a": "t[0]",
    "b": "t.T",
    "c": "t.reshape(6)",
    "d": "t.T.reshape(6)",
    "e": "t[[0]]",
    "f": "t.clone()",
    "g": "t[:, 1:]",
    "h": "t[t == 0]",
}


WRONG_MADE = {  # the most telling first
    "f": "clone", "h": "mask", "e": "list", "d": "reshape of turned", "b": "transposing copies", "c": "reshape copies",
    "g": "slices copy", "a": "rows copy",
}  # fmt: skip


def check_08_p1(answer, torch):
    given = set_of_names(answer)
    if given is None or not given <= set(MADE):
        return not_yet('Give a list with some of the letters "a" to "h"; it may be empty.')
    truth = set()
    for letter, expression in MADE.items():
        t = torch.zeros(2, 3)
        eval(expression, {"t": t}).fill_(7)
        if 7.0 in flat(t):
            truth.add(letter)
    if not given:
        return almost("nothing")
    if given == set(MADE):
        return almost("everything")
    wrong = [letter for letter in WRONG_MADE if letter in given ^ truth]
    return judged_rows(wrong, list(MADE), WRONG_MADE, "are right") or correct(
        "you know which of them are a second look at the same memory."
    )


P1 = Exercise(
    id="08.p1", kind="predict", title="Who shares?", minutes=2, difficulty=1,
    question="Each is filled with sevens in place: after which of them does t contain sevens?\n\n"
    + "\n".join(f"- {letter}: `{expression}`" for letter, expression in MADE.items()),
    name="answer", starter="answer = None",
    hints=(
        "In memory t is six numbers in a row. Which of the eight can be read from them by 'begin here, walk "
        "in even steps'?",
        "For d, write down in which order the six numbers would have to be read, and at which places they are.",
    ),
    solution='answer = ["a", "b", "c", "g"]',
    why="A row, a transposed matrix, the six in a row and a slice are all read in even steps from t's memory. The "
    "transposed rows end to end are not, a list or a mask may pick anything, and clone copies on purpose.",
    alternatives=('answer = ("g", "c", "b", "a")', 'answer = "A, B, C, G"', 'answer = "abcg"'),
    mistakes=(
        Mistake("clone", "f: clone() is made to copy. Its memory is its own, and t keeps its zeros.",
                'answer = ["a", "b", "c", "f", "g"]'),
        Mistake("mask",
                "h: a mask may be true anywhere, so no even steps lead through what it picks. The picked numbers are "
                "copied.", 'answer = ["a", "b", "c", "g", "h"]'),
        Mistake("list",
                "e: the 0 stands in a list, and a list may name any rows in any order. t[0] is a view, t[[0]] a "
                "copy.", 'answer = ["a", "b", "c", "e", "g"]'),
        Mistake("reshape of turned",
                "d: c shares, but here t was transposed first. The numbers would be read at the places 0 3 1 4 2 5, "
                "which are no even steps, so reshape copies.", 'answer = ["a", "b", "c", "d", "g"]'),
        Mistake("transposing copies",
                "b: transposing moves no number. It only says: walk by one where you walked by three, and the other "
                "way round.", 'answer = ["a", "c", "g"]'),
        Mistake("reshape copies",
                "c: the six numbers of t already lie in this order, so reshape has nothing to copy.",
                'answer = ["a", "b", "g"]'),
        Mistake("slices copy",
                "g: the last two numbers of each row can be read in even steps: begin one later, walk as in t.",
                'answer = ["a", "b", "c"]'),
        Mistake("rows copy",
                "a: a row is three numbers that lie side by side in t's memory. Nothing has to be moved to look at "
                "them.",
                'answer = ["b", "c", "g"]'),
        Mistake("everything",
                "You expect no copy anywhere. Some operations always copy, and what even steps through memory cannot "
                "describe must be copied.", 'answer = ["a", "b", "c", "d", "e", "f", "g", "h"]'),
        Mistake("nothing",
                "You expect a copy everywhere. Many operations copy nothing: a slice, for one, is a second look at the "
                "same memory.", "answer = []"),
    ),
    check=check_08_p1,
)  # fmt: skip


# --- 08.p2 ----------------------------------------------------------------------------------------


def check_08_p2(answer, torch):
    if isinstance(answer, str):
        return almost("error") if answer.lower() == "error" else not_yet('Give three numbers, or "error".')
    given = [as_number(number) for number in answer] if isinstance(answer, (list, tuple)) else []
    if len(given) != 3 or None in given:
        return not_yet('Give a list of three numbers, or "error".')
    x = leaf(torch, [1.0, 2.0, 3.0])
    y = x * 2
    v = y[1:]
    v.mul_(10)
    y.sum().backward()
    if given == x.grad.tolist():
        return correct("the base knows what was done to a part of it.")
    wrong = {
        (2.0, 2.0, 2.0): "not told",
        (2.0, 0.0, 0.0): "replaced",
        (0.0, 20.0, 20.0): "part only",
        (20.0, 20.0, 20.0): "whole",
        (2.0, 40.0, 60.0): "values",
        (2.0, 12.0, 12.0): "added",
        (2.0, 10.0, 10.0): "write only",
        (1.0, 10.0, 10.0): "write only",
    }
    named = wrong.get(tuple(given))
    return almost(named) if named else not_yet("If x[1] grows by one, by how much does y.sum() grow? And x[0]?")


P2 = Exercise(
    id="08.p2", kind="predict", title="A write to a part", minutes=2, difficulty=1,
    question="`y = x * 2; v = y[1:]; v.mul_(10); y.sum().backward()`: what is x.grad?",
    name="answer", starter="answer = None",
    hints=(
        "Do not ask what the library does. Ask what the right answer is: which number is in y[1], as a formula in "
        "x[1]?",
        "If the library gave another answer than the right one, or an error, lesson 07 would have warned of it. What "
        "did the product x * 2 save?",
    ),
    solution="answer = [2, 20, 20]",
    why="y is [2 x0, 20 x1, 20 x2] after the write, and that is what is differentiated.",
    alternatives=("answer = (2.0, 20.0, 20.0)", "answer = torch.tensor([2.0, 20.0, 20.0])"),
    mistakes=(
        Mistake("not told",
                "That is the gradient of y before the write: it would be silently wrong. A write through a view is "
                "recorded for its base, which is what this lesson is about.", "answer = [2, 2, 2]"),
        Mistake("replaced",
                "mul_ replaces the numbers of the part, but it makes the new ones from the old ones: x[1] and x[2] "
                "still "
                "decide what y[1] and y[2] are.", "answer = [2, 0, 0]"),
        Mistake("added",
                "y[1] is 2 times x[1], and ten times that. Factors one after the other are multiplied, not added.",
                "answer = [2, 12, 12]"),
        Mistake("part only",
                "y[0] was not written to, but it is still a part of the sum: its 2 is missing.",
                "answer = [0, 20, 20]"),
        Mistake("whole",
                "The write reached v, that is y[1] and y[2]. y[0] was not multiplied by ten.",
                "answer = [20, 20, 20]"),
        Mistake("values",
                "Those are the values of y. The gradient is the factor by which each x is multiplied in it.",
                "answer = [2, 40, 60]"),
        Mistake("write only",
                "You counted the write and forgot the 2 in x * 2, or the other way round: on the written part both "
                "factors apply, on y[0] only the 2.", "answer = [1, 10, 10]"),
        Mistake("error",
                "y is no leaf, x * 2 saved only the 2, and the write is recorded. Nothing is in the way.",
                'answer = "error"'),
    ),
    check=check_08_p2,
)  # fmt: skip


# --- 08.1 -----------------------------------------------------------------------------------------

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


def check_08_1(answer, torch):
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
    return counted(named, right, len(STATE), look, EX1)


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


def counted(named, right, rows, look, exercise):
    """The verdict on a table: the count first where several rows are wrong, and no `almost` where over half are."""
    count = f"{right} of {rows} are right. "
    if named and 2 * right >= rows:
        return almost(named, count if right < rows - 1 else "")
    says = {mistake.name: mistake.says for mistake in exercise.mistakes}
    return not_yet(count + says.get(named, look))


def state_but(**changed):
    return f"state = {STATE | {name.replace('_', ' '): value for name, value in changed.items()}!r}"


EX1 = Exercise(
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
    alternatives=(f"state = dict(reversed({STATE!r}.items()))",
                  state_but(t=((2.0, 0.0, 1.0), (5.0, 5.0, 6.0)))),
    mistakes=(
        Mistake("turning copies",
                "The ones are missing. t.T is a view: its third row is the third column of t.",
                state_but(t=[[2, 0, 0], [5, 5, 5]])),
        Mistake("reshape copies",
                "The 2 is missing. t lies in memory in just the order that reshape(6) wants, so b is a view.",
                state_but(t=[[0, 0, 1], [5, 5, 6]])),
        Mistake("reshape shares",
                "The 3 reached your t. c is a reshape of the transposed matrix, whose order memory does not have, so "
                "c is a copy.", state_but(t=[[2, 0, 1], [5, 5, 8]])),
        Mistake("a list shares",
                "The fours reached your t. t[[0]] indexes with a list, and that copies.",
                state_but(t=[[4, 4, 4], [5, 5, 6]])),
        Mistake("all share",
                "Both the 3 and the fours reached your t, as if nothing were ever copied. c and d are copies.",
                state_but(t=[[4, 4, 4], [5, 5, 8]])),
        Mistake("the slice copies",
                "The fives are missing. t[1:] is a view, and the augmented assignment writes through it.",
                state_but(t=[[2, 0, 1], [0, 0, 1]])),
        Mistake("columns for rows",
                "The fives went to columns. A single slice cuts the first dimension: t[1:] is every row but the first.",
                state_but(t=[[2, 5, 6], [0, 5, 6]])),
        Mistake("own counters",
                "The values are right, but you gave the view a its own counter. A view and its base have one between "
                "them.", state_but(a_version=1)),
        Mistake("one write",
                "The values are right. The last line is two writes: into the slice, and then the slice back into t.",
                state_but(t_version=3, a_version=3)),
        Mistake("lost writes counted",
                "The values are right, but t was not written to so often. What is written to c and d goes to other "
                "memory.",
                state_but(t_version=6, a_version=6)),
        Mistake("only its own name",
                "The values are right. The counter belongs to the memory: what is written through a and b counts for "
                "t.",
                state_but(t_version=2, a_version=2)),
        Mistake("copies share a counter",
                "The values are right, but you gave the copy d the counter of t. It has memory of its own, and a "
                "counter "
                "of its own.", state_but(d_version=4)),
        Mistake("copies do not count",
                "A copy is no view of t, but it is a tensor with a counter of its own, and d was written to once.",
                state_but(d_version=0)),
    ),
    check=check_08_1,
)  # fmt: skip


# --- 08.2 -----------------------------------------------------------------------------------------

PROGRAMS = {
    "A": "y = x * 2; y[[1, 2]].mul_(10)",
    "B": "x[0] = 5.0; y = x * 2",
    "C": "y = x * 2; a, b, c = y; b.mul_(10)",
    "D": "h = x * 1; v = h[1:]; y = v * v; h[0] = 7.0",
    "E": "h = x * 1; v = h[1:]; y = v.exp(); h[0] = 7.0",
    "F": "y = x * 2; y.detach()[1:].mul_(10)",
    "G": "h = x * 2; v = h[1:]; h.mul_(10); y = v + 0",
    "H": "h = x * 2; a, b = h.split([1, 2]); h.mul_(10); y = b + 0",
    "I": "y = x.exp(); y[0] = 5.0",
    "J": "f = torch.nn.Linear(3, 3); f.register_full_backward_hook(print); y = f(x).relu_()",
}
SLOPES = {  # of the numbers that y holds, at x = [1, 2, 3]; only for programs that run through
    "A": [2.0, 2.0, 2.0],
    "E": [0.0, math.exp(2), math.exp(3)],
    "F": [2.0, 20.0, 20.0],
    "G": [0.0, 20.0, 20.0],
}
HAPPENS = {
    "A": "fine",
    "B": "raises now",
    "C": "raises now",
    "D": "raises at backward",
    "E": "fine",
    "F": "silently wrong",
    "G": "fine",
    "H": "raises now",
    "I": "raises at backward",
    "J": "raises now",
}
WRONG_HAPPENS = {
    ("A", "silently wrong"): "a lost write lies",
    ("A", "raises at backward"): "every write hurts",
    ("A", "raises now"): "a list is refused",
    ("B", "fine"): "only an element",
    ("B", "raises at backward"): "the leaf waits",
    ("B", "silently wrong"): "only an element",
    ("C", "fine"): "unpacking is indexing",
    ("C", "raises at backward"): "refused later",
    ("D", "fine"): "another part",
    ("D", "silently wrong"): "another part",
    ("D", "raises now"): "refused at once",
    ("E", "raises at backward"): "exp saves its input",
    ("E", "raises now"): "refused at once",
    ("E", "silently wrong"): "a result goes stale",
    ("C", "silently wrong"): "it passes unnoticed",
    ("H", "silently wrong"): "it passes unnoticed",
    ("F", "fine"): "detached writes are recorded",
    ("F", "raises at backward"): "detached writes spoil",
    ("F", "raises now"): "detached writes are refused",
    ("G", "silently wrong"): "old views are lost",
    ("G", "raises at backward"): "old views are lost",
    ("G", "raises now"): "old views are lost",
    ("H", "fine"): "split is slicing",
    ("H", "raises at backward"): "unusable later",
    ("I", "fine"): "replaced anyway",
    ("I", "silently wrong"): "nobody notices",
    ("I", "raises now"): "results are guarded",
    ("J", "fine"): "a hook only looks",
    ("J", "silently wrong"): "a hook only looks",
    ("J", "raises at backward"): "relu waits",
}


def what_happens(letter, torch):
    """Run a program, then backward, and say which of the four outcomes it has."""
    x = leaf(torch, [1.0, 2.0, 3.0])
    steps = PROGRAMS[letter], "y.sum().backward()"
    return happens(steps, {"torch": torch, "x": x}, lambda space: near(flat(x.grad), SLOPES.get(letter, [])))


def check_08_2(answer, torch):
    def measure(letter):
        return what_happens(letter, torch)

    return check_table(
        answer,
        PROGRAMS,
        measure,
        WRONG_HAPPENS,
        shown="you can tell writes that are followed from writes that are refused, and both from one that lies.",
    )


def happens_but(letter, phrase):
    return f"happens = {HAPPENS | {letter: phrase}!r}"


EX2 = Exercise(
    id="08.2", kind="which happens", title="Which happens?", minutes=9, difficulty=2, puzzles=(4, 15, 19),
    question="Each program, then `y.sum().backward()`: fine, raises now, raises at backward, or silently wrong?\n\n"
    + "\n".join(f"- {letter}: `{program}`" for letter, program in PROGRAMS.items()),
    name="happens",
    starter='happens = {"A": None, "B": None, "C": None, "D": None, "E": None}\n'
    'happens |= {"F": None, "G": None, "H": None, "I": None, "J": None}',
    hints=(
        "First: may this be written to at all? Three programs write where no write is allowed, and a fourth one uses "
        "what may not be used any more.",
        "Then: had somebody saved a tensor that lies in the memory that is written to? Any part of it counts.",
        "Last: was the write recorded? Something that is not a view, and lies in the same memory, is the trap.",
    ),
    solution=f"happens = {HAPPENS!r}",
    why="In A a copy was written to, and y is as it was; G is an old view that catches up. E saved a result with "
    "memory of its own. B, C and J write to a view of a leaf, to one of several views, and to a view made by a custom "
    "Function; H uses one of several views after its base was written to. In D and I memory that somebody saved is "
    "written to. In F nobody recorded the write.",
    alternatives=(f"happens = dict({', '.join(f'{k}={v!r}' for k, v in reversed(HAPPENS.items()))})",),
    mistakes=(
        Mistake("a lost write lies",
                "A: indexing with a list copies, so the write never reached y. It holds [2, 4, 6], and [2, 2, 2] is "
                "the gradient of just these numbers: a lost write, but no false gradient.",
                happens_but("A", "silently wrong")),
        Mistake("every write hurts",
                "A: y[[1, 2]] is a copy that nobody saved. There is nothing that backward could miss.",
                happens_but("A", "raises at backward")),
        Mistake("a list is refused",
                "A: indexing with a list gives a copy with memory of its own, and such a tensor may be written to.",
                happens_but("A", "raises now")),
        Mistake("only an element",
                "B: x[0] = 5.0 is a write through the view x[0] of the leaf x, with grad mode on. One element "
                "is enough.", happens_but("B", "fine")),
        Mistake("the leaf waits",
                "B: writes to leaves and to their views are refused on the spot, before anything is computed.",
                happens_but("B", "raises at backward")),
        Mistake("unpacking is indexing",
                "C: a, b, c = y asks y for its iterator, and that is unbind: three views from one call. b = y[1] "
                "would have been a view of its own.", happens_but("C", "fine")),
        Mistake("refused later",
                "C: right that it is refused, but it is refused by the write itself; backward is never reached.",
                happens_but("C", "raises at backward")),
        Mistake("another part",
                "D: the saved v does not contain h[0], true. But v and h have one counter between them, so v counts "
                "as changed.", happens_but("D", "fine")),
        Mistake("refused at once",
                "D and E: h is no leaf, and h[0] is a single view of it: this write is allowed, and recorded. Whether "
                "it does harm shows later.", happens_but("D", "raises now")),
        Mistake("a result goes stale",
                "E: what exp saved is its own result, and h[0] = 7.0 does not write into that. It is still the exp of "
                "what v was.", happens_but("E", "silently wrong")),
        Mistake("it passes unnoticed",
                "C and H: what may not be done with one of several views from one call does not pass in silence. It "
                "raises.", happens_but("H", "silently wrong")),
        Mistake("exp saves its input",
                "E: exp saves its result, and that has memory of its own. Nobody saved v.",
                happens_but("E", "raises at backward")),
        Mistake("detached writes are recorded",
                "F: what is done to a detach() is recorded by nobody. y holds [2, 40, 60], and the gradient is still "
                "that of [2, 4, 6].", happens_but("F", "fine")),
        Mistake("detached writes spoil",
                "F: a version error needs somebody who saved y's memory. x * 2 saved only the 2.",
                happens_but("F", "raises at backward")),
        Mistake("detached writes are refused",
                "F: views of a detach() have no history to protect, so nothing is refused. That is the trouble "
                "with it.", happens_but("F", "raises now")),
        Mistake("old views are lost",
                "G: v is a single view from one call. When it is used after the write, it gets a new node "
                "on top of h's new history.", happens_but("G", "silently wrong")),
        Mistake("split is slicing",
                "H: b is one of several views from one call. After a write to h it cannot catch up as a slice "
                "would.", happens_but("H", "fine")),
        Mistake("unusable later",
                "H: the very next use of b raises, because b + 0 asks b for its history. Backward is never "
                "reached.", happens_but("H", "raises at backward")),
        Mistake("replaced anyway",
                "I: y[0] gets no gradient any more, but exp saved the whole result, with one counter. Nobody looks "
                "which part was written to.", happens_but("I", "fine")),
        Mistake("nobody notices",
                "I: y's memory is what exp saved, and it was saved at version 0. That is looked at before it is used.",
                happens_but("I", "silently wrong")),
        Mistake("results are guarded",
                "I: y is no leaf, so the assignment itself is allowed. Saved memory is not guarded; it is compared "
                "when it is used.", happens_but("I", "raises now")),
        Mistake("a hook only looks",
                "J: to see gradients, the hook puts a custom Function behind the layer, and what that hands out is a "
                "view. Writing to it is refused.", happens_but("J", "fine")),
        Mistake("relu waits",
                "J: relu's own saved result is fine. What is refused is the write itself, as soon as relu_ is "
                "called.", happens_but("J", "raises at backward")),
    ),
    check=check_08_2,
)  # fmt: skip


# --- 08.3 -----------------------------------------------------------------------------------------

HISTORY = """\
y = x * 2
old = y[:2]
y[1:].mul_(10)
y.add_(1)
new = y[:2]
"""
END = ["CopySlices", "MulBackward0", "AccumulateGrad"]
WALKS = {
    "y": ["AddBackward0", *END],
    "old": ["AsStridedBackward0", "AddBackward0", *END],
    "new": ["SliceBackward0", "AddBackward0", *END],
}


def walk(tensor):
    """The short names of the nodes met along the first edges."""
    names, node = [], tensor.grad_fn
    while node is not None:
        names.append(type(node).__name__)
        node = node.next_functions[0][0] if node.next_functions else None
    return names


def node_names(nodes):
    """The names in a list of names, of "<AddBackward0 object at 0x…>", or of "A -> B -> C"."""
    text = " ".join(str(node) for node in nodes).replace("torch::autograd::", "")
    return [word for word in re.findall(r"\w+", text) if word not in ("object", "at") and not word.startswith("0x")]


def check_08_3(answer, torch):
    if not isinstance(answer, dict) or any(answer.get(name) is None for name in WALKS):
        return not_yet("Put a list of names in the place of each None; keep the three names.")
    if not all(isinstance(answer[name], (list, tuple)) for name in WALKS):
        return not_yet('Each answer is a list of names, such as ["AddBackward0", "AccumulateGrad"].')
    space = {"x": leaf(torch, numbers(3))}
    exec(HISTORY, space)
    truth = {name: walk(space[name]) for name in WALKS}
    given = {name: node_names(answer[name]) for name in WALKS}
    if given == truth:
        return correct("you can rewrite a history by hand, and you know which views were told.")
    if all(given[name] == truth[name][::-1] for name in WALKS):
        return almost("from the leaf")
    if all(given[name] == truth[name][:-1] for name in WALKS):
        return almost("no accumulator")
    known = {name for nodes in truth.values() for name in nodes}
    for name in (name for nodes in given.values() for name in nodes):
        if name not in known and name + "Backward0" in known:
            return not_yet(f"There is no node called {name!r}: write the whole name, as type(node).__name__ gives it.")
    y, old, new = (given[name] for name in WALKS)
    right = sum(given[name] == truth[name] for name in WALKS)
    if y == truth["y"][::-1]:
        return almost("from the leaf")
    if y != truth["y"]:
        look, named = "y's walk is not: each write to y put one node on top.", WRONG_WALKS["y"].get(tuple(y))
    elif old != truth["old"]:
        look = "y's walk is: what stands on top of it when old is asked now?"
        named = WRONG_WALKS["old"].get(tuple(old))
    else:
        look, named = "Nothing was written after new was made.", WRONG_WALKS["new"].get(tuple(new))
    return counted(named, right, len(WALKS), look, EX3)


WRONG_WALKS = {
    "y": {
        ("AddBackward0", "MulBackward0", "MulBackward0", "AccumulateGrad"): "mul for CopySlices",
        ("AddBackward0", "MulBackward0", "AccumulateGrad"): "the base is not told",
        ("AddBackward0", "CopySlices", "AccumulateGrad"): "replaced",
        ("CopySlices", *END): "add_ in slices",
    },
    "old": {
        ("SliceBackward0", "MulBackward0", "AccumulateGrad"): "old is old",
        ("AsStridedBackward0", *END): "told once",
        ("SliceBackward0", "AddBackward0", *END): "same slice",
        ("AsStridedBackward0", "AddBackward0", "MulBackward0", "AccumulateGrad"): "past the write",
        ("AsStridedBackward0", "MulBackward0", "AccumulateGrad"): "past the write",
    },
    "new": {
        ("AsStridedBackward0", *WALKS["y"]): "every view",
        ("SliceBackward0", "MulBackward0", "AccumulateGrad"): "new stands on the old",
    },
}


def walks_but(**changed):
    return f"walks = {WALKS | changed!r}"


EX3 = Exercise(
    id="08.3", kind="edges", title="Walk the histories", minutes=5, difficulty=2,
    question=f"The names along next_functions[0], from y, old and new.\n\n```python\n{HISTORY}```",
    name="walks", starter='walks = {"y": None, "old": None, "new": None}',
    hints=(
        "Begin with y. It was written to twice: once through a view, once by itself. What does each put on top of "
        "the node that was there?",
        "old and new show the same part of the same memory. One was made before the writes, one after. Which of "
        "them has to catch up?",
    ),
    solution=f"walks = {WALKS!r}",
    why="The write through the slice puts CopySlices on the product, y.add_ puts an ordinary AddBackward0 on that. "
    "old was made before, so it is given AsStridedBackward0 on top of y as it is now; new was made after, and keeps "
    "the node it was made with.",
    alternatives=(
        f"walks = { {name: tuple(nodes) for name, nodes in WALKS.items()}!r}",
        f"walks = {WALKS!r}".replace("CopySlices", "torch::autograd::CopySlices"),
        f"walks = { {name: ' -> '.join(nodes) for name, nodes in WALKS.items()}!r}",
        f"walks = { {name: [f'<{node} object at 0x7f00>' for node in nodes] for name, nodes in WALKS.items()}!r}",
    ),
    mistakes=(
        Mistake("mul for CopySlices",
                "The multiplication reached only a part. Its node is packed inside CopySlices, which is what y's "
                "history shows.", walks_but(y=["AddBackward0", "MulBackward0", "MulBackward0", "AccumulateGrad"])),
        Mistake("the base is not told",
                "y[1:].mul_(10) is missing from y's history. The gradient would be that of other numbers.",
                walks_but(y=["AddBackward0", "MulBackward0", "AccumulateGrad"])),
        Mistake("replaced",
                "CopySlices stands on y's old node, it does not replace it: the part that was not written to, and the "
                "old numbers of the part, came from there.",
                walks_but(y=["AddBackward0", "CopySlices", "AccumulateGrad"])),
        Mistake("add_ in slices",
                "y.add_(1) was called on the base itself. There is no part to be replaced, so an ordinary node is put "
                "on top.", walks_but(y=["CopySlices", *END])),
        Mistake("old is old",
                "That is old's history before the writes. The memory has moved on since, and when old is asked, it "
                "gets a new node.", walks_but(old=["SliceBackward0", "MulBackward0", "AccumulateGrad"])),
        Mistake("told once",
                "old is not told at the moment of the write, it catches up when it is asked. By then y.add_(1) has "
                "happened too.", walks_but(old=["AsStridedBackward0", *END])),
        Mistake("same slice",
                "The way down is right, the top is not: old's slicing node belonged to the old history. The one that "
                "replaces it has another name.", walks_but(old=["SliceBackward0", "AddBackward0", *END])),
        Mistake("past the write",
                "old begins rightly, but the way down is not y's. Below its own node a view stands on its base as the "
                "base is "
                "now.", walks_but(old=["AsStridedBackward0", "AddBackward0", "MulBackward0", "AccumulateGrad"])),
        Mistake("new stands on the old",
                "new was cut from y when both writes had been made, so it stands on what y's history was by then.",
                walks_but(new=["SliceBackward0", "MulBackward0", "AccumulateGrad"])),
        Mistake("every view",
                "new was made after the last write, so it has nothing to catch up with, and keeps the node of its "
                "slicing.", walks_but(new=["AsStridedBackward0", "AddBackward0", *END])),
        Mistake("from the leaf",
                "All there, in the other direction. grad_fn is where backward begins, so begin at the tensor and end "
                "at the leaf.", f"walks = { {name: nodes[::-1] for name, nodes in WALKS.items()}!r}"),
        Mistake("no accumulator",
                "All right but for the end: below the last operation there is one more node, which stores the "
                "gradient in the leaf.", f"walks = { {name: nodes[:-1] for name, nodes in WALKS.items()}!r}"),
    ),
    check=check_08_3,
)  # fmt: skip


# --- 08.4 -----------------------------------------------------------------------------------------


def check_08_4(answer, torch):
    for anchors, outputs, sign in ((3, 6, -1), (2, 5, 1), (1, 7, -1)):
        start, prior = numbers(anchors * outputs, -1.0, 1.0), sign * random.uniform(2.0, 3.0)
        b = leaf(torch, start)
        version = b._version
        start = flat(b)
        try:
            answer(torch, b, anchors, prior)
        except RuntimeError as error:
            if LEAF_VIEW in str(error):
                return almost("still recorded")
            if NO_GRAD_VIEW in str(error):
                return almost("half inside")
            if "a leaf Variable that requires grad" in str(error):
                return almost("the leaf itself")
            raise
        found = flat(b)
        if near(found, start):
            return almost("a copy" if called(answer, "clone", "contiguous") else "another tensor")
        if not near(found, raised(start, outputs, prior)):
            return wrong_numbers(found, start, outputs, prior)
        if not b.requires_grad:
            return almost("frozen")
        if b._version == version:
            return almost("uncounted")
        if b.grad is not None:
            return not_yet("b.grad holds something now. Only the numbers of b are asked for.")
        with torch.enable_grad():
            (b * b).sum().backward()
        if b.grad is None or not near(b.grad.tolist(), [2 * value for value in found]):
            return not_yet("Training with the new b does not store the right gradient in b.grad.")
    return correct("the optimizer's own tensor holds the new numbers, and it is still a leaf.")


def raised(start, outputs, prior, which=4):
    """The numbers of b with one number of each group raised."""
    return [value + prior * (place % outputs == which) for place, value in enumerate(start)]


def wrong_numbers(found, start, outputs, prior):
    """b has changed, but not as it should have."""
    if near(found, raised(start, outputs, prior, 3)):
        return almost("one off")
    if near(found, raised(start, len(start), prior)):
        return almost("first group")
    if near(found, [prior if place % outputs == 4 else value for place, value in enumerate(start)]):
        return almost("set")
    return not_yet("b has changed, but not by prior in number 4 of each group and nowhere else.")


STARTER_4 = """\
def start_biases(torch, b, anchors, prior):
    rows = b.view(anchors, -1)
    rows[:, 4] += prior"""
INSIDE = """\
def start_biases(torch, b, anchors, prior):
    with torch.no_grad():
        rows = b.view(anchors, -1)
        rows[:, 4] += prior
"""

EX4 = Exercise(
    id="08.4", kind="repair", title="The detector's biases", minutes=4, difficulty=1, puzzles=(3, 4),
    question="Add prior to number 4 of each group of b; b stays the same leaf, and the write is counted.",
    name="start_biases", starter=STARTER_4,
    hints=(
        "The message says what is wrong: a view of a leaf is written to while the engine records. Which of the two can "
        "you change, the leaf or the recording?",
        "Whoever makes the view and whoever writes through it should agree on whether it is recorded.",
    ),
    solution=STARTER_4.split("    rows")[0]
    + "    with torch.no_grad():\n        b.view(anchors, -1)[:, 4] += prior\n",
    why="Giving a parameter its first numbers is no part of the computation that is differentiated. Under no_grad the "
    "write goes to b's own memory and is counted, and b stays the leaf that the optimizer holds.",
    alternatives=(
        INSIDE,
        STARTER_4.replace("b.view", "b.detach().view") + "\n",
        STARTER_4.replace("    rows[", "    with torch.no_grad():\n        rows[") + "\n",
        STARTER_4.replace("    rows =", "    b.requires_grad_(False)\n    rows =") + "\n    b.requires_grad_(True)\n",
        STARTER_4.split("    rows")[0] + "    with torch.no_grad():\n        b[4 :: len(b) // anchors] += prior\n",
        STARTER_4.split("    rows")[0] + "    rows = b.detach().clone().view(anchors, -1)\n    rows[:, 4] += prior\n"
        "    with torch.no_grad():\n        b.copy_(rows.view(-1))\n",
        STARTER_4.split("    rows")[0] + "    with torch.no_grad():\n        for k in range(anchors):\n"
        "            b[k * len(b) // anchors + 4] += prior\n",
    ),
    mistakes=(
        Mistake("still recorded",
                "It is still a recorded write to a view of the leaf, only spelt in another way. Every slice and every "
                "item is a view.", STARTER_4.replace("rows[:, 4] += prior", "rows[:, 4].add_(prior)")),
        Mistake("half inside",
                "The view was made under no_grad and written to outside. The two places say different things about "
                "whether the write is to be recorded, so it is refused. Put both inside.",
                INSIDE.replace("        rows[", "    rows[")),
        Mistake("the leaf itself",
                "Now the leaf itself is written to, with the engine recording. The message has one word less, the "
                "reason is the same.",
                STARTER_4.split("    rows")[0] + "    step = b.numel() // anchors\n"
                "    b[torch.arange(anchors) * step + 4] += prior\n"),
        Mistake("a copy",
                "No error, and b is as it was. What clone() gives has memory of its own: a write to it never reaches "
                "b.",
                STARTER_4.replace("-1)", "-1).clone()")),
        Mistake("another tensor",
                "b is as it was. If a tensor was changed, it was another one, with memory of its own; the optimizer "
                "holds b.",
                STARTER_4.split("    rows")[0] + "    extra = torch.zeros(anchors, b.numel() // anchors)\n"
                "    extra[:, 4] = prior\n    b = b + extra.view(-1)\n"),
        Mistake("uncounted",
                "The numbers are right, but b is at the same version as before: the write was not counted, as with "
                ".data or a NumPy array. Had somebody saved b before, backward would be wrong and say nothing.",
                STARTER_4.replace("b.view", "b.data.view")),
        Mistake("set",
                "Number 4 of each group is prior now. It was to start prior *higher* than it was.",
                INSIDE.replace("+=", "=")),
        Mistake("first group",
                "Only the first group was raised. There are `anchors` of them, one after another.",
                STARTER_4.split("    rows")[0] + "    with torch.no_grad():\n        b[4] += prior\n"),
        Mistake("one off",
                "Number 3 of each group was raised. Numbers are counted from 0, as indices are.",
                INSIDE.replace("[:, 4]", "[:, 3]")),
        Mistake("guard: left a setting", "",
                STARTER_4.replace("    rows =", "    torch.set_grad_enabled(False)\n    rows =")),
        Mistake("frozen",
                "The numbers are right, but b does not require grad any more: it will never be trained.",
                STARTER_4.replace("    rows =", "    b.requires_grad_(False)\n    rows =")),
    ),
    may_change=("b",),
    check=check_08_4,
)  # fmt: skip


# --- 08.5 -----------------------------------------------------------------------------------------


def check_08_5(answer, torch):
    kept = True
    for height, half in ((2, 2), (3, 1), (1, 3)):
        values = [[-1.5, *numbers(2 * half - 1, -2.0, 2.0)] for _ in range(height)]
        x = leaf(torch, values, torch.float64)
        h = x * 1
        try:
            y = answer(torch, h)
        except RuntimeError as error:
            if NO_GRAD_VIEW in str(error):
                return almost("half inside")
            if MANY_VIEWS in str(error):
                return almost("unusable" if "its base or another view" in str(error) else "still split")
            raise
        if not isinstance(y, torch.Tensor) or y.numel() != 1:
            return not_yet("The function should return a tensor with one number.")
        a, b = [p for row in values for p in row[:half]], [q for row in values for q in row[half:]]
        pairs = list(zip(a, b, strict=True))
        if near(flat(y), [sum(p * q for p, q in pairs)]):
            return almost("dropped")
        if near(flat(y), [sum(squash(p) * squash(q) for p, q in pairs)]):
            return almost("both gated")
        if near(flat(y), [sum(squash(p) * q for p, q in pairs)]):
            return almost("wrong half")
        if not near(flat(y), [sum(p * squash(q) for p, q in pairs)]):
            return not_yet("The number that is returned is not the sum of a times sigmoid(b).")
        if not y.requires_grad:
            return almost("h cut")
        y.backward()
        if x.grad is None:
            return almost("h cut")
        found = x.grad.tolist()
        through, gate = [g for row in found for g in row[:half]], [g for row in found for g in row[half:]]
        if near(through, [squash(q) for q in b], 1e-6) and near(
            gate, [p * squash(q) * (1 - squash(q)) for p, q in pairs], 1e-6
        ):
            kept = kept and near(flat(h), [value for row in values for value in row], 1e-6)
            continue
        if not any(gate):
            return almost("cut")
        if near(gate, a, 1e-6):
            return almost("unrecorded")
        if not any(through):
            return almost("a cut")
        return not_yet("The number is right, its gradient is not.")
    if not kept:
        return correct(
            "a slice, from a call of its own, may be written to, and the slope is right. But h was overwritten: "
            "whoever else reads it now finds the sigmoid in its second half. Out of place is kinder."
        )
    return correct("nothing writes to one of several views, and the gate's own slope is in the gradient.")


def squash(value):
    return 1 / (1 + math.exp(-value))


STARTER_5 = """\
def gated(torch, h):
    a, b = h.chunk(2, dim=1)
    b.sigmoid_()
    return (a * b).sum()"""

EX5 = Exercise(
    id="08.5", kind="repair", title="A gate", minutes=4, difficulty=1, puzzles=(19,),
    question="Repair the function so that it returns the number it was meant to return, with the right gradient.",
    name="gated", starter=STARTER_5,
    hints=(
        "The message names the view and says why it may not be written to. It also says, in its last sentence, what "
        "to do.",
        "Is there any reason to do this in place? And if you insist, who makes the two views, one call or two?",
    ),
    solution=STARTER_5.replace("b.sigmoid_()", "b = b.sigmoid()") + "\n",
    why="Out of place there is no write, so nobody has to rewrite a history. Two slices, each from a call of its own, "
    "could be written to, at the price that the caller's h changes.",
    alternatives=(
        STARTER_5.replace("b.sigmoid_()", "b = b.clone().sigmoid_()") + "\n",
        STARTER_5.replace("    a, b = h.chunk(2, dim=1)",
                          "    half = h.shape[1] // 2\n    a, b = h[:, :half], h[:, half:]"),
        STARTER_5.replace("    b.sigmoid_()\n", "").replace("(a * b)", "(a * torch.sigmoid(b))"),
        "def gated(torch, h):\n    return torch.nn.functional.glu(h, 1).sum()\n",
        STARTER_5.replace("    a, b = h.chunk(2, dim=1)",
                          "    h = h.clone()\n    half = h.shape[1] // 2\n    a, b = h[:, :half], h[:, half:].clone()"),
    ),
    mistakes=(
        Mistake("still split",
                "It is still one of several views from one call that is written to. A copy of h, or split in place of "
                "chunk, does not change that.", STARTER_5.replace("h.chunk", "h.clone().chunk")),
        Mistake("unusable",
                "The write goes through now. But it changed the memory of a and b behind their backs, and views "
                "made by one call cannot catch up: the next line that uses them is refused.",
                STARTER_5.replace("    b.sigmoid_()", "    with torch.no_grad():\n        b.sigmoid_()")),
        Mistake("half inside",
                "The views were made under no_grad, and one of them is written to. Nothing says whether that write is "
                "to be recorded for the others, so it is refused: the write itself, or the next line that uses them.",
                STARTER_5.replace("    a, b", "    with torch.no_grad():\n        a, b")),
        Mistake("unrecorded",
                "The number is right, the gradient is not: the sigmoid was not recorded, and its slope is missing. The "
                "error was there to protect you.", STARTER_5.replace("b.sigmoid_", "b.data.sigmoid_")),
        Mistake("cut",
                "The number is right, but the gate gets no gradient at all: it was cut from the graph, and will "
                "never learn when to open.", STARTER_5.replace("b.sigmoid_()", "b = b.detach().sigmoid()")),
        Mistake("h cut",
                "The number is right, but no gradient reaches h: between h and the result the graph is cut.",
                STARTER_5.replace("h.chunk(2, dim=1)\n    b.sigmoid_()",
                                  "h.detach().requires_grad_().chunk(2, dim=1)\n    b = b.sigmoid()")),
        Mistake("a cut",
                "The number is right, but the first half of h gets no gradient: a was cut from the graph.",
                STARTER_5.replace("b.sigmoid_()", "a, b = a.detach(), b.sigmoid()")),
        Mistake("dropped",
                "The error went away with the sigmoid: the number that is returned is the sum of a times b, and the "
                "gate stands wide open.", STARTER_5.replace("sigmoid_()", "sigmoid()")),
        Mistake("both gated",
                "Now both halves went through the sigmoid. Only b is the gate.",
                STARTER_5.replace("    b.sigmoid_()\n", "").replace("h.chunk", "h.sigmoid().chunk")),
        Mistake("wrong half",
                "You put a through the sigmoid. The second half, b, is the gate.",
                STARTER_5.replace("b.sigmoid_()", "a = a.sigmoid()")),
    ),
    may_change=("h",),
    check=check_08_5,
)  # fmt: skip


# --- 08.6 -----------------------------------------------------------------------------------------


def check_08_6(answer, torch):
    for steps in (3, 1, 4):
        start, factor = numbers(2)
        start, factor = random.choice([-1, 1]) * start, random.choice([-1, 1]) * factor
        x0, w = leaf(torch, start), leaf(torch, factor)
        weights = numbers(steps + 1)
        try:
            out = answer(torch, x0, w, steps)
        except RuntimeError as error:
            if NO_GRAD_VIEW in str(error):
                return not_yet("A view made under no_grad is written to outside. That is another error, not a cure.")
            if LEAF_VIEW in str(error):
                return almost("a leaf as buffer")
            raise
        if not isinstance(out, torch.Tensor) or out.dim() != 1:
            return not_yet("The function should return a tensor with one dimension.")
        states = [start * factor**t for t in range(steps + 1)]
        if near(flat(out), states[1:]) or near(flat(out), [factor * state for state in states]):
            return almost("x0 is missing")
        if not near(flat(out), states):
            return not_yet(f"For {steps} steps the result should hold x0, x0 * w, x0 * w * w, and so on, "
                           f"{steps + 1} numbers in all.")  # fmt: skip
        if not out.requires_grad:
            return almost("no history")
        try:
            (out * torch.tensor(weights)).sum().backward()
        except RuntimeError as error:
            if MODIFIED not in str(error):
                raise
            return still_shared(out, str(error))
        wanted_x0 = sum(k * factor**t for t, k in enumerate(weights))
        wanted_w = sum(k * t * start * factor ** max(t - 1, 0) for t, k in enumerate(weights))
        if out.is_leaf:
            return almost("a new leaf")
        if w.grad is None:
            whole = x0.grad is not None and near(flat(x0.grad), [wanted_x0], 1e-3)
            return almost("w cut" if whole else "unrecorded")
        if x0.grad is None:
            return almost("x0 cut")
        found = [x0.grad.item(), w.grad.item()]
        if not near(found, [wanted_x0, wanted_w], 1e-3):
            one_step = sum(k * state for k, state in zip(weights[1:], states, strict=False))
            if near(found, [weights[0], one_step], 1e-3):
                return almost("numbers")
            return not_yet("The states are right, but x0 and w do not get their gradients.")
    return correct("what the product saves has memory of its own, and every state's history is kept.")


def still_shared(out, message):
    """Backward found a stale tensor: what kind of copy was made, if any?"""
    if "which is output" not in message:
        return almost("detached view")
    nodes = nodes_behind(out)
    clones = [node for node in nodes if type(node).__name__ == "CloneBackward0"]
    if not clones:
        return almost("still shared")
    if any(type(after).__name__ == "MulBackward0" for clone in clones for after, _ in clone.next_functions):
        return almost("copied too late")
    products = [node for node in nodes if type(node).__name__ == "MulBackward0"]
    if any(leads_to(product, clone) for product in products for clone in clones):
        return almost("copied too early")
    return almost("copied at the end")


def leads_to(node, goal):
    """Is there a way from one node to another along the edges?"""
    waiting, known = [node], set()
    while waiting:
        node = waiting.pop()
        if node is goal:
            return True
        if node is not None and node not in known:
            known.add(node)
            waiting += [after for after, _ in node.next_functions]
    return False


STARTER_6 = """\
def simulate(torch, x0, w, steps):
    out = torch.zeros(steps + 1)
    out[0] = x0
    for t in range(steps):
        out[t + 1] = out[t] * w
    return out"""
LIST_6 = """\
def simulate(torch, x0, w, steps):
    states = [x0]
    for t in range(steps):
        states.append(states[-1] * w)
    return torch.stack(states)
"""

EX6 = Exercise(
    id="08.6", kind="repair", title="Filling a buffer", minutes=8, difficulty=2, puzzles=(1, 2),
    question="A loop writes each state into its place of a tensor. Repair it so that backward gives the gradients for "
    "x0 and w.",
    name="simulate", starter=STARTER_6,
    hints=(
        "What does the product save, and which memory does that lie in? Which line writes to this memory next?",
        "The message says AsStrided: the saved tensor is a view of out. It needs memory of its own, and it needs it "
        "before the product saves it.",
        "Or keep the states in a Python list, where nothing is written to, and make one tensor at the end.",
    ),
    solution=STARTER_6.replace("out[t] * w", "out[t].clone() * w") + "\n",
    why="The product saves the clone, and the next write does not touch that. A list and torch.stack at the end avoid "
    "the writes altogether, and are the usual way.",
    alternatives=(
        LIST_6,
        STARTER_6.replace("        out[t + 1] = out[t] * w", "        new = out.clone()\n"
                          "        new[t + 1] = out[t] * w\n        out = new"),
        STARTER_6.replace("    out[0] = x0", "    state = out[0] = x0")
        .replace("        out[t + 1] = out[t] * w", "        state = state * w\n        out[t + 1] = state"),
        "def simulate(torch, x0, w, steps):\n    return x0 * w ** torch.arange(steps + 1)\n",
        STARTER_6.replace("out[t] * w", "(out[t] + 0) * w"),
        "def simulate(torch, x0, w, steps):\n"
        "    return x0 * torch.cat([torch.ones(1), w.expand(steps)]).cumprod(0)\n",
    ),
    mistakes=(
        Mistake("copied too late",
                "Backward still finds a stale view. The product saved out[t], and the loop writes to that memory "
                "afterwards: it is out[t] that needs memory of its own, before the product saves it.",
                STARTER_6.replace("out[t] * w", "(out[t] * w).clone()")),
        Mistake("copied too early",
                "A copy of the whole buffer, and then the product reads it and the write goes into that same copy. "
                "Reader and writer still share.",
                STARTER_6.replace("        out[t + 1]", "        out = out.clone()\n        out[t + 1]")),
        Mistake("still shared",
                "Backward still finds a stale view: a product saved a part of the buffer, and afterwards the loop "
                "writes "
                "to another part of the same memory.",
                STARTER_6.replace("out[t + 1] = out[t] * w", "out[t + 1].copy_(out[t] * w)")),
        Mistake("a leaf as buffer",
                "With requires_grad=True the buffer is a leaf, and a recorded write to a view of a leaf is refused. "
                "What "
                "is written brings its history with it; the buffer needs no flag.",
                STARTER_6.replace("zeros(steps + 1)", "zeros(steps + 1, requires_grad=True)")),
        Mistake("x0 is missing",
                "The first number is x0 * w already. The result begins with x0 itself.",
                "def simulate(torch, x0, w, steps):\n    states = []\n    for t in range(steps):\n        x0 = x0 * w\n"
                "        states.append(x0)\n    return torch.stack(states)\n"),
        Mistake("copied at the end",
                "The copy comes when the products have saved their views and the loop has overwritten the memory: no "
                "copy "
                "of the result can undo that.", STARTER_6.replace("return out", "return out.clone()")),
        Mistake("detached view",
                "detach() leaves the memory and its counter shared, so the version error stays. And the states would "
                "be cut from each other.", STARTER_6.replace("out[t] * w", "out[t].detach() * w")),
        Mistake("numbers",
                "No error and the right states, but wrong gradients: each step took the state before it as a mere "
                "number, without its history.", STARTER_6.replace("out[t] * w", "out[t].item() * w")),
        Mistake("unrecorded",
                "No error, but w gets no gradient: what is written into the buffer brings no history with "
                "it.", STARTER_6.replace("out[t + 1] =", "out.data[t + 1] =")),
        Mistake("a new leaf",
                "The states are right, and the result is a leaf that your function made: the gradient ends there, and "
                "no arrow leads on to x0 and w.",
                "def simulate(torch, x0, w, steps):\n    states = [(x0 * w**t).item() for t in range(steps + 1)]\n"
                "    return torch.tensor(states, requires_grad=True)\n"),
        Mistake("w cut",
                "No error, and x0 gets its gradient, but w gets none: it takes part in the products as a mere number.",
                STARTER_6.replace("out[t] * w", "out[t] * w.detach()")),
        Mistake("x0 cut",
                "No error, and w gets its gradient, but x0 gets none: the first state has no history.",
                STARTER_6.replace("= x0", "= x0.item()").replace("out[t] * w", "out[t].clone() * w")),
        Mistake("no history",
                "The states are right, and the result has no history at all: there is nothing to go back through.",
                STARTER_6.replace("    return out", "    return out.detach()")),
    ),
    check=check_08_6,
)  # fmt: skip


EXERCISES = [P1, P2, EX1, EX2, EX3, EX4, EX5, EX6]
