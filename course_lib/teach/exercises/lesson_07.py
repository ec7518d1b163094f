"""Exercises of lesson 07: version counters, and the error about in-place operations."""

import math
import random
import re

from course_lib.teach.exercises.outcomes import check_table, happens, judged_rows
from course_lib.teach.exercises.shared import (
    as_number,
    called,
    finite_differences,
    flat,
    leaf,
    near,
    nodes_behind,
    numbers,
    set_of_names,
)
from course_lib.teach.practice.exercise import Exercise, Mistake, almost, correct, not_yet

IN_PLACE = "modified by an inplace operation"
VERSIONS = re.compile(r"is at version (\d+); expected version (\d+) instead")


def stale_slots(y):
    """Pairs (node, slot) behind y whose tensor was written to after it was saved."""
    found = []
    for node in nodes_behind(y):
        for name in dir(node):
            if name.startswith("_saved_"):
                try:
                    getattr(node, name)
                except RuntimeError as error:
                    if IN_PLACE in str(error):
                        found.append((node, name.removeprefix("_saved_")))
    return found


# --- 07.p1 ----------------------------------------------------------------------------------------

EDITED = {
    "a": "a = x.sqrt(); a += 1",
    "b": "b = x * 2; b += 1",
    "c": "c = x.sqrt(); c = c + 1",
    "d": "d = x + 3; d *= 2",
}


def check_07_p1(answer, torch):
    given = set_of_names(answer)
    if given is None or not given <= set(EDITED):
        return not_yet('Give a list with some of the letters "a", "b", "c" and "d"; it may be empty.')
    truth = set()
    for letter, program in EDITED.items():
        space = {"x": leaf(torch, numbers(2, 2.0, 9.0))}
        exec(program, space)
        try:
            space[letter].sum().backward()
        except RuntimeError:
            truth.add(letter)
    if given == truth:
        return correct("an edit hurts only if its memory is what somebody saved.")
    wrong = {
        frozenset("abd"): "every edit",
        frozenset("abcd"): "even new tensors",
        frozenset("ac"): "even new tensors",
        frozenset("c"): "the new tensor alone",
        frozenset(): "never",
        frozenset("ab"): "every product",
        frozenset("b"): "every product",
        frozenset("ad"): "addition",
        frozenset("d"): "harmless edits",
        frozenset("bd"): "harmless edits",
    }
    named = wrong.get(frozenset(given))
    return almost(named) if named else not_yet("For each of them: which memory does the first operation keep?")


P1 = Exercise(
    id="07.p1", kind="predict", title="Edited results", minutes=2, difficulty=1, puzzles=(1,),
    question="Four results, each edited once: which backward calls raise?\n\n"
    + "\n".join(f"- {letter}: `{program}`" for letter, program in EDITED.items()),
    name="answer", starter="answer = None",
    hints=(
        "Write down what each first operation keeps: its input, its result, or no tensor of yours.",
        "a += 1 writes into the memory of a. Into which memory does c = c + 1 write?",
    ),
    solution='answer = ["a"]',
    why="Only sqrt keeps its result, and only in a is that result overwritten. x * 2 keeps the 2, addition "
    "keeps nothing, and c = c + 1 makes a new tensor.",
    alternatives=('answer = {"a"}', 'answer = "a"', 'answer = ["A"]'),
    mistakes=(
        Mistake("every edit",
                "That would mean every in-place edit breaks backward. x * 2 kept the 2 and x + 3 kept "
                "nothing: nobody misses what b and d were before.", 'answer = ["a", "b", "d"]'),
        Mistake("even new tensors",
                "c is not edited: c = c + 1 computes a new tensor and moves the name c to it. "
                "sqrt's result stays as it was.", 'answer = ["a", "c"]'),
        Mistake("the new tensor alone",
                "c = c + 1 writes into new memory. Which of the four writes into memory that its first operation kept?",
                'answer = ["c"]'),
        Mistake("never",
                "That would mean backward never needs the old values. sqrt's slope is 1 / (2 * result), and "
                "in one program that result is overwritten.", "answer = []"),
        Mistake("every product",
                "b is a product with a plain number. Its slope is the number 2, so 2 is kept, not x and "
                "not b.", 'answer = ["a", "b"]'),
        Mistake("addition",
                "d starts with an addition. Its slope is 1 whatever becomes of d, so it keeps nothing that "
                "you could overwrite.", 'answer = ["a", "d"]'),
        Mistake("harmless edits",
                "You named edits, but of results that their first operation does not keep: x + 3 keeps nothing, and "
                "x * 2 keeps the 2.", 'answer = ["b", "d"]'),
    ),
    check=check_07_p1,
)  # fmt: skip


# --- 07.p2 ----------------------------------------------------------------------------------------


def check_07_p2(answer, torch):
    if isinstance(answer, (str, list, tuple)) and any(isinstance(each, str) for each in answer):
        text = " ".join(map(str, answer))  # the message itself, filled in
        answer = [int(number) for number in re.findall(r"\d+", text)]
    if not isinstance(answer, (list, tuple)) or len(answer) != 2 or None in [as_number(each) for each in answer]:
        return not_yet("Give a pair of numbers: the version it is at, and the version that was expected.")
    x = leaf(torch, numbers(2))
    h = x * 2
    h.add_(1)
    y = h.sin()
    h.add_(1)
    h.mul_(3)
    try:
        y.sum().backward()
        truth = None
    except RuntimeError as error:
        truth = tuple(int(number) for number in VERSIONS.search(str(error)).groups())
    given = tuple(answer)
    if given == truth:
        return correct("the first number is counted to the end, the second only to the save.")
    if given[0] < given[1]:
        return almost("swapped")
    if given[0] == given[1]:
        return almost("no difference")
    wrong = {(3, 0): "from zero", (2, 0): "counted from the save", (2, 1): "one missed", (1, 0): "one write",
             (3, 2): "the save counts", (4, 1): "the save counts", (4, 2): "the save counts"}  # fmt: skip
    named = wrong.get(given)
    return almost(named) if named else not_yet("Count the operations that end in _, once to the sin and "
    "once to the end.")


P2 = Exercise(
    id="07.p2", kind="predict", title="Fill in the message", minutes=2, difficulty=1, puzzles=(2,),
    question="`h = x * 2; h.add_(1); y = h.sin(); h.add_(1); h.mul_(3)`: “is at version …; expected "
    "version … instead”.",
    name="answer", starter="answer = None",
    hints=(
        "The second number was noted by sin when it saved h. How many writes had there been?",
        "The first number is read at backward. How many writes have there been by then?",
    ),
    solution="answer = (3, 1)",
    why="One write before sin saved h, so 1 was noted; three in all by the time of backward.",
    alternatives=("answer = [3, 1]", 'answer = "3, 1"', 'answer = "(3,1)"', "answer = torch.tensor([3, 1])",
                  'answer = "is at version 3; expected version 1 instead"'),
    mistakes=(
        Mistake("swapped",
                "The order of the message is: what it is now, then what was expected. Versions only grow, so "
                "the first number is the larger.", "answer = (1, 3)"),
        Mistake("from zero",
                "You expect 0 because h began there. What was noted is the version at the moment of "
                "saving, and h.add_(1) had run before.", "answer = (3, 0)"),
        Mistake("counted from the save",
                "That is how often h is written to after the save, beginning at 0. The counter belongs to the memory, "
                "began when the memory was made, and is never set back.", "answer = (2, 0)"),
        Mistake("one missed",
                "One write after the save is missing: both h.add_(1) and h.mul_(3) come after sin.",
                "answer = (2, 1)"),
        Mistake("the save counts",
                "You counted a write too many. x * 2 and sin read, and put their results into new memory.",
                "answer = (4, 1)"),
        Mistake("no difference",
                "If the two numbers were equal, nothing would have been written after the save, and there would be no "
                "error.", "answer = (3, 3)"),
        Mistake("one write",
                "You counted a single write. Every operation whose name ends in _ is one, and there are "
                "three.", "answer = (1, 0)"),
    ),
    check=check_07_p2,
)  # fmt: skip


# --- 07.p3 ----------------------------------------------------------------------------------------


def small_network(torch, dtype=None, samples=3, inputs=2, hidden=2):
    """x, t and the four parameters of a network like the lesson's, as random numbers."""

    def rows(height, width, low=0.2, high=1.5):
        return [numbers(width, low, high) for _ in range(height)]

    dtype = dtype or torch.float32
    x, t = torch.tensor(rows(samples, inputs), dtype=dtype), torch.tensor(rows(samples, 1), dtype=dtype)
    shapes = {"W1": rows(inputs, hidden), "b1": numbers(hidden), "W2": rows(hidden, 1), "b2": numbers(1)}
    return x, t, {name: leaf(torch, values, dtype) for name, values in shapes.items()}


def check_07_p3(answer, torch):
    given = set_of_names(answer)
    if given is None or not given <= {"W1", "b1", "W2", "b2"}:
        return not_yet('Give a list with some of the names "W1", "b1", "W2" and "b2"; it may be empty.')
    truth = set()
    for name in ("W1", "b1", "W2", "b2"):
        x, t, parameters = small_network(torch)
        W1, b1, W2, b2 = parameters.values()
        loss = ((torch.relu(x @ W1 + b1) @ W2 + b2 - t) ** 2).mean()
        with torch.no_grad():
            parameters[name].mul_(0.9)
        try:
            loss.backward()
        except RuntimeError:
            truth.add(name)
    if given == truth:
        return correct("you found the one parameter that a formula still has to read.")
    wrong = {
        frozenset(): "none",
        frozenset({"W1", "W2"}): "both weights",
        frozenset({"W1"}): "first only",
        frozenset({"W1", "b1"}): "the first layer",
        frozenset({"b1", "b2"}): "the biases",
        frozenset({"W1", "b1", "W2", "b2"}): "all",
    }
    return almost(wrong.get(frozenset(given), "a bias"))


P3 = Exercise(
    id="07.p3", kind="predict", title="Which parameter must hold still?",
    minutes=3, difficulty=2, puzzles=(1, 8),
    question="Which of W1, b1, W2, b2 may not be written to between forward and backward?",
    name="answer", starter="answer = None",
    hints=(
        "A matrix product keeps a factor only if the other factor needs a gradient.",
        "Which of x and h needs a gradient?",
    ),
    solution='answer = ["W2"]',
    why="W2 is read for the gradient of h. W1 would be read for the gradient of x, which nobody wants; "
    "biases are added, and addition keeps nothing.",
    alternatives=('answer = ("W2",)', 'answer = "W2"'),
    mistakes=(
        Mistake("all",
                "That is a safe habit and not what happens: addition keeps nothing, so nobody misses the old "
                "biases, and one of the weights is not kept either.", 'answer = ["W1", "b1", "W2", "b2"]'),
        Mistake("both weights",
                "W1 is read only for the gradient of x, and x is plain data. Need decides, not the kind "
                "of parameter.", 'answer = ["W1", "W2"]'),
        Mistake("none",
                "Then the gradient of h, which is made of W2, would be taken at another W2 than the one that "
                "computed the loss.", "answer = []"),
        Mistake("a bias",
                "A bias is added, its slope is 1, and addition keeps neither operand.",
                'answer = ["W2", "b2"]'),
        Mistake("the biases",
                "You named the two that are added. For them the formulas read nothing but the incoming gradient.",
                'answer = ["b1", "b2"]'),
        Mistake("the first layer",
                "The gradients of the first layer are made of x, of where relu let something through, and of what "
                "comes from behind. Which parameter does the last of these need?", 'answer = ["W1", "b1"]'),
        Mistake("first only",
                "The other way round: the first product multiplies plain data by W1 and keeps the data; the "
                "second multiplies h, which needs a gradient.", 'answer = ["W1"]'),
    ),
    check=check_07_p3,
)  # fmt: skip


# --- 07.1 -----------------------------------------------------------------------------------------

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


def check_07_1(answer, torch):
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
    named = {row: single[row, count] for row, count in wrong.items() if (row, count) in single}
    if "v" in wrong and "d" in wrong and wrong["v"] != wrong["d"]:
        named["v"] = "own counters"
    return judged_rows(list(wrong), list(AT), named, "are right") or correct(
        "you know what counts, and who shares the count."
    )


def versions_but(**changed):
    return f"versions = {AT | changed!r}"


EX1 = Exercise(
    id="07.1", kind="predict state", title="Five counters", minutes=5, difficulty=1, puzzles=(15,),
    question=f"At which version is each of the five names after the last line?\n\n```python\n{COUNTERS}```",
    name="versions", starter='versions = {"x": None, "v": None, "d": None, "q": None, "c": None}',
    hints=(
        "First group the names: which of them share a counter?",
        "Then count writes for each counter: no_grad changes nothing, and neither does adding zero. One "
        "line is two writes.",
        "What does the very last line do to the name x?",
    ),
    solution=f"versions = {AT!r}",
    why="x, its view and its detach share a counter: 4 + 2 + 2 writes. .data counts its own three, the "
    "clone its own one. The last line gives the name x to a new tensor, at version 0.",
    alternatives=(
        f"versions = dict({', '.join(f'{k}={n}' for k, n in reversed(AT.items()))})",
        f"versions = { {name: str(count) for name, count in AT.items()}!r}",
    ),
    mistakes=(
        Mistake("own counters",
                "x, its view v and its detach d look at one memory, and the counter belongs to the memory: a write "
                "through any of them is counted for all.", versions_but(v=1, d=1)),
        Mistake("no_grad hides",
                "Two writes are missing in v and d. no_grad stops the recording, not the counting: values change "
                "there too.", versions_but(v=6, d=6)),
        Mistake("values decide",
                "Three writes are missing in v and d. No values are compared, so adding 0, multiplying by 1 and "
                "subtracting 0 count like any other.", versions_but(v=5, d=5)),
        Mistake("one write",
                "One write is missing in v and d. x[0] += 1 writes to the view x[0], and then assigns the view back "
                "into x.",
                versions_but(v=7, d=7)),
        Mistake("data counts nothing",
                "Writes through .data leave x's version alone, but q itself has a counter, and that one "
                "moves.", versions_but(q=0)),
        Mistake("data shares",
                "You let .data share the counter. It shares the memory only: its writes are counted for "
                "itself, and x never hears of them.", versions_but(v=11, d=11, q=11)),
        Mistake("clone shares",
                "clone() has memory of its own, so it starts at 0 and counts only what is written to it.",
                versions_but(c=9)),
        Mistake("same x",
                "x = x + 0 is no edit: it makes a new tensor and gives it the name x. The old memory keeps "
                "its count, and v and d still see it.", versions_but(x=8)),
    ),
    check=check_07_1,
)  # fmt: skip


# --- 07.2 -----------------------------------------------------------------------------------------

PROGRAMS = {
    "A": "y = x.exp(); y.add_(1)",
    "B": "h = x * 1; y = h.exp(); h.add_(1)",
    "C": "y = x.sigmoid(); y.add_(1); y.sub_(1)",
    "D": "y = x * 2; x.add_(1)",
    "E": "h = x * 1; y = h * h; h.data.mul_(10)",
    "F": "y = x * x; x.detach().add_(1)",
    "G": "y = x * 2; x.data[0] = 999.0",
    "H": "h = x * 1; h.add_(1); y = h * h",
}
SLOPES = {  # of the formula that computed y, at the x it was computed with
    "A": math.exp,
    "B": math.exp,
    "C": lambda v: math.exp(-v) / (1 + math.exp(-v)) ** 2,
    "D": lambda v: 2.0,
    "E": lambda v: 2 * v,
    "F": lambda v: 2 * v,
    "G": lambda v: 2.0,
    "H": lambda v: 2 * (v + 1),
}
HAPPENS = {
    "A": "raises at backward",
    "B": "fine",
    "C": "raises at backward",
    "D": "raises now",
    "E": "silently wrong",
    "F": "raises at backward",
    "G": "fine",
    "H": "fine",
}
WRONG_HAPPENS = {
    ("A", "fine"): "adding is harmless",
    ("A", "silently wrong"): "nobody looks",
    ("C", "silently wrong"): "nobody looks",
    ("B", "silently wrong"): "any operand",
    ("D", "silently wrong"): "a leaf waits",
    ("H", "silently wrong"): "before or after",
    **{(letter, "raises now"): "all at once" for letter in "ABCH"},
    ("E", "raises now"): "data is refused",
    ("G", "raises now"): "data is refused",
    ("F", "raises now"): "detached is refused",
    ("B", "raises at backward"): "any operand",
    ("C", "fine"): "undone",
    ("D", "raises at backward"): "a leaf waits",
    ("D", "fine"): "a leaf waits",
    ("E", "fine"): "no error, no harm",
    ("E", "raises at backward"): "data counts",
    ("F", "fine"): "detached is separate",
    ("F", "silently wrong"): "detached is separate",
    ("G", "silently wrong"): "data always harms",
    ("G", "raises at backward"): "data always harms",
    ("H", "raises at backward"): "before or after",
}


def what_happens(program, slope, torch):
    """Run a program, then backward, and say which of the four outcomes it has."""
    values = [1.0, 2.0]
    x = leaf(torch, values)
    wanted = [slope(v) for v in values]
    steps = program, "y.sum().backward()"
    return happens(steps, {"torch": torch, "x": x}, lambda space: near(flat(x.grad), wanted))


def check_07_2(answer, torch):
    def measure(letter):
        return what_happens(PROGRAMS[letter], SLOPES[letter], torch)

    return check_table(
        answer, PROGRAMS, measure, WRONG_HAPPENS,
        shown="you can tell an edit that raises from one that is safe, and both from one that lies.",
    )


def happens_but(letter, phrase):
    return f"happens = {HAPPENS | {letter: phrase}!r}"


EX2 = Exercise(
    id="07.2", kind="which happens", title="Which happens?", minutes=8, difficulty=2, puzzles=(1, 2, 3, 15),
    question="Each program, then `y.sum().backward()`: fine, raises now, raises at backward, or silently "
    "wrong?\n\n"
    + "\n".join(f"- {letter}: `{program}`" for letter, program in PROGRAMS.items()),
    name="happens",
    starter="happens = {" + ", ".join(f'"{letter}": None' for letter in PROGRAMS) + "}",
    hints=(
        "Three questions for each: what was saved? Was that memory written to afterwards? Did the write "
        "count?",
        "Saved and written and counted: raises. Saved and written, not counted: wrong. Otherwise fine. And "
        "one program writes where no write is allowed.",
    ),
    solution=f"happens = {HAPPENS!r}",
    why="A and C overwrite a saved result, F a saved input through detach, which shares the counter. D "
    "writes to a leaf. E writes to a saved tensor without counting. B, G and H write to memory that nobody "
    "saved, or before the save.",
    alternatives=(
        f"happens = dict({', '.join(f'{k}={v!r}' for k, v in reversed(HAPPENS.items()))})",
        f"happens = { {letter: f' {phrase.capitalize()} ' for letter, phrase in HAPPENS.items()}!r}",
    ),
    mistakes=(
        Mistake("adding is harmless",
                "A: adding has slope 1, true, but it wrote over the result that exp saved, and "
                "exp's slope is that result.", happens_but("A", "fine")),
        Mistake("nobody looks",
                "A and C write over the result that backward will read, and such a write is counted. The "
                "check finds it, so there is an error and no wrong number.", happens_but("A", "silently wrong")),
        Mistake("all at once",
                "A, B, C and H write to a computed tensor. Such a write goes through; what matters is what backward "
                "finds.", happens_but("B", "raises now")),
        Mistake("data is refused",
                "E and G write through .data. What .data gives does not require grad, so nothing refuses the write.",
                happens_but("G", "raises now")),
        Mistake("detached is refused",
                "F: x.detach() does not require grad, so the write is not refused, although it reaches the memory of a "
                "leaf that does.", happens_but("F", "raises now")),
        Mistake("any operand",
                "B: exp keeps its result, not h. Whoever overwrites h afterwards takes nothing from it.",
                happens_but("B", "raises at backward")),
        Mistake("undone",
                "C: the values are about what they were, the version is not. The check compares counters, because "
                "comparing values would need a copy.", happens_but("C", "fine")),
        Mistake("a leaf waits",
                "D: x is a leaf that requires grad, with grad mode on. That write is refused on the "
                "spot, before any backward.", happens_but("D", "raises at backward")),
        Mistake("no error, no harm",
                "E: no error indeed, but h * h saved h, and its memory now holds ten times the "
                "numbers. The gradient is ten times too large.", happens_but("E", "fine")),
        Mistake("data counts",
                "E: the write goes through .data, which has a counter of its own. The saved tensor's "
                "version has not moved, so nothing is noticed.", happens_but("E", "raises at backward")),
        Mistake("detached is separate",
                "F: x.detach() is cut from the graph, not from the memory, and it shares x's "
                "counter. The product saved x, and the write is noticed.", happens_but("F", "fine")),
        Mistake("data always harms",
                "G: x * 2 saved the 2. Nobody will read x again, so writing over it changes no "
                "gradient.", happens_but("G", "silently wrong")),
        Mistake("before or after",
                "H: the write comes before h is saved. The product notes the version that it finds, "
                "and that one stays.", happens_but("H", "raises at backward")),
    ),
    check=check_07_2,
)  # fmt: skip


# --- 07.3 -----------------------------------------------------------------------------------------


def check_07_3(answer, torch):
    for shape in ((4,), (2, 3), (), (1, 2, 1)):
        size = math.prod(shape)
        values = [number * (-1) ** (place + 1) for place, number in enumerate(numbers(size))]  # both signs
        x = torch.tensor(values, dtype=torch.float64).reshape(shape).requires_grad_()
        y = answer(torch, x)
        if not isinstance(y, torch.Tensor) or y.numel() != 1:
            return not_yet("The function should return a tensor with one element.")
        sigmoid = [1 / (1 + math.exp(-v)) for v in values]
        if near(flat(y), [sum(s * s for s in sigmoid)]):
            return almost("not centred")
        if not near(flat(y), [sum((s - 0.5) ** 2 for s in sigmoid)]):
            return not_yet(f"The number that is returned is not the sum of (p - 0.5)², for x of shape {list(shape)}.")
        if not y.requires_grad:
            return almost("cut")
        rewritten = sigmoid_rewritten(y, sigmoid)
        stale = [type(node).__name__ for node, _ in stale_slots(y)]
        try:
            y.backward()
        except RuntimeError as error:
            if IN_PLACE not in str(error):
                raise
            if "SigmoidBackward0" not in stale:
                return not_yet("What sigmoid saved is as it was. But another node finds that what it saved was "
                               f"overwritten: {', '.join(stale)}.")  # fmt: skip
            return still_written(y)
        if x.grad is None:
            return almost("cut")
        if not near(flat(x.grad), [2 * (s - 0.5) * s * (1 - s) for s in sigmoid]):
            return almost("uncounted" if rewritten else "hidden from backward")
    return correct("sigmoid's result stands as it was saved, and the centring happens in other memory.")


def named_behind(y, name):
    """The nodes behind y that are called so."""
    return [node for node in nodes_behind(y) if type(node).__name__ == name]


def sigmoid_rewritten(y, sigmoid):
    """Does a sigmoid node behind y hold other numbers than sigmoid gave, without knowing it?"""
    for node in named_behind(y, "SigmoidBackward0"):
        try:
            if not near(flat(node._saved_result), sigmoid):
                return True
        except RuntimeError:
            pass
    return False


def still_written(y):
    """Backward found that sigmoid's result was overwritten: by what kind of repair was that not prevented?"""
    if named_behind(y, "CopySlices"):
        return almost("a view")
    sigmoids = set(named_behind(y, "SigmoidBackward0"))
    users = {
        type(node).__name__ for node in nodes_behind(y) if sigmoids & {after for after, _ in node.next_functions}
    }
    if users and users <= {"MulBackward0", "PowBackward0"}:  # the subtraction is not in the graph
        return almost("hidden write")
    if named_behind(y, "CloneBackward0"):
        return almost("late copy")
    return almost("still in place")


STARTER_3 = """\
def centred(torch, x):
    p = x.sigmoid()
    q = p
    q.sub_(0.5)
    return (q * q).sum()"""

EX3 = Exercise(
    id="07.3", kind="repair", title="Repair with one call", minutes=4, difficulty=1, puzzles=(1, 15),
    question="Change one place so that centred(torch, x).backward() runs. The function should return the same number "
    "as now, and x.grad should be the gradient of that number.",
    name="centred", starter=STARTER_3,
    hints=(
        "Which memory did sigmoid save, and which line writes into it? q = p copies nothing.",
        "Either q gets memory of its own before the write, or nothing is written at all.",
    ),
    solution=STARTER_3.replace("q = p\n", "q = p.clone()\n") + "\n",
    why="clone() gives q memory and a counter of its own, and is recorded, so the gradient still flows. "
    "Writing q = p - 0.5 instead of the two lines is as good.",
    alternatives=(
        STARTER_3.replace("    q = p\n    q.sub_(0.5)", "    q = p - 0.5"),
        STARTER_3.replace("q.sub_(0.5)", "q = q.sub(0.5)"),
        STARTER_3.replace("q = p\n", "q = torch.empty_like(p).copy_(p)\n"),
    ),
    mistakes=(
        Mistake("hidden write",
                "You hid the write from the graph, by no_grad or by detach(). It still goes to the memory "
                "that sigmoid saved, and the counter still sees it.",
                STARTER_3.replace("    q.sub_(0.5)", "    with torch.no_grad():\n        q.sub_(0.5)")),
        Mistake("late copy",
                "You copied, but not between sigmoid and the write: what is written to is still the memory "
                "that sigmoid saved.", STARTER_3.replace("q.sub_(0.5)", "q = q.sub_(0.5).clone()")),
        Mistake("uncounted",
                "No error, and a wrong gradient: the write was not counted, so backward took sigmoid's slope "
                "from the centred numbers. This is what the error protects you from.",
                STARTER_3.replace("q.sub_(0.5)", "q.data.sub_(0.5)")),
        Mistake("cut",
                "What you go on with is cut from the graph: nothing leads from the result back to x. The error "
                "is gone because the gradient is.", STARTER_3.replace("q = p\n", "q = p.detach().clone()\n")),
        Mistake("not centred",
                "The error went away with the centring: the function now returns the sum of p², another "
                "number than before.", STARTER_3.replace("    q.sub_(0.5)\n", "    q.sub(0.5)\n")),
        Mistake("still in place",
                "It still writes into the memory that sigmoid saved. `-=` and add_ write in place as sub_ does.",
                STARTER_3.replace("q.sub_(0.5)", "q -= 0.5")),
        Mistake("a view",
                "A view has no memory of its own: the write still goes to what sigmoid saved.",
                STARTER_3.replace("q = p\n", "q = p.view_as(p)\n")),
        Mistake("hidden from backward",
                "The number is right, and what sigmoid saved is as it was. But a part of the computation is hidden "
                "from backward, and its share of the gradient is missing.",
                STARTER_3.replace("q = p\n", "q = p.clone()\n").replace("q * q", "q * q.detach()")),
        Mistake("guard: changed a .grad", "The loss is all that was asked for: whoever asked calls backward.",
                STARTER_3.replace("    q = p\n", "    q = p.clone()\n")
                .replace("    return (q * q).sum()", "    loss = (q * q).sum()\n    loss.backward()\n    return loss")),
    ),
    check=check_07_3,
)  # fmt: skip


# --- 07.4 -----------------------------------------------------------------------------------------


def raised_by_library(error, torch):
    """Was the error raised by the library, and not by a line of the learner's?"""
    step = error.__traceback__
    while step.tb_next is not None:
        step = step.tb_next
    return step.tb_frame.f_globals.get("__name__", "").partition(".")[0] == torch.__name__


def check_07_4(answer, torch):
    try:
        y = answer(torch)
    except RuntimeError as error:
        if "in-place operation" in str(error):
            return almost("too early")
        if IN_PLACE in str(error):
            return almost("raised inside")
        raise
    if not isinstance(y, torch.Tensor) or y.grad_fn is None:
        return not_yet("Return a tensor that was computed from x, so that it has a backward.")
    stale = {slot for _, slot in stale_slots(y)}
    try:
        y.sum().backward()
    except RuntimeError as error:
        found = VERSIONS.search(str(error))
        if not found:
            return not_yet("Backward raises, but another error than the one that is wanted.")
        if not raised_by_library(error, torch):
            return almost("by hand")
        seen, expected = (int(number) for number in found.groups())
        if (seen, expected) == (4, 2):
            if "which is output 0 of Neg," not in str(error):
                if "which is output" not in str(error):
                    return almost("no name")
                if stale == {"result"}:
                    return almost("a saved result")
                return almost("unrecorded" if called(answer, "no_grad", "detach") else "another writer")
            return correct("you can say which writes came before the save, which after, and who wrote last.")
        if called(answer, "data"):
            return almost("uncounted")
        if expected < 2:
            return almost("saved too early")
        if expected > 2:
            return almost("saved too late")
        return almost("miscounted")
    return almost("uncounted" if called(answer, "data") else "nothing was saved")


STARTER_4 = """\
def cause(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    return y"""


def cause_source(*lines):
    """The source of an answer with these lines between x and return."""
    return STARTER_4.replace("    y = x * 1\n", "".join(f"    {line}\n" for line in lines))


WRITES = ("w = x * 3", "w.add_(1)", "w.mul_(2)", "y = w.log()", "w.add_(1)", "w.neg_()")
EX4 = Exercise(
    id="07.4", kind="cause this error", title="Cause this error", minutes=10, difficulty=2, puzzles=(1, 2),
    question="Return a y whose y.sum().backward() raises “… which is output 0 of Neg, is at version 4; "
    "expected version 2 instead”.",
    name="cause", starter=STARTER_4,
    hints=(
        "How many writes must there be before a tensor is saved, and how many after?",
        "You need an operation that saves a tensor which you may write to: not the leaf x, but something "
        "computed from it. Which operations save their input?",
        "For a saved input the message names the last recorded operation that made or changed it.",
    ),
    solution=cause_source(*WRITES) + "\n",
    why="Two writes, then log saves w and notes 2, then two more. w's present value was made by neg_, so the "
    "message says output 0 of Neg.",
    alternatives=(
        cause_source("h = x + 1", "h[0] += 1", "y = h * h", "h.zero_()", "h.neg_()"),
        cause_source("h = x + 1", "h.detach().add_(1).sub_(1)", "y = h.cos()", "h.mul_(3).neg_()"),
    ),
    mistakes=(
        Mistake("too early",
                "Your function itself raises: it writes to the leaf x, or to a view of it, with grad mode on, which is "
                "refused at once. Write to a tensor that was computed from x.", cause_source("x.neg_()", "y = x * x")),
        Mistake("nothing was saved",
                "Backward runs through: no tensor that a node saved was written to after the save. Look for an "
                "operation whose slope is made of a tensor, and overwrite that tensor afterwards.",
                cause_source("y = x * 3", "y.add_(1)", "y.mul_(2)", "y.add_(1)", "y.neg_()")),
        Mistake("uncounted",
                "A write through .data is not counted: the version that backward compares stays where it was.",
                cause_source(*WRITES[:4], "w.data.add_(1)", "w.data.neg_()")),
        Mistake("unrecorded",
                "Both numbers are right, but the message names the last *recorded* operation. A write under "
                "no_grad or through detach() is counted and not recorded.",
                cause_source(*WRITES[:4], "with torch.no_grad():", "    w.add_(1)", "    w.neg_()")),
        Mistake("saved too early",
                "The error is there, but it expected an earlier version: the tensor was saved before two "
                "writes had been made.", cause_source("w = x * 3", "y = w.log()", *WRITES[1:3], *WRITES[4:])),
        Mistake("saved too late",
                "The error is there, but it expected a later version: more than two writes came before the "
                "save.", cause_source(*WRITES[:3], "w.add_(1)", *WRITES[3:])),
        Mistake("miscounted",
                "The save is in the right place. The writes after it are not two: every name ending in _ "
                "counts one, and x[0] += 1 counts two.", cause_source(*WRITES[:4], "w.neg_()")),
        Mistake("another writer",
                "Both numbers are right, but the message names another operation: for a saved input, the last recorded "
                "one that wrote.", cause_source(*WRITES[:4], "w.neg_()", "w.add_(1)")),
        Mistake("a saved result",
                "Both numbers are right, but what is stale is a *result*, and a result is named after the node that "
                "saved it, whoever wrote last.", cause_source("w = x * 3", "w.add_(1)", "y = w.exp_()", "w.add_(1)",
                                                              "w = w.neg_()")),
        Mistake("no name",
                "Both numbers are right, but the message names no operation: what was saved is a leaf or a plain "
                "tensor, "
                "and no recorded operation made it.",
                cause_source("w = torch.ones(2)", "w.add_(1).mul_(2)", "y = x * w", "w.add_(1).neg_()")),
        Mistake("raised inside",
                "Your function raises the error itself. Build y and return it: the check calls backward.",
                cause_source(*WRITES, "y.sum().backward()")),
        Mistake("by hand",
                "That message was raised by hand. Make the library say it.",
                cause_source("def hook(grad):", "    raise RuntimeError('which is output 0 of Neg, is at version 4; '",
                             "                       'expected version 2 instead')", "y = x * 1",
                             "y.register_hook(hook)")),
    ),
    check=check_07_4,
)  # fmt: skip


# --- 07.5 -----------------------------------------------------------------------------------------

def loss_of(torch, x, t, values, mask):
    """The loss of exercise 07.5, out of place and without a graph; `values` are the four parameters."""
    W1, b1, W2, b2 = values
    with torch.no_grad():
        return ((torch.relu(x @ W1 + b1) * mask @ W2 + b2 - t) ** 2).mean().item()


def check_07_5(answer, torch):
    for samples, inputs, hidden in ((3, 2, 2), (4, 3, 5)):
        verdict = check_one_step(answer, torch, samples, inputs, hidden)
        if verdict:
            return verdict
    return correct("everything that backward reads is read before it is written, and every gradient is exact.")


def random_mask(torch, samples, hidden):
    """Zeros and twos, with at least one of each in every column."""
    columns = [random.sample([0.0, 2.0] + random.choices([0.0, 2.0], k=samples - 2), samples) for _ in range(hidden)]
    return torch.tensor(columns, dtype=torch.float64).T.contiguous()


def check_one_step(answer, torch, samples, inputs, hidden):
    """What is wrong with a step of a network of this size: a verdict, or None."""
    x, t, parameters = small_network(torch, torch.float64, samples, inputs, hidden)
    names, tensors = list(parameters), list(parameters.values())
    mask = random_mask(torch, samples, hidden)
    old = [tensor.detach().clone() for tensor in tensors]
    gradients = finite_differences(torch, lambda *values: loss_of(torch, x, t, values, mask), old)
    gradients = [flat(gradient) for gradient in gradients]
    try:
        returned = answer(torch, x, t, *tensors, mask)
    except (RuntimeError, TypeError) as error:
        if IN_PLACE in str(error):
            return almost("decay too early" if f"[{hidden}, 1]" in str(error) else "mask in place")
        if isinstance(error, TypeError) and "NoneType" in str(error):
            reached = {name for name, tensor in parameters.items() if tensor.grad is not None}
            if not reached:
                return almost("no pass")
            if "W2" not in reached:
                return almost("W2 cut")
            if "W1" not in reached:
                return almost("cut")
            return almost("another W2")
        raise
    if isinstance(returned, torch.Tensor):
        return not_yet("The loss should come back as a Python number: loss.item().")
    if not isinstance(returned, float):
        return not_yet("The function should return the loss, as a Python number.")
    if not near([returned], [loss_of(torch, x, t, old, mask)]):
        W1, b1, W2, b2 = old
        if near([returned], [loss_of(torch, x, t, (W1, b1, 0.99 * W2, b2), mask)]):
            return almost("decay before forward")
        if near([returned], [loss_of(torch, x, t, old, torch.ones_like(mask))]):
            return almost("no mask")
        return not_yet("The loss that is returned is not that of the masked network at the old parameters.")
    moves = [flat(new.detach() - was) for new, was in zip(tensors, old, strict=True)]
    if not any(map(any, (moves[names.index(name)] for name in ("W1", "b1", "b2")))):
        return almost("names moved")
    unseen = [unmasked(torch, x, t, old, mask), [slope / 2 for slope in gradients[0]]]  # 2 is what the mask lets in
    for name, move, was, slopes in zip(names, moves, old, gradients, strict=True):
        grad = parameters[name].grad
        if grad is not None and near(flat(grad), [2 * slope for slope in slopes], 1e-6):
            return almost("two passes")
        found = judge_move(name, move, flat(was), slopes, unseen)
        if found:
            return found
    return None


def unmasked(torch, x, t, values, mask):
    """The gradient for W1 of a step whose mask changes the numbers and not their slopes."""
    W1, b1, W2, b2 = (value.clone().requires_grad_() for value in values)
    h = torch.relu(x @ W1 + b1)
    h = h + (h * mask - h).detach()
    return flat(torch.autograd.grad(((h @ W2 + b2 - t) ** 2).mean(), W1)[0])


def judge_move(name, move, was, slopes, unseen):
    """What is wrong with the way that one parameter has gone: a verdict, or None.

    unseen: gradients for W1 of steps that hide the mask from backward.
    """
    step = [-0.1 * slope for slope in slopes]
    decayed = [m - 0.01 * w for w, m in zip(was, step, strict=True)]
    late = [0.99 * (w + m) - w for w, m in zip(was, step, strict=True)]
    if near(move, decayed if name == "W2" else step, 1e-6):
        return None
    if near(move, [-m for m in step], 1e-6):
        return almost("uphill")
    if name != "W2" and near(move, decayed, 1e-6):
        return almost("all decayed")
    if name == "W2" and near(move, late, 1e-6):
        return almost("decay too late")
    if name == "W2" and near(move, step, 1e-6):
        return almost("no decay")
    if name == "W1" and near(move, [0.99 * m for m in step], 1e-6):
        return almost("uncounted decay")
    if name == "W1" and any(near(move, [-0.1 * slope for slope in other], 1e-6) for other in unseen):
        return almost("uncounted mask")
    return not_yet(f"{name} did not move by what the question asks for.")


STARTER_5 = """\
def train_step(torch, x, t, W1, b1, W2, b2, mask):
    h = torch.relu(x @ W1 + b1)
    h *= mask
    loss = ((h @ W2 + b2 - t) ** 2).mean()
    with torch.no_grad():
        W2 *= 0.99
    loss.backward()
    with torch.no_grad():
        for p in (W1, b1, W2, b2):
            p -= 0.1 * p.grad
    return loss.item()"""
EARLY = "    with torch.no_grad():\n        W2 *= 0.99\n    loss.backward()\n"
ORDERED = "    loss.backward()\n    with torch.no_grad():\n        W2 *= 0.99\n"
MASKED = STARTER_5.replace("h *= mask", "h = h * mask")
SOLVED = MASKED.replace(EARLY, ORDERED)

EX5 = Exercise(
    id="07.5", kind="repair", title="Repair a training step", minutes=12, difficulty=3, puzzles=(1, 2, 3, 8),
    question="Dropout and weight decay by hand. Make the step run, with exact gradients and the updates as "
    "described.",
    name="train_step", starter=STARTER_5,
    hints=(
        "There are two mistakes. Repair the one that the message names, run it again, and read the next "
        "message.",
        "What did relu save? Which line writes into it, and how would you write that line without writing "
        "into it?",
        "Which line reads everything that was saved? Updates of parameters belong after it; decay before "
        "the step.",
    ),
    solution=SOLVED + "\n",
    why="relu saved h, so the mask makes a new tensor. The second product saved W2, so decay waits until "
    "backward has read it, and comes before the step so that the step itself is not shrunk.",
    alternatives=(
        STARTER_5.replace("    h *= mask\n", "")
        .replace("W1 + b1)", "W1 + b1) * mask")
        .replace(EARLY, "    loss.backward()\n")
        .replace("        for p in", "        W2 -= 0.01 * W2\n        for p in"),
        MASKED.replace(EARLY, "    loss.backward()\n    W2.detach().mul_(0.99)\n"),
        SOLVED.replace("    loss.backward()\n", "    slopes = torch.autograd.grad(loss, (W1, b1, W2, b2))\n")
        .replace("for p in (W1, b1, W2, b2)", "for p, slope in zip((W1, b1, W2, b2), slopes)")
        .replace("0.1 * p.grad", "0.1 * slope"),
    ),
    mistakes=(
        Mistake("mask in place",
                "W2 is in order now. The mask still writes into the result that relu saved, and relu's slope is read "
                "from it.", STARTER_5.replace(EARLY, ORDERED)),
        Mistake("decay too early",
                "W2 is written to before backward has read it: the gradient of h is made of W2.", MASKED),
        Mistake("uncounted mask",
                "No error, but W1 gets the gradient of a network without the mask: the mask was applied where backward "
                "does not see it, through .data, no_grad or detach().",
                STARTER_5.replace("h *= mask", "h.data.mul_(mask)").replace(EARLY, ORDERED)),
        Mistake("uncounted decay",
                "No error, but W1 and b1 moved by 1 % too little: W2 was shrunk behind the counter's "
                "back, and backward used the shrunk one.",
                MASKED.replace(EARLY, "    W2.data.mul_(0.99)\n    loss.backward()\n")),
        Mistake("decay too late",
                "Nothing raises, but the decay comes after the step, and so shrinks the step as well: "
                "0.99 · (W2 - 0.1 · gradient).",
                MASKED.replace(EARLY, "    loss.backward()\n")
                .replace("    return", "        W2 *= 0.99\n    return")),
        Mistake("no pass",
                "No parameter has a gradient when the update comes: no backward pass has run.",
                MASKED.replace(EARLY, "    with torch.no_grad():\n        W2 *= 0.99\n")),
        Mistake("decay before forward",
                "The loss that is returned is that of the shrunk W2: it was decayed before the loss was computed. Loss "
                "and gradients are wanted at the parameters that were given.",
                MASKED.replace(EARLY, "    loss.backward()\n")
                .replace("    h = torch.relu", "    with torch.no_grad():\n        W2 *= 0.99\n    h = torch.relu")),
        Mistake("no mask",
                "The loss that is returned is that of a network without the mask: what h * mask gives must go on into "
                "the second product.",
                SOLVED.replace("h = h * mask", "h * mask")),
        Mistake("guard: wrote into an argument",
                "x, t and mask are only to be read.",
                STARTER_5.replace("h *= mask", "mask *= h\n    h = mask").replace(EARLY, ORDERED)),
        Mistake("names moved",
                "W1, b1 and b2 are where they were. The caller's parameters must be written to; a line such as "
                "p = p - … only moves the name p to a new tensor.",
                SOLVED.replace("p -= 0.1", "p = p - 0.1")),
        Mistake("uphill",
                "A parameter goes the right length in the wrong direction: descent subtracts the gradient.",
                SOLVED.replace("p -= 0.1", "p += 0.1")),
        Mistake("cut",
                "The first layer gets no gradient any more: h was cut from the graph, which silences the "
                "error and stops the learning.",
                STARTER_5.replace("h *= mask", "h = h.detach() * mask").replace(EARLY, ORDERED)),
        Mistake("all decayed",
                "Only W2 was to be decayed; your step shrinks the other parameters as well.",
                MASKED.replace(EARLY, "    loss.backward()\n")
                .replace("            p -=", "            p *= 0.99\n            p -=")),
        Mistake("no decay",
                "The step is right, but W2 is not decayed: the caller's W2 itself must shrink by 0.99.",
                MASKED.replace(EARLY, "    loss.backward()\n")),
        Mistake("another W2",
                "All four parameters have a gradient, but the update meets a tensor that has none. W2 = W2 * 0.99, for "
                "one, makes a new tensor that is called W2 inside the function only.",
                MASKED.replace("W2 *= 0.99", "W2 = W2 * 0.99")),
        Mistake("W2 cut",
                "No gradient reaches the W2 that was given: the second product was computed with another tensor, or "
                "with W2 cut from the graph.",
                SOLVED.replace("h @ W2", "h @ W2.detach()")),
        Mistake("two passes",
                "A parameter's .grad holds its gradient twice: two passes ran, and the second one added to the first.",
                SOLVED.replace("    loss.backward()", "    loss.backward(retain_graph=True)\n    loss.backward()")),
    ),
    may_change=("W1", "b1", "W2", "b2"),
    check=check_07_5,
)  # fmt: skip


EXERCISES = [P1, P2, P3, EX1, EX2, EX3, EX4, EX5]
