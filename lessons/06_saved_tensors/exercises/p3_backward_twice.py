"""Exercise 06.p3: backward twice."""

from coursekit.judge.exercise import Mistake
from coursekit.judge.predict import Predict
from lessons.shared import leaf, names_among, numbers


def truth(torch):
    """The letters of the results whose second pass raises."""
    x = leaf(torch, numbers(3))
    results = {"a": (x + 1).sum(), "b": (x * x).sum(), "e": x.exp().sum(), "v": x.view(3, 1).sum()}
    refused = set()
    for letter, y in results.items():
        y.backward()
        try:
            y.backward()
        except RuntimeError:
            refused.add(letter)
    return refused


EXERCISE = Predict(
    id="06.p3", title="Backward twice", minutes=2, difficulty=1, puzzles=(5,),
    question="Backward is called twice on each of four results. Which second calls raise?",
    hints=(
        "Backward frees saved tensors. Which of the four nodes has one?",
        "A view only has to know the old shape, and that is not a tensor.",
    ),
    solution='answer = ["b", "e"]',
    why="The product saved x (twice) and exp saved its result; both were freed by the first pass. Addition, view "
    "and sum saved no tensor, so a second pass finds all it needs.",
    alternatives=('answer = {"e", "b"}', 'answer = "be"', 'answer = ["B", "E"]', 'answer = "b, e"'),
    read=names_among(*"abev"), truth=truth,
    wanted='Give a list with some of the letters "a", "b", "e" and "v"; it may be empty.',
    shown="a second pass fails where a tensor was saved, and only there.",
    mistakes=(
        Mistake("all", "That would mean backward takes the graph apart. It takes only the saved tensors away, and "
                "two of these four have none.", ["a", "b", "e", "v"]),
        Mistake("none", "That would mean nothing is given up after the first pass. But memory has to come from "
                "somewhere: saved tensors are freed as soon as they were used.", []),
        Mistake("inputs only", "You counted saved inputs. exp saves a tensor as well, its own result, and that slot "
                "is emptied like any other.", ["b"]),
        Mistake("results only", "You may have thought that x is safe because the variable x still holds it. The "
                "tensor is safe; the node's slot is empty all the same.", ["e"]),
        Mistake("arithmetic", "Addition is arithmetic, but its slope is 1 whatever the numbers are. It saves no "
                "tensor, so there is nothing to miss.", ["a", "b", "e"], when=lambda names, _: "a" in names),
        Mistake("a view keeps its base", "v looks at x's memory, but that is the tensor. Its node only puts the "
                "slope back into the old shape, and a shape is not a tensor.",
                ["b", "e", "v"], when=lambda names, _: "a" not in names),
        Mistake("the ones without a tensor", "The nodes of these two saved no tensor, so the first pass had nothing "
                "to take from them. Ask the same of the other two.", ["a", "v"]),
    ),
    reveals=("saved no tensor, so the first pass", "and these slots are empty now"),
)  # fmt: skip
