"""Exercise 15c.p2: a network with a break in it."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from coursekit.records import records
from lessons.shared import as_number


def truth(torch):
    """Counted in the record: our engine has no compiler."""
    return sum(" -> " in line for line in records()["compile, with a break"].splitlines())


EXERCISE = Predict(
    id="15c.p2", title="A network with a break in it", minutes=2, difficulty=2,
    question="A function runs layer and tanh, prints, and runs layer and tanh again. It is compiled. How many nodes "
    "are in the graph of its result, AccumulateGrad not counted?",
    hints=(
        "What became of the network without a print?",
        "The line with print is run by Python. What stands before it, and what after it?",
    ),
    solution="answer = 2",
    why="One compiled Function for what stands before the print, and one for what stands after it.",
    alternatives=("answer = 2.0", 'answer = "2"'),
    read=as_number, truth=truth, wanted="Give a number.",
    shown="there is one compiled node for each piece between two breaks.",
    otherwise="Count the pieces into which the print cuts the function: each is compiled into one node.",
    mistakes=(
        Mistake("one node, in spite of the print", "That would be a function without a break. The print cannot be "
                "compiled, so it cannot be inside a compiled piece.", 1),
        Mistake("the print, too", "The print runs in Python between the two pieces. It computes no tensor and makes no "
                "node.", 3),
        Mistake("as if it were not compiled", "These are the nodes of the network as it is: t, addmm and tanh, twice. "
                "Inside a compiled piece there are none.", 6, also=(4,)),
        Mistake("nothing at all", "The result requires grad, so there is at least one node: it is compiled, not "
                "cut off.", 0),
    ),
    reveals=("half way\n    CompiledFunctionBackward", "one compiled node for each piece", "graph break"),
)  # fmt: skip
