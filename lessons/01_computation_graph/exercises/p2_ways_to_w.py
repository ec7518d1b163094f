"""Exercise 01.p2: ways to w."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import names_among, nodes_behind

from .shared import FIRST, first_program


def truth(torch):
    """The names of the tensors from which a walk meets the accumulator of w."""
    tensors = first_program(torch)
    return {
        name
        for name, tensor in tensors.items()
        if any(getattr(node, "variable", None) is tensors["w"] for node in nodes_behind(tensor))
    }


EXERCISE = Predict(
    id="01.p2", title="Ways to w", minutes=2, difficulty=1,
    question=f"`{FIRST}`. From the grad_fn of which of w, x, p, q, y do arrows lead to the accumulator of w?",
    hints=(
        "Which of the five have a grad_fn at all?",
        "An arrow runs from a result to what it was computed from, however many steps.",
    ),
    solution='answer = ["p", "y"]',
    why="p and y are the recorded results, and both were computed from w. A leaf has no grad_fn to start at.",
    alternatives=('answer = {"y", "p"}', 'answer = "p, y"'),
    read=names_among(*"wxpqy"), truth=truth, wanted='Give a list with some of the names "w", "x", "p", "q", "y".',
    shown="the way leads back from results, and only along what was recorded.",
    otherwise="Start at each tensor's grad_fn, if it has one, and follow the arrows back.",
    mistakes=(
        Mistake("the leaf itself", "w is the end of the way. It has no grad_fn: no recorded operation computed it, "
                "so there is nothing to start at.", ["w", "p", "y"]),
        Mistake("q meets w in y", "q has no grad_fn: nothing that went into it requires grad. That q and w meet in y "
                "makes no way between them; arrows lead from a result to its operands.",
                ["p", "q", "y"], when=lambda names, _: "q" in names),
        Mistake("partners", "x is w's partner in a product; that does not connect the two. Arrows lead from the "
                "product to its operands.", ["x", "p", "y"], when=lambda names, _: "x" in names),
        Mistake("forwards", "You follow the values: from w onwards. The arrows in memory run the other way.", ["w"]),
        Mistake("the end only", "y leads there, on a way through the node of p. Start at p's node, and you are on "
                "that way.", ["y"]),
        Mistake("one step", "p leads to w in one step. y gets there as well, in more steps.", ["p"]),
    ),
    reveals=("From `y` and from `p` arrows lead", "`q` is not there at all"),
)  # fmt: skip
