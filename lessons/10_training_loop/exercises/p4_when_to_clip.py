"""Exercise 10.p4: clipped after each part, or after the last."""

import math

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import names_among


def truth(torch):
    """The letter for what differs between the two gradients of the question."""
    found = []
    for each in (False, True):
        w = torch.zeros(2, requires_grad=True)
        for number, part in enumerate(torch.tensor([[3.0, 0.0], [0.0, 4.0]])):
            (w * part).sum().backward()
            if each or number == 1:
                torch.nn.utils.clip_grad_norm_([w], 1.0)
        found.append(w.grad.tolist())
    lengths, angles = ([f(*pair) for pair in found] for f in (math.hypot, math.atan2))
    differ = [abs(one - other) > 1e-3 for one, other in (lengths, angles)]
    return {"ABCD"[differ[0] + 2 * differ[1]]}


EXERCISE = Predict(
    id="10.p4", title="When to clip", minutes=2, difficulty=2,
    question="Two parts send the gradients [3, 0] and [0, 4], and the limit is 1. `w.grad` is clipped once, after the "
    "second part, or after each part. What differs at the end? A: nothing; B: only its length; C: only its direction; "
    "D: both. One letter.",
    hints=(
        "Write down `w.grad` after each line: [3, 0], then clipped or not, then [0, 4] is added.",
        "How long is it after the last clipping, in both cases?",
    ),
    solution='answer = "C"',
    why="Clipped once: [3, 4] is shortened to [0.6, 0.8]. Clipped after each: [3, 0] becomes [1, 0], then [1, 4] is "
    "shortened. Both have the length 1 at the end, and the second points more upwards.",
    alternatives=('answer = ["C"]',),
    read=names_among("A", "B", "C", "D"), truth=truth, wanted='One of "A", "B", "C" and "D" is wanted.',
    shown="the first part has been shortened before the second comes, so the sum points more upwards.",
    otherwise="One letter is wanted: A, B, C or D.",
    mistakes=(
        Mistake("no difference", "Is [1, 0] + [0, 4] a multiple of [3, 0] + [0, 4]?", "A"),
        Mistake("only the length", "Both are clipped at the end, to the length 1. What had become of [3, 0] when "
                "[0, 4] was added?", "B"),
        Mistake("both differ", "The direction differs, that is right. But in both cases the last thing that happens "
                "is a clipping to 1.", "D"),
        Mistake("none of them", "An empty list: one of the four is true.", []),
    ),
    reveals=("the direction is that of the sum", "points somewhere else", "clipped after each part: tensor([0.2425"),
)  # fmt: skip
