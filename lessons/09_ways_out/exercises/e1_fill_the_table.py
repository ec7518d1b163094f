"""Exercise 09.1: fill the table."""

import random

from coursekit.judge.exercise import Exercise, Mistake, correct, not_yet
from coursekit.judge.table import judged_rows


def measured_table(torch):
    """For each way out: does it share memory, does it share the counter, do gradients flow?"""

    def without_recording(x):
        with torch.no_grad():
            return x * 1

    ways = {
        "detach": lambda x: x.detach(),
        "data": lambda x: x.data,
        "clone": lambda x: x.clone(),
        "no_grad": without_recording,
        "both": lambda x: x.detach().clone(),
    }
    table = {}
    for name, leave in ways.items():
        x = torch.tensor([random.uniform(1, 2)], requires_grad=True)
        out = leave(x)
        before, version = x.item(), x._version
        with torch.no_grad():
            out.add_(1)
        memory, counter = x.item() != before, x._version != version
        fresh = leave(x)
        if fresh.requires_grad:
            (fresh * 1).sum().backward()
        table[name] = (memory, counter, x.grad is not None)
    return table


def check(answer, torch):
    """Measure every entry and compare."""
    truth = measured_table(torch)
    if not isinstance(answer, dict) or set(answer) != set(truth):
        return not_yet(f"Keep the dictionary with the keys {', '.join(truth)}.")
    given = {}
    for name, row in answer.items():
        if not isinstance(row, tuple | list) or len(row) != 3:
            return not_yet(f"{name}: three answers are wanted, such as (True, False, False); it is {row!r}.")
        if not all(entry in (True, False) for entry in row):
            return not_yet(f"{name}: each of the three is True or False; it is {row!r}.")
        given[name] = tuple(bool(entry) for entry in row)
    wrong = [name for name in truth if given[name] != truth[name]]
    named = {name: mistake for name in wrong if (mistake := mistake_in_row(name, given[name], truth[name]))}
    shown = "You can tell the five apart by what they share. `no_grad` and `both` share nothing."
    return judged_rows(wrong, list(truth), named, "rows are right") or correct(shown)


WRONG_ENTRIES = {  # (row, column) -> the mistake, when nothing before it in the row is wrong
    ("detach", 0): "detach copies",
    ("detach", 1): "detach is uncounted",
    ("detach", 2): "detach lets gradients through",
    ("data", 0): "data copies",
    ("data", 1): "data is counted",
    ("data", 2): "data lets gradients through",
    ("clone", 0): "clone shares",
    ("clone", 1): "a counter without memory",
    ("clone", 2): "clone cuts",
    ("no_grad", 0): "no_grad is a view",
    ("no_grad", 1): "a counter without memory",
    ("no_grad", 2): "no_grad records",
    ("both", 0): "both share",
    ("both", 1): "a counter without memory",
    ("both", 2): "clone reattaches",
}


def mistake_in_row(name, given, truth):
    """The name of the first mistake in a row of 09.1."""
    columns = [column for column in range(3) if given[column] != truth[column]]
    return WRONG_ENTRIES.get((name, columns[0]))


RIGHT = {
    "detach": (True, True, False),
    "data": (True, False, False),
    "clone": (False, False, True),
    "no_grad": (False, False, False),
    "both": (False, False, False),
}


def table_source(**changes):
    """Source text of the whole table of 09.1, with some rows changed."""
    return f"table = { ({**RIGHT, **changes})!r}\n"


EXERCISE = Exercise(
    id="09.1", kind="predict state", title="Fill the table", minutes=6, difficulty=2, puzzles=(15,),
    question="For detach, data, clone, no_grad (`x * 1` inside) and both (`x.detach().clone()`): shares memory? a "
    "write moves x's counter? gradients flow to x? Three booleans each.",
    name="table", starter='table = {"detach": None, "data": None, "clone": None, "no_grad": None, "both": None}\n',
    hints=(
        "Start with memory: which of the five make new numbers, and which show the old ones?",
        "Without shared memory there is no shared counter. For the third column ask: was the operation recorded?",
    ),
    solution=table_source(),
    why="detach and .data are windows on x, with and without its counter; the others have memory of their own.",
    alternatives=(
        "cut = (False, False, False)\n"
        "table = dict(no_grad=cut, both=cut, clone=(False, False, True))\n"
        "table.update(detach=(True, True, False), data=(True, False, False))\n",
    ),
    mistakes=(
        Mistake("detach copies", "detach: it makes no copy; a write to the result changes x.",
                table_source(detach=(False, False, False))),
        Mistake("detach is uncounted", "detach: the counter goes with it, which is why the check catches such a "
                "write.", table_source(detach=(True, False, False))),
        Mistake("data copies", "data: no copy here either; x holds whatever is written through `.data`.",
                table_source(data=(False, False, False))),
        Mistake("data is counted", "data: the memory is x's, the counter is not; hence 60 for 6.",
                table_source(data=(True, True, False))),
        Mistake("clone cuts", "clone: copying is an operation, it is recorded, and gradients flow back through it.",
                table_source(clone=(False, False, False))),
        Mistake("clone shares", "clone: the copy has numbers of its own, and writing to it leaves x alone.",
                table_source(clone=(True, True, True))),
        Mistake("no_grad records", "no_grad: that is just what it does not do; the result has no history.",
                table_source(no_grad=(False, False, True))),
        Mistake("no_grad is a view", "no_grad: `x * 1` computes new numbers, inside as outside; only the recording "
                "is off.", table_source(no_grad=(True, True, False))),
        Mistake("clone reattaches", "both: after detach there is no path left, and a copy of the result does not "
                "bring one back.", table_source(both=(False, False, True))),
        Mistake("both share", "both: clone copies, whatever it is called on; a write to the copy reaches nobody else.",
                table_source(both=(True, True, False))),
        Mistake("detach lets gradients through", "detach: no operation is recorded, so no arrow leads from the "
                "result back to x.", table_source(detach=(True, True, True))),
        Mistake("data lets gradients through", "data: like detach, it hands out a tensor without history; a backward "
                "pass does not get from it to x.", table_source(data=(True, False, True))),
        Mistake("a counter without memory", "A counter counts the writes to one memory. A result in a memory of its "
                "own does not move the counter of x, even if it is still in the graph.",
                table_source(clone=(False, True, True))),
    ),
    check=check,
)  # fmt: skip
