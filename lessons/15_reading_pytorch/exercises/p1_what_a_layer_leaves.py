"""Exercise 15.p1: what a layer leaves."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import names_among, nodes_behind

CHOICES = ("LinearBackward0", "MmBackward0", "AddBackward0", "AddmmBackward0", "TBackward0", "ViewBackward0")


def truth(torch):
    """The names of the nodes behind the result of a layer on three dimensions, without those of leaves."""
    y = torch.nn.Linear(8, 4)(torch.ones(8, 6, 8, requires_grad=True))
    return {node.name() for node in nodes_behind(y) if not hasattr(node, "variable")}


EXERCISE = Predict(
    id="15.p1", title="What a layer leaves", minutes=3, difficulty=1,
    question="What are the nodes in the graph of `nn.Linear(8, 4)(x)` called, for an x of shape (8, 6, 8) that "
    "requires grad? Choose from LinearBackward0, MmBackward0, AddBackward0, AddmmBackward0, "
    "TBackward0 and ViewBackward0.",
    hints=(
        "A layer is a Python object that calls operations. Does a layer make a node of its own?",
        "The input has three dimensions, and a product of matrices wants two. What has to happen before and after it?",
    ),
    solution='answer = ["ViewBackward0", "TBackward0", "AddmmBackward0"]',
    why="The weight is turned (t), the input becomes a matrix (view), one operation multiplies and adds (addmm), and "
    "the result gets its three dimensions back (view).",
    alternatives=('answer = {"AddmmBackward0", "ViewBackward0", "TBackward0"}',
                  'answer = "TBackward0, AddmmBackward0, ViewBackward0"'),
    read=names_among(*CHOICES), truth=truth, wanted="Give a list with some of the six names.",
    shown="nodes are named after operations, and a layer is not one.",
    otherwise="Go through input @ weight.T + bias: what is turned, what is multiplied, and which shape goes in?",
    mistakes=(
        Mistake("a node for the layer", "No node is called after a layer: nn.Linear is Python, and only the operations "
                "that it calls make nodes. Which are these?", ["LinearBackward0"],
                when=lambda names, _: "LinearBackward0" in names),
        Mistake("product and sum apart", "That would be two operations. PyTorch has one that multiplies and adds in a "
                "single step, and a layer with a bias uses it.", ["MmBackward0", "AddBackward0", "TBackward0"],
                when=lambda names, _: "MmBackward0" in names or "AddBackward0" in names),
        Mistake("the product alone", "The product with the sum is there. But the weight does not go into it as it is, "
                "nor does the input with its three dimensions.", ["AddmmBackward0"]),
        Mistake("no shapes", "For a matrix you would be right. This input has three dimensions, and addmm takes "
                "matrices only.", ["AddmmBackward0", "TBackward0"]),
        Mistake("not turned", "The formula has a weight.T in it. Turning a matrix around is an operation, too.",
                ["AddmmBackward0", "ViewBackward0"]),
        Mistake("no product", "Something has to multiply. Which of the names does that?",
                ["TBackward0", "ViewBackward0"],
                also=(["ViewBackward0"], ["TBackward0"], [])),
    ),
    reveals=("No node is called *Linear*", "rows @ rows MmBackward0", "9 AddmmBackward0"),
)  # fmt: skip
