"""Exercise 13.p1: three derivatives."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import as_names, leaf


def read(answer):
    """The numbers of passes, as a set."""
    if isinstance(answer, (int, float)):
        answer = [answer]
    if isinstance(answer, str):
        answer = [int(word) for word in as_names(answer) if word.isdigit()]
    if not isinstance(answer, (list, tuple, set)) or not all(part in (1, 2, 3) for part in answer):
        return None
    return set(answer)


def truth(torch):
    """The passes without whose create_graph the next one fails."""
    needed = set()
    for left_out in (1, 2, 3):
        x = leaf(torch, 2.0)
        g = x**3
        try:
            for number in (1, 2, 3):
                (g,) = torch.autograd.grad(g, x, create_graph=number != left_out)
        except RuntimeError:
            needed.add(left_out)
    return needed


EXERCISE = Predict(
    id="13.p1", title="Three derivatives", minutes=2, difficulty=1,
    question="Three passes, each from the result of the one before: which must be recorded (`create_graph=True`)?",
    hints=(
        "Of which tensors is a derivative taken? Those must have a history.",
        "The result of pass 3 is printed and no more. Does a number that is only printed need a history?",
    ),
    solution="answer = [1, 2]",
    why="Pass 2 differentiates the result of pass 1, and pass 3 that of pass 2. Nothing differentiates the result of "
    "pass 3.",
    alternatives=("answer = (2, 1)", "answer = {1, 2}", 'answer = "1, 2"'),
    read=read, truth=truth, wanted="Give a list with some of the numbers 1, 2 and 3; it may be empty.",
    shown="a pass is recorded for the sake of the one that follows it.",
    mistakes=(
        Mistake("all three", "It would run, but the third is too much: nothing differentiates its result, and a "
                "recorded pass releases nothing.", [1, 2, 3]),
        Mistake("the first", "With this, pass 2 runs. Its result is again a plain number, and pass 3 cannot "
                "differentiate it.", [1]),
        Mistake("the second", "The program does not get that far: pass 2 asks for the derivative of a gradient "
                "without a history.", [2]),
        Mistake("the last", "The other way round: the last is the one pass whose result nothing differentiates.", [3]),
        Mistake("not the first", "y has a history, so pass 1 runs. But what pass 1 returns must have one too, for "
                "pass 2.", [2, 3]),
        Mistake("not the second", "Being recorded is not handed on: every pass that should leave a history must say "
                "so.", [1, 3]),
        Mistake("none", "Then every gradient is a plain number. The program stops at pass 2.", []),
    ),
    reveals=("the second pass has nowhere to begin", "the last derivative needs no history"),
)  # fmt: skip
