"""Exercise 07.p5: four statements."""

from course_lib.teach.exercises.shared import leaf, near
from course_lib.teach.practice.exercise import Mistake, not_yet
from course_lib.teach.practice.predict import Predict

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


def breaks(torch, first):
    """Does backward raise after an in-place addition?"""
    y = first(leaf(torch, NUMBERS))
    y.add_(1)
    try:
        y.sum().backward()
    except RuntimeError:
        return True
    return False


def truth(torch):
    """Run the four programs."""
    x = leaf(torch, NUMBERS)
    y = x * x
    y.mul_(1.5)
    y.add_(x)
    y.sum().backward()
    other = leaf(torch, NUMBERS)
    z = other * 3
    other.data[0] = 100
    z.sum().backward()
    said = (
        breaks(torch, lambda x: x * 2),
        near(x.grad.tolist(), [2.0, 4.0, 6.0, 8.0]),
        not near(other.grad.tolist(), [3.0] * 4),
        breaks(torch, lambda x: x.exp()),
    )
    return [str(each).lower() for each in said]


EXERCISE = Predict(
    id="07.p5", title="Four statements", minutes=3, difficulty=2, puzzles=(1, 15),
    question='1: after `y = x * 2; y.add_(1)` backward raises. 2: after `y = x * x; y.mul_(1.5); y.add_(x)` the '
    'gradient is 2x. 3: after `y = x * 3; x.data[0] = 100` the gradient is wrong. 4: after '
    '`y = x.exp(); y.add_(1)` backward raises. "true" or "false" for each?',
    hints=(
        "In 1, 3 and 4: what has the first operation saved, and is that what the write goes to?",
        "In 2: edits of a result are recorded. What is y at the end, as a formula of x?",
    ),
    solution='answer = ["false", "false", "false", "true"]',
    why="1: the 2 was saved. 2: y is 1.5 x² + x, so the slope is 3x + 1. 3: the 3 was saved, and not x. 4: exp saves "
    "its result, since this is its slope.",
    alternatives=("answer = [False, False, False, True]", 'answer = ("False", "False", "False", "True")'),
    read=true_or_false, truth=truth,
    wanted='A list of four is wanted, such as ["true", "false", "true", "false"].',
    shown="you look at what was saved, and not at the underscore.",
    otherwise="Take them one by one: what was saved, and what was written to?",
    mistakes=(
        Mistake("all are false", "4: the slope of exp is exp itself. So its node saved the result.",
                ["false", "false", "false", "false"]),
        Mistake("every underscore", "1: the slope of x * 2 is 2, so the 2 was saved, and not y.",
                ["true", "false", "false", "true"], also=(["true", "false", "true", "true"],
                                                          ["true", "true", "true", "true"])),
        Mistake("edits are invisible", "2: edits are recorded like other operations. y is 1.5 x² + x at the end.",
                ["false", "true", "false", "true"], also=(["false", "true", "false", "false"],)),
        Mistake("data always corrupts", "3: a write through .data spoils what was saved. x * 3 has saved the 3.",
                ["false", "false", "true", "true"], also=(["false", "false", "true", "false"],)),
        Mistake("turned round", "1 and 4: which of the two has a slope that is made of its result?",
                ["true", "false", "false", "false"]),
    ),
    reveals=("The fourth is true", "its slope is 3x + 1"),
)  # fmt: skip
