"""Exercise 07b.p2: which line writes?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import as_number

from .. import stage


def truth(torch):
    """The one line that, out of place, lets the script run."""
    (line,) = [line for line in stage.OUT_OF_PLACE if stage.runs(torch, line)]
    return line


EXERCISE = Predict(
    id="07b.p2", title="Which line writes?", minutes=6, difficulty=2, puzzles=(1, 2),
    question="The message speaks of a float32 tensor [8, 16], which is output 0 of Add, is at version 3; expected "
    "version 2. In which line of train.py is the write?",
    hints=(
        "List the lines that write in place. Which of them write into a tensor of the shape [8, 16]?",
        "If a node saved an input, the message names the last recorded operation that changed this input. Which of "
        "the writes is an addition?",
        "Version 2 was noted, so there had been two writes to that memory before. Three blocks run one after another.",
    ),
    solution="answer = 23",
    why="`x += h` is the only recorded addition in place. All three blocks write into the result of the stem: version "
    "1, 2, 3. The last block's linear layers saved it at version 2, and then the block wrote to it once more.",
    alternatives=('answer = "23"', "answer = 23.0"),
    read=lambda answer: as_number(answer.strip() if isinstance(answer, str) else answer), truth=truth,
    wanted="Give the number of one line.",
    shown="a name and two numbers were enough.",
    otherwise="Which lines write in place? Only one of them is an addition on a tensor of the shape [8, 16].",
    mistakes=(
        Mistake("relu", "The ReLU writes into the result of a linear layer, which did not save it. And the message "
                "would not say Add.", 10, also=(14,)),
        Mistake("dropout", "The dropout writes into the result of a linear layer, which did not save it. And the "
                "message would not say Add.", 11, also=(15,)),
        Mistake("the gate", "`h *=` writes into what the dropout gave. If this were the line, the message would say "
                "Mul.", 22),
        Mistake("the pixels", "The pixels have the shape [8, 16], but this write comes before anything has saved them, "
                "and a plain tensor has no operation to be named.", 30),
        Mistake("the step", "optimizer.step() writes to every parameter, but after backward. And no parameter has the "
                "shape [8, 16].", 43),
        Mistake("where it saved", "There the tensor was saved. Which line, further down, writes into the same memory?",
                18, also=(14.5,)),
        Mistake("where it raised", "There backward found out. The write happened before.", 42, also=(40, 41)),
    ),
    reveals=("x += h` is the only recorded addition", "x = x + h it runs"),
)  # fmt: skip
