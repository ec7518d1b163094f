"""Exercise 07.p5: four statements."""

from coursekit.judge.exercise import Mistake, not_yet
from coursekit.judge.predict import Predict
from lessons.shared import leaf, near

NUMBERS = [1.0, 2.0, 3.0, 4.0]


def true_or_false(answer):
    """A list of four words, "true" or "false"; None when it is something else."""
    if isinstance(answer, dict) and all(number in answer for number in (1, 2, 3, 4)):
        answer = [answer[number] for number in (1, 2, 3, 4)]
    if not isinstance(answer, (list, tuple)) or len(answer) != 4:
        return None
    words = [str(each).strip().lower() for each in answer]
    strange = [word for word in words if word not in ("true", "false")]
    return not_yet(f'Each entry is "true" or "false"; {strange[0]!r} is neither.') if strange else words


def truth(torch):
    """Run the three programs."""
    x = leaf(torch, NUMBERS)
    y = x.exp()
    slope = y.tolist()
    y.data.add_(1)
    try:
        y.sum().backward()
        raised = False
    except RuntimeError:
        raised = True
    other = leaf(torch, NUMBERS)
    y = other * other
    y.mul_(1.5)
    y.add_(other)
    y.sum().backward()
    third = leaf(torch, NUMBERS)
    z = third * 3
    third.data[0] = 100
    z.sum().backward()
    said = (
        raised,
        near(other.grad.tolist(), [2.0, 4.0, 6.0, 8.0]),
        not near(third.grad.tolist(), [3.0] * 4),
        not near(x.grad.tolist(), slope),
    )
    return [str(each).lower() for each in said]


EXERCISE = Predict(
    id="07.p5", title="Four statements", minutes=3, difficulty=2, puzzles=(1, 15),
    question="1: after `y = x.exp(); y.data.add_(1)` backward raises. 2: after `y = x * x; y.mul_(1.5); y.add_(x)` the "
    "gradient is 2x. 3: after `y = x * 3; x.data[0] = 100` the gradient is wrong. 4: after the first program the "
    'gradient is wrong. "true" or "false" for each?',
    hints=(
        "In 1, 3 and 4: what has the first operation saved, is that what the write goes to, and is the write counted?",
        "In 2: edits of a result are recorded. What is y at the end, as a formula of x?",
    ),
    solution='answer = ["false", "false", "false", "true"]',
    why="1 and 4: exp saved its result, and the write into it is not counted: no error, and a wrong gradient. 2: y is "
    "1.5 x² + x, so the slope is 3x + 1. 3: the 3 was saved, and not x.",
    alternatives=("answer = [False, False, False, True]", 'answer = ("False", "False", "False", "True")'),
    read=true_or_false, truth=truth,
    wanted='A list of four is wanted, such as ["true", "false", "true", "false"].',
    shown="you look at what was saved, and at whether the write counts.",
    otherwise="Take them one by one: what was saved, what was written to, and was it counted?",
    mistakes=(
        Mistake("no error, no harm", "4: no error indeed. But the slope of exp is its result, and y.data is the same "
                "memory: backward reads other numbers.", ["false", "false", "false", "false"]),
        Mistake("data is counted", "1: the write goes through .data, which has a counter of its own. The version of y "
                "does not move.", ["true", "false", "false", "true"],
                also=(["true", "false", "true", "true"], ["true", "true", "true", "true"])),
        Mistake("edits are invisible", "2: edits are recorded like other operations. y is 1.5 x² + x at the end.",
                ["false", "true", "false", "true"], also=(["false", "true", "false", "false"],)),
        Mistake("data always corrupts", "3: a write through .data spoils what was saved. x * 3 has saved the 3.",
                ["false", "false", "true", "true"], also=(["false", "true", "true", "true"],)),
        Mistake("turned round", "3 and 4: which of the two first operations has saved what is written to?",
                ["false", "false", "true", "false"]),
        Mistake("counted and right", "1 and 4: the write goes through .data, which has a counter of its own. The "
                "version of y does not move, so there is no error; and backward reads other numbers.",
                ["true", "false", "false", "false"]),
    ),
    reveals=("Only the fourth is true", "its slope is 3x + 1"),
)  # fmt: skip
