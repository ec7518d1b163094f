"""Exercise 01.p1: nodes behind y."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import as_number, nodes_behind

from .shared import FIRST, first_program


def truth(torch):
    return len(nodes_behind(first_program(torch)["y"]))


EXERCISE = Predict(
    id="01.p1", title="Nodes behind y", minutes=2, difficulty=1,
    question=f"`w` requires grad, `x` does not. `{FIRST}`. How many backward nodes are behind `y`?",
    hints=(
        "Lesson 00: with plain tensors nobody will ask for slopes, so no node is made.",
        "Two numbers to add: operations with an operand that requires grad, and leaves that do.",
    ),
    solution="answer = 4",
    why="w * x, p * p and the addition are recorded, x + 1 is not; w has an accumulator, plain x has none.",
    alternatives=("answer = 4.0", "answer = torch.tensor(4)"),
    read=as_number, truth=truth, wanted="A whole number is wanted: how many nodes?",
    shown="three operations were recorded, and one leaf waits for a gradient.",
    otherwise="Go through the operations one by one: does any operand require grad? Then count the leaves that do.",
    mistakes=(
        Mistake("no leaf", "3 is the number of recorded operations. The leaf's accumulator is a node as well.", 3),
        Mistake("x + 1 too", "One too many. Plain x has no node, and neither has x + 1: both its operands are plain.",
                5),
        Mistake("everything", "6 would be four operations and two leaves, as on paper. Plain data takes no part in "
                "the graph, and neither does what is computed from plain data alone.", 6),
        Mistake("the paper", "9 would be the paper's four operations and five values. The values are tensors; a node "
                "stands for an operation, or for a leaf that waits for a gradient.", 9),
        Mistake("one product", "2 is too few. p * p and w * x are two operations, though both are products; the "
                "addition is a third. Each has a node.", 2),
        Mistake("one for y", "1 would be the node of y alone. Its arrows lead to further nodes, and these count as "
                "well.", 1),
    ),
    reveals=("three operations and the accumulator",),
)  # fmt: skip
