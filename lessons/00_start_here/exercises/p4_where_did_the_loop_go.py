"""Exercise 00.p4: where did the loop go?"""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import as_names, nodes_behind

from .shared import node_name


def truth(torch):
    """The chain of names read off the program's own graph."""
    x = torch.tensor(3.0, requires_grad=True)
    return [node_name(node) for node in nodes_behind(x + x + x) if node.next_functions]


def without_ending(name):
    """An operation's name without what its node's name adds to it."""
    return name.lower().removesuffix("0").removesuffix("backward")


EXERCISE = Predict(
    id="00.p4", title="Where did the loop go?", minutes=2, difficulty=1,
    question="Which node names hang behind `times(x, 3)`, from the result back, accumulator left out?",
    hints=(
        "Run the function in your head, and write down every operation on tensors as it happens.",
        "`range(3 - 1)` runs the body twice, and each time one addition runs.",
    ),
    solution='answer = ["AddBackward0", "AddBackward0"]\n',
    why="Two additions ran and nothing else; the graph does not know that a loop ran them.",
    alternatives=('answer = ("AddBackward0",) * 2\n', 'answer = "AddBackward0, AddBackward0"\n'),
    read=as_names, truth=truth, wanted='A list of strings is wanted, for example ["MulBackward0", "SinBackward0"].',
    shown="The loop leaves one node for each time it ran, and the `if` leaves nothing.",
    otherwise=lambda answer, _: f"{as_names(answer)} is not what hangs behind the result. Write down each operation "
    "as it runs.",
    mistakes=(
        Mistake("one box for the loop", "A loop has no box of its own: each time its body runs, a new node is made.",
                ["AddBackward0"]),
        Mistake("n times", "`range(n - 1)` runs the body n - 1 times: the first summand is x itself, without any "
                "operation.", ["AddBackward0", "AddBackward0", "AddBackward0"]),
        Mistake("both branches", "`x.exp()` stands in the code but did not run; only what ran is recorded.",
                ["AddBackward0", "AddBackward0", "ExpBackward0"],
                when=lambda names, _: any("Exp" in name for name in names)),
        Mistake("forward names", "The right operations, but not their nodes' full names: operation, then `Backward`, "
                "then a 0.",
                ["Add", "Add"], when=lambda names, _: [without_ending(name) for name in names] == ["add", "add"]),
        Mistake("counted", "Two additions, right. But the digit does not count them: each of the two nodes is an "
                "AddBackward0.",
                ["AddBackward1", "AddBackward0"],
                when=lambda names, _: [name.rstrip("0123456789") for name in names] == ["AddBackward"] * 2),
        Mistake("no digit", "Two additions, right. A node's full name ends in a digit, here 0.",
                ["AddBackward", "AddBackward"]),
        Mistake("accumulator left in", "All three nodes are there. The question leaves the accumulator out; take it "
                "off the list.", ["AddBackward0", "AddBackward0", "AccumulateGrad"]),
        Mistake("the mathematics", "3x is what it computes, but nobody multiplied: two additions ran.",
                ["MulBackward0"]),
    ),
    reveals=("'AddBackward0', 'AddBackward0'", "The loop is unrolled"),
)  # fmt: skip
