"""Exercise 15c.p3: the other cut."""

import re

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from coursekit.records import records
from lessons.shared import as_number


def truth(torch):
    """Read in the record: our engine has no compiler."""
    return int(re.findall(r"saved tensors: (\d+)", records()["compile, in two halves"])[-1])


EXERCISE = Predict(
    id="15c.p3", title="The other cut", minutes=2, difficulty=2,
    question="x.sin().cos().sin().sum() is compiled. The default partition saves three tensors: x, its sine, and the "
    "cosine of that. How many does the other one save, which may compute cheap operations again in backward?",
    hints=(
        "Which of the three can be computed from the others? Sines and cosines are cheap.",
        "x exists anyway. What can be computed from x?",
    ),
    solution="answer = 1",
    why="From x everything else can be computed again: its sine, and the cosine of that. So x is all that is saved.",
    alternatives=("answer = 1.0", 'answer = "1"'),
    read=as_number, truth=truth, wanted="Give a number.",
    shown="the compiler has placed a checkpoint by itself.",
    otherwise="Which tensors can be computed again from the others, by operations that are cheap?",
    mistakes=(
        Mistake("as before", "That is what the formulas read. But two of the three can be computed from the first.", 3),
        Mistake("only one computed again", "The second sine, or the cosine, can be computed from the one before it. "
                "And that one?", 2),
        Mistake("none at all", "Backward must begin with something: the gradient does not say what x was.", 0),
        Mistake("every result", "The last sine and the sum are read by no formula, so neither cut saves them.", 4,
                also=(5,)),
    ),
    reveals=("saved tensors: 1", "computes both again"),
)  # fmt: skip
