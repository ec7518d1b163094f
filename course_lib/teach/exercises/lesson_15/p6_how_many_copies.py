"""Exercise 15.p6: how many copies?"""

from course_lib.teach.exercises.shared import as_number
from course_lib.teach.practice.exercise import Mistake
from course_lib.teach.practice.predict import Predict
from course_lib.teach.records import records


def truth(torch):
    """Counted in the record: our engine has no autocast."""
    lines = records()["autocast, one layer twice"].splitlines()
    return sum(line.startswith("ToCopyBackward0") for line in lines)


EXERCISE = Predict(
    id="15.p6", title="How many copies?", minutes=2, difficulty=2,
    question="Under autocast, layer(layer(x)) for one nn.Linear with a bias, and plain data x. How many nodes are "
    "called ToCopyBackward0?",
    hints=(
        "Which tensors have to be brought into 16 bits? Which of them require a gradient?",
        "The same weight is needed a second time in the same block. Does it have to be copied again?",
    ),
    solution="answer = 2",
    why="One for the weight and one for the bias: the copies are kept until the block ends. The data is copied without "
    "a node, because it requires no gradient.",
    alternatives=("answer = 2.0", 'answer = "2"'),
    read=as_number, truth=truth, wanted="Give a number.",
    shown="autocast copies a parameter once in a block.",
    otherwise="Count the tensors that require a gradient and are copied, each once.",
    mistakes=(
        Mistake("once a call", "That would be two copies for each of the two calls. But the copies are kept until the "
                "block ends, and used again.", 4),
        Mistake("the data, too", "The data is copied, too. But it requires no gradient, so no node is made for that.",
                3,
                also=(6,)),
        Mistake("the weight alone", "The bias is an operand of addmm as well, and needs to be of the same type.", 1),
        Mistake("none", "The layer's weight is float32, and the product is computed in bfloat16. Something must "
                "convert it, and the gradient must find its way back.", 0),
        Mistake("the result in between", "What the first call returns is bfloat16 already. The second call can use it "
                "as it is.", 5),
    ),
    reveals=("ToCopyBackward0 -> bias", "There are two: one for the weight, one for the bias"),
)  # fmt: skip
