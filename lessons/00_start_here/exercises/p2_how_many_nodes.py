"""Exercise 00.p2: how many nodes?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import as_number, nodes_behind


def truth(torch):
    """The number of nodes that a walk over the graph meets."""
    x = torch.tensor(3.0, requires_grad=True)
    return len(nodes_behind(x * x + x))


EXERCISE = Predict(
    id="00.p2", title="How many nodes?", minutes=1, difficulty=1,
    question="How many backward nodes hang behind `y = x * x + x`, counting one for each leaf that waits?",
    hints=("Two operations ran. Which are they?", "A leaf has one node, however often it is used."),
    solution="answer = 3\n",
    why="AddBackward0, MulBackward0 and one AccumulateGrad for x.",
    alternatives=("answer = 3.0\n",),
    read=as_number, truth=truth, wanted="A whole number is wanted: how many nodes?",
    shown="Two operations and one leaf make three nodes, though `x` is written three times.",
    otherwise=lambda answer, _: f"Not {answer!r}: count one node for each operation that ran and one for each leaf.",
    mistakes=(
        Mistake("no leaf", "2 counts the operations; the place where x's gradient will arrive is a node as well.", 2),
        Mistake("a leaf per use", "5 gives x a node for each time it is written; it is one tensor and gets one node.",
                5),
        Mistake("a node for y", "4 is one too many: x has one node, however often it is written, and y has none "
                "beside the addition's.", 4),
        Mistake("one for all", "1 would be a node for the whole line; operations are recorded one by one, as they "
                "run.", 1),
        Mistake("all that is written", "6 counts two operations, x three times, and y. x is one tensor with one "
                "node; y has no node of its own beside that of the addition.", 6),
    ),
    reveals=("three nodes in all",),
)  # fmt: skip
