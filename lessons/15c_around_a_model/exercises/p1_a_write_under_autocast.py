"""Exercise 15c.p1: a write under autocast."""

import re

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from coursekit.records import records
from lessons.shared import as_number


def read(answer):
    """A number; "raises" for an error."""
    if isinstance(answer, str) and answer.strip().lower() in ("raises", "error", "an error"):
        return "raises"
    return as_number(answer)


def truth(torch):
    """Read in the record: our engine has no autocast."""
    return float(re.search(r"after the write: ([\d.]+) times", records()["autocast, and a write"])[1])


EXERCISE = Predict(
    id="15c.p1", title="A write under autocast", minutes=2, difficulty=2,
    question="In one autocast block a layer without a bias is called, its weight is multiplied by 10 in place under "
    "no_grad, and it is called again on the same data. How many times as large is the second result?",
    hints=(
        "Which tensor does the product really use: the weight, or something made of it?",
        "When is the copy of a parameter made, and how long is it remembered?",
    ),
    solution="answer = 1",
    why="The second call uses the copy in bfloat16 that the first one has made. It was not made anew, and the write "
    "went into the float32 weight.",
    alternatives=("answer = 1.0", 'answer = "1"'),
    read=read, truth=truth, wanted="Give a number.",
    shown="the remembered copy does not follow the weight.",
    otherwise="Is the product computed with the weight, or with its copy? When was that copy made?",
    mistakes=(
        Mistake("the weight itself", "The weight is ten times as large. But the product is computed with its copy in "
                "16 bits, and that one is remembered until the block ends.", 10),
        Mistake("an error", "Nothing watches over this: the copy has a memory of its own, so nothing that is saved was "
                "written to.", "raises"),
        Mistake("twice ten", "There is one write, and the copy is not even made anew.", 100),
        Mistake("smaller", "The weight grows by this write. And is it the weight with which the product is computed?",
                0.1),
        Mistake("nothing left", "The copy is still there until the block ends, with the old numbers.", 0),
    ),
    reveals=("after the write: 1.0 times", "and the result is what it was", "remembers the copy"),
)  # fmt: skip
