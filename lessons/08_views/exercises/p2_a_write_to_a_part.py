"""Exercise 08.p2: A write to a part."""

from coursekit.judge.exercise import Mistake, not_yet
from coursekit.judge.predict import Predict
from lessons.shared import leaf, some_numbers


def read(answer):
    """Three numbers, or "error"."""
    if isinstance(answer, str):
        return "error" if answer.lower() == "error" else not_yet('Give three numbers, or "error".')
    return some_numbers(3)(answer)


def truth(torch):
    x = leaf(torch, [1.0, 2.0, 3.0])
    y = x * 2
    v = y[1:]
    v.mul_(10)
    y.sum().backward()
    return x.grad.tolist()


EXERCISE = Predict(
    id="08.p2", title="A write to a part", minutes=2, difficulty=1,
    question="`y = x * 2; v = y[1:]; v.mul_(10); y.sum().backward()`: what is x.grad?",
    hints=(
        "Do not ask what the library does. Ask what the right answer is: which number is in y[1], as a formula in "
        "x[1]?",
        "If the library gave another answer than the right one, or an error, lesson 07 would have warned of it. What "
        "did the product x * 2 save?",
    ),
    solution="answer = [2, 20, 20]",
    why="y is [2 x0, 20 x1, 20 x2] after the write, and that is what is differentiated.",
    alternatives=("answer = (2.0, 20.0, 20.0)", "answer = torch.tensor([2.0, 20.0, 20.0])"),
    read=read, truth=truth, wanted='Give a list of three numbers, or "error".',
    shown="the base knows what was done to a part of it.",
    otherwise="If x[1] grows by one, by how much does y.sum() grow? And x[0]?",
    mistakes=(
        Mistake("not told", "That is the gradient of y before the write: it would be silently wrong. A write through "
                "a view is recorded for its base, which is what this lesson is about.", [2, 2, 2]),
        Mistake("replaced", "mul_ replaces the numbers of the part, but it makes the new ones from the old ones: "
                "x[1] and x[2] still decide what y[1] and y[2] are.", [2, 0, 0]),
        Mistake("added", "y[1] is 2 times x[1], and ten times that. Factors one after the other are multiplied, not "
                "added.", [2, 12, 12]),
        Mistake("part only", "y[0] was not written to, but it is still a part of the sum: its 2 is missing.",
                [0, 20, 20]),
        Mistake("whole", "The write reached v, that is y[1] and y[2]. y[0] was not multiplied by ten.", [20, 20, 20]),
        Mistake("values", "Those are the values of y. The gradient is the factor by which each x is multiplied in it.",
                [2, 40, 60]),
        Mistake("write only", "You counted the write and forgot the 2 in x * 2, or the other way round: on the "
                "written part both factors apply, on y[0] only the 2.", [1, 10, 10], also=([2, 10, 10],)),
        Mistake("error", "y is no leaf, x * 2 saved only the 2, and the write is recorded. Nothing is in the way.",
                "error"),
    ),
    reveals=("tensor([ 2., 20., 20.])", "has learned of the write", "[1, 10, 10]"),
)  # fmt: skip
