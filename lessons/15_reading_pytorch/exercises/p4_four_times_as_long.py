"""Exercise 15.p4: a text that is four times as long."""

import re

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from coursekit.records import records
from lessons.shared import as_number


def truth(torch):
    """Read in the record: our engine computes attention by hand."""
    found = dict(re.findall(r"(\d+) places: .*?([\d,]+) bytes by the kernel", records()["attention, two ways"]))
    short, long = (int(found[time].replace(",", "")) for time in ("256", "1024"))
    return long / short


EXERCISE = Predict(
    id="15.p4", title="A text that is four times as long", minutes=2, difficulty=2,
    question="scaled_dot_product_attention takes the table in blocks and throws each block away. How many times as "
    "many bytes are saved for backward if the text is four times as long: 1, 4 or 16 times?",
    hints=(
        "The gradients need the table. Is saving it the only way to have it in backward?",
        "What must be kept to compute the table again, and how does that grow?",
    ),
    solution="answer = 4",
    why="The node saves q, k, v and the result, which have a row for each place, and computes the table again.",
    alternatives=("answer = 4.0", 'answer = "4"'),
    read=as_number, truth=truth, wanted="Give a number: 1, 4 or 16.",
    shown="what cannot be kept is computed again, from what has a row for each place.",
    otherwise="What is enough to compute the table a second time? Count the numbers in that.",
    mistakes=(
        Mistake("the table is saved", "That would be the table, and it is never there as a whole. How can backward do "
                "without a saved one?", 16),
        Mistake("nothing is saved", "Backward must begin with something. From what can the table be computed again, "
                "and how many numbers are in that?", 1),
        Mistake("a square root", "The square root belongs to a deep network that is cut into segments. Here one "
                "operation is computed again. What does it need for that?", 2),
        Mistake("half of it", "The half of the table that looks ahead need not be computed, but the other half still "
                "grows with the square. Is any of it saved?", 8),
    ),
    reveals=("131,072 bytes by the kernel", "In backward it computes the table again", "grows with the length alone"),
)  # fmt: skip
