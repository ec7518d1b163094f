"""Exercise 08.p1: who shares?"""

from coursekit.judge.exercise import Exercise, Mistake, almost, correct, not_yet
from coursekit.judge.table import judged_rows
from lessons.shared import flat, set_of_names

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


def check(answer, torch):
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


EXERCISE = Exercise(
    id="08.p1", kind="predict", title="Who shares?", minutes=2, difficulty=1,
    question="Each is filled with sevens in place: after which of them does t contain sevens?\n\n"
    + "\n".join(f"- {letter}: `{expression}`" for letter, expression in MADE.items()),
    name="answer", starter="answer = None",
    hints=(
        "In memory t is six numbers in a row. Which of the eight can be read from them by 'begin here, walk in even "
        "steps'?",
        "For d, write down in which order the six numbers would have to be read, and at which places they are.",
    ),
    solution='answer = ["a", "b", "c", "g"]',
    why="A row, a transposed matrix, the six in a row and a slice are all read in even steps from t's memory. The "
    "transposed rows end to end are not, a list or a mask may pick anything, and clone copies on purpose.",
    alternatives=('answer = ("g", "c", "b", "a")', 'answer = "A, B, C, G"', 'answer = "abcg"'),
    mistakes=(
        Mistake("clone", "f: clone() is made to copy. Its memory is its own, and t keeps its zeros.",
                'answer = ["a", "b", "c", "f", "g"]'),
        Mistake("mask", "h: a mask may be true anywhere, so no even steps lead through what it picks. The picked "
                "numbers are copied.", 'answer = ["a", "b", "c", "g", "h"]'),
        Mistake("list", "e: the 0 stands in a list, and a list may name any rows in any order. t[0] is a view, "
                "t[[0]] a copy.", 'answer = ["a", "b", "c", "e", "g"]'),
        Mistake("reshape of turned", "d: c shares, but here t was transposed first. The numbers would be read at the "
                "places 0 3 1 4 2 5, which are no even steps, so reshape copies.",
                'answer = ["a", "b", "c", "d", "g"]'),
        Mistake("transposing copies", "b: transposing moves no number. It only says: walk by one where you walked by "
                "three, and the other way round.", 'answer = ["a", "c", "g"]'),
        Mistake("reshape copies", "c: the six numbers of t already lie in this order, so reshape has nothing to copy.",
                'answer = ["a", "b", "g"]'),
        Mistake("slices copy", "g: the last two numbers of each row can be read in even steps: begin one later, walk "
                "as in t.", 'answer = ["a", "b", "c"]'),
        Mistake("rows copy", "a: a row is three numbers that lie side by side in t's memory. Nothing has to be moved "
                "to look at them.", 'answer = ["b", "c", "g"]'),
        Mistake("everything", "You expect no copy anywhere. Some operations always copy, and what even steps through "
                "memory cannot describe must be copied.", 'answer = ["a", "b", "c", "d", "e", "f", "g", "h"]'),
        Mistake("nothing", "You expect a copy everywhere. Many operations copy nothing: a slice, for one, is a "
                "second look at the same memory.", "answer = []"),
    ),
    check=check,
    reveals=("a | t: [[7", "begins at place 1", "moves no number at all"),
)  # fmt: skip
