"""Exercise 14c.1: the bill."""

from coursekit.judge.exercise import ALMOST, Exercise, Mistake, almost, correct, edit, not_yet
from coursekit.judge.table import judged_rows
from lessons.checkpoints import peak_and_runs
from lessons.shared import as_number

PLANS = {  # lengths of the segments, and layers after them that are not checkpointed
    "A": ((), 12),
    "B": ((3, 3, 3, 3), 0),
    "C": ((6, 6), 0),
    "D": ((3, 3, 3), 3),
    "E": ((2, 4, 6), 0),
    "F": ((6, 4, 2), 0),
}
BILL = {"A": (12, 12), "B": (6, 24), "C": (7, 24), "D": (6, 21), "E": (8, 24), "F": (6, 24)}
SAME_SUM = "largest and all"
NAMED = {
    ("A", (12, 24)): "no second run",
    ("A", (13, 12)): "the input",
    ("B", (7, 24)): "the input",
    ("B", (3, 24)): "put aside only",
    ("B", (12, 24)): "all at once",
    ("B", (6, 12)): "runs forgotten",
    ("B", (6, 36)): "three times",
    ("C", (8, 24)): "the input",
    ("C", (1, 24)): "put aside only",
    ("C", (6, 24)): "segment only",
    ("D", (6, 24)): "the last one runs once",
    ("D", (9, 21)): "all at once",
    ("D", (5, 21)): "the first plain layer",
    ("E", (6, 24)): "segment only",
    ("F", (8, 24)): SAME_SUM,
    ("F", (4, 24)): "the last segment alone",
}


def check(answer, torch):
    if not isinstance(answer, dict):
        return not_yet("Keep the dictionary, and replace each None by a pair of numbers.")
    given = {}
    for letter in PLANS:
        pair = answer.get(letter)
        pair = [as_number(each) for each in pair] if isinstance(pair, (list, tuple)) else []
        if len(pair) != 2 or None in pair:
            return not_yet(f"For {letter}, give a pair: activations at the peak, layers run.")
        given[letter] = tuple(pair)
    truth = {letter: peak_and_runs(torch, *plan) for letter, plan in PLANS.items()}
    wrong = [letter for letter in PLANS if given[letter] != truth[letter]]
    if wrong and all(given[each] == truth[each][::-1] for each in wrong):
        return almost("turned round")
    named = {letter: NAMED[letter, given[letter]] for letter in wrong if (letter, given[letter]) in NAMED}
    verdict = judged_rows(wrong, list(PLANS), named, "are right")
    if verdict is None:
        return correct("you can say what a plan costs, in memory and in time, before you try it.")
    if verdict.outcome == ALMOST:  # several plans share these sentences
        verdict = almost(verdict.text, f"{verdict.lead}{next(each for each in wrong if each in named)}: ")
    return verdict


EXERCISE = Exercise(
    id="14c.1", kind="predict state", title="The bill", minutes=8, difficulty=2,
    question="Twelve layers, each of which saves one activation, its result. Six plans: for each, the activations at "
    "the peak, and how many times a layer runs in forward and backward together.",
    name="bill", starter='bill = {"A": None, "B": None, "C": None, "D": None, "E": None, "F": None}',
    hints=(
        "For each segment, at the moment when it is run again: how many inputs of segments are still put aside "
        "(without the input of the network), and how many layers does it have? The peak is the largest of these sums.",
        "When a segment is run again, the later segments are done, and what they put aside is gone. So the order of "
        "long and short segments matters.",
    ),
    solution=f"bill = {BILL!r}",
    why="B: 3 + 3. C: 1 + 6. D: three inputs and the three plain layers at the end of forward. E: the last segment "
    "has 2 in front of it and 6 of its own. F: 0 + 6, 1 + 4, 2 + 2: the largest is 6. Each checkpointed layer runs "
    "twice.",
    alternatives=(
        f"bill = { {letter: list(pair) for letter, pair in BILL.items()}!r}",
        f"bill = dict({', '.join(f'{letter}={pair!r}' for letter, pair in reversed(BILL.items()))})",
    ),
    mistakes=(
        Mistake("the input", "One too many: the input of the first segment is the input of the network, a leaf, and "
                "not counted.", edit("(7, 24)", "(8, 24)")),
        Mistake("put aside only", "That is what is put aside at the end of forward. In backward a segment runs again, "
                "and then it saves all its activations.", edit("(7, 24)", "(1, 24)")),
        Mistake("segment only", "That is what the segment saves when it runs again. At that moment the inputs of the "
                "earlier segments are still put aside.", edit("(7, 24)", "(6, 24)")),
        Mistake("all at once", "Only one segment is run again at a time. When it is done, what it saved is gone.",
                edit("'D': (6, 21)", "'D': (9, 21)")),
        Mistake("the last one runs once", "The last three layers of D are not checkpointed, so they run once.",
                edit("'D': (6, 21)", "'D': (6, 24)")),
        Mistake("the first plain layer", "A plain layer saves its input as well. That of the first one is the result "
                "of the last checkpoint, and no other layer has it.", edit("'D': (6, 21)", "'D': (5, 21)")),
        Mistake("the last segment alone", "That is the sum for the last segment. The peak is the largest sum, and the "
                "first segment is longer.", edit("'F': (6, 24)", "'F': (4, 24)")),
        Mistake("no second run", "A has no checkpoint, so nothing is run again.", edit("(12, 12)", "(12, 24)")),
        Mistake("runs forgotten", "Each layer runs in forward, and once more in backward.",
                edit("'B': (6, 24)", "'B': (6, 12)")),
        Mistake("three times", "A layer runs twice: once in forward, and once when its segment is run again.",
                edit("'B': (6, 24)", "'B': (6, 36)")),
        Mistake(SAME_SUM, "The longest segment is the first. When it is run again, the others are done, and nothing "
                "else is put aside.", edit("'F': (6, 24)", "'F': (8, 24)")),
        Mistake("turned round", "The numbers are right, the other way round: first the peak, then the runs.",
                f"bill = { {letter: pair[::-1] for letter, pair in BILL.items()}!r}"),
    ),
    check=check,
)  # fmt: skip
