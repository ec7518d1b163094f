"""Exercise 03.p4: what the node sends to the bias."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import agree

from .shared import numbers, plain


def truth(torch):
    """Ask the addition's node itself what it answers for its second operand."""
    c = torch.tensor(numbers(2), requires_grad=True)
    y = torch.zeros(2, 2) + c
    return y.grad_fn(torch.tensor([[1.0, 2.0], [10.0, 20.0]]))[1]


EXERCISE = Predict(
    id="03.p4", title="What the node sends", minutes=2, difficulty=2,
    question="You call the node of `y = A @ B + c` yourself, with `G = [[1, 2], [10, 20]]`. What does it send to `c`?",
    hints=(
        "The rule of an addition is one formula, for operands of every shape. Does it know that `c` was broadcast?",
        "The slope of an addition is 1. What is `G` times 1?",
    ),
    solution="answer = [[1, 2], [10, 20]]",
    why="The formula of an addition hands on what it is given. Adding up the copies is the engine's work, afterwards.",
    alternatives=("answer = torch.tensor([[1.0, 2.0], [10.0, 20.0]])",),
    read=plain, truth=truth, equal=agree,
    shown="The node sends G as it is. The engine adds up the copies afterwards, in one place for all operations.",
    otherwise="Compare your answer with what the addition's formula is given, and with its slope.",
    mistakes=(
        Mistake("already added", "[11, 22] is what arrives at `c`. The node itself knows nothing of the broadcast: "
                "somebody adds after it has run.", [11, 22], also=([[11, 22]],)),
        Mistake("one row", "The node picks no row: it hands on all that it was given.", [1, 2], also=([10, 20],)),
        Mistake("only slopes", "The slopes are 1. A node multiplies them by what it is given.", [[1, 1], [1, 1]]),
        Mistake("everything added", "33 is the sum of all. The node hands on what it was given.", 33),
        Mistake("halves", "Both operands get all of it; the gradient is not shared out.", [[0.5, 1], [5, 10]]),
    ),
    reveals=("hands on `G` twice",),
)  # fmt: skip
